#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

// What is true of an operator of ONNX at every opset that has it, for all numbers, NaN and infinities among them, and whatever its
// other inputs and its attributes (of finite numbers) are. Rewriters ask this instead of listing operators. Of one that is not in the
// table, as of those of other domains, nothing is known. "Its input" is the first one; what is said of the result holds of the first
// one alone where there are several, but for `moves`.
namespace t2o::onnx {

enum class Trait : std::uint32_t {
  // where the elements of the result come from
  picks = 1U << 0,   // each is one of an input, or 0; which one does not depend on what they are
  moves = 1U << 1,   // each is one of its input, chosen likewise
  within = 1U << 2,  // each is one of its input, or between some of them and 0; but of a window of padding alone (ceil_mode)
  // how results and inputs lie
  elementwise = 1U << 3,     // each is made of the element of its input at the same place; other inputs are single numbers
  broadcasts = 1U << 4,      // the same of several inputs, which are broadcast
  reduces = 1U << 5,         // along `axes`, an attribute or the second input, which stay as 1 or go, as `keepdims` says
  any_axes = 1U << 6,        // the axes that mean something are named: of an input with its axes in another order it makes the same so
  channels_first = 1U << 7,  // it works on images, or sequences, whose channels are the second axis
  // what numbers come out
  no_larger = 1U << 8,               // of finite floating-point numbers none of a magnitude above all of its input; but of such a window
  at_most_one = 1U << 9,             // of finite floating-point numbers none above 1 or below -1
  never_negative = 1U << 10,         // of floating-point numbers none below 0, and NaN of NaN or infinities alone
  keeps_factor = 1U << 11,           // f(c * x) = c * f(x)
  keeps_positive_factor = 1U << 12,  // the same for c > 0
  signless = 1U << 13,               // of integers the same bits, whether there is a sign among them or not
};

constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

Trait traits_of(std::string_view op);             // none where nothing is known
bool has(std::string_view op, Trait any_of);
std::vector<std::string_view> ops_with_traits();  // in the order of the table, for tests

}  // namespace t2o::onnx
