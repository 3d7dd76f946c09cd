#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>

#include "op_mappers/context.h"

// What the mappers of XLA's own operators (XlaDot, XlaGather ...) have in common.
namespace t2o::op_mappers {

// The numbers of an attribute that is a serialized message of xla_data.proto, by their fields; others than `known` are refused.
class XlaMessage {
 public:
  XlaMessage(MapperContext&, const std::string& attribute, std::initializer_list<std::uint32_t> known);
  const Ints& list(std::uint32_t field) const;
  std::int64_t number(std::uint32_t field) const;  // 0 where it is absent

 private:
  std::map<std::uint32_t, Ints> fields_;
};

// Refuses axes that are not in [0, rank), or come twice.
void check_axes(MapperContext&, const Ints& axes, std::int64_t rank, const std::string& what);
bool has_axis(const Ints& axes, std::int64_t axis);
Ints joined(const Ints&, const Ints&);

// Known numbers of an input, `count` of them, none below `lowest` or beyond what 32 bits hold.
Ints const_entries(MapperContext&, std::size_t input, std::size_t count, std::int64_t lowest, const std::string& what);

// What a computation does with its two arguments; `second`: it gives its second argument.
enum class Combiner : std::uint8_t { add, mul, max, min, logical_and, logical_or, second };
Combiner combiner(MapperContext&, const ir::Graph& computation);  // refuses any other
bool is_neutral(const Value* init, Combiner);                     // and known to be
Value* combine(MapperContext&, Combiner, Value* a, Value* b);

// A computation's result as one text, such as "Less(a0,a1)", the same for whatever means the same: identities are left out, operands that may be
// swapped are in order, Greater is Less the other way round. Empty where it would be very long.
std::string formula(const Value* result, const ir::Graph& computation);
const Value* behind_identity(const Value*);

// `amount` elements between every two along an axis of a tensor of that rank.
Value* spread_apart(Emitter&, Value* x, std::size_t rank, int axis, std::int64_t amount, Value* fill);
// Of each of these axes of x one size: [axes] i64.
Value* sizes_of(Emitter&, Value* x, const Ints& axes);
// max(0, min(start, room)): where a slice begins that does not reach beyond.
Value* clamped(Emitter&, Value* start, Value* room);

}  // namespace t2o::op_mappers
