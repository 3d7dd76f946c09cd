#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

// Facts about an ONNX operator. A trait holds at every opset that has the operator, for all numbers (NaN and infinities included),
// and for all values of its other inputs and its attributes (if these are finite). Rewriters ask for traits instead of listing
// operators. An operator that is not in the table, or is of another domain, has no traits. "Its input" is the first input. For an
// operator with several results, a trait holds for the first one only; `moves` holds for all. number_rules.cpp has the range of the
// results.
namespace t2o::onnx {

enum class Trait : std::uint32_t {
  // the origin of the result's elements
  picks = 1U << 0,   // each is an element of an input, or 0; the choice does not depend on the values of the elements
  moves = 1U << 1,   // each is an element of its input; the choice does not depend on the values of the elements
  within = 1U << 2,  // each is an element of its input, or lies between some of them and 0; except for a window of padding alone (ceil_mode)
  // how results and inputs correspond
  elementwise = 1U << 3,     // each is computed from the element of its input at the same index; other inputs are single numbers
  broadcasts = 1U << 4,      // the same with several inputs, which are broadcast
  reduces = 1U << 5,         // reduces `axes` (an attribute or the second input), which become 1 or go, as `keepdims` says
  any_axes = 1U << 6,        // names all axes that matter: with renumbered axes it gives the same result, permuted, for a permuted input
  channels_first = 1U << 7,  // works on images or sequences whose channels are the second axis
  // how factors pass
  keeps_factor = 1U << 8,           // f(c * x) = c * f(x)
  keeps_positive_factor = 1U << 9,  // the same for c > 0
  signless = 1U << 10,              // integers: the same bits for signed and unsigned types
};

constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

Trait traits_of(std::string_view op);             // none for an unknown operator
bool has(std::string_view op, Trait any_of);
std::vector<std::string_view> ops_with_traits();  // in the order of the table, for tests

}  // namespace t2o::onnx
