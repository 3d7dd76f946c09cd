#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>

#include "op_mappers/context.h"

// Functions that the mappers of XLA's operators (XlaDot, XlaGather ...) share.
namespace t2o::op_mappers {

// The numbers in an attribute that is a serialized message of xla_data.proto, by field. Refuses fields other than `known`.
class XlaMessage {
 public:
  XlaMessage(MapperContext&, const std::string& attribute, std::initializer_list<std::uint32_t> known);
  const Ints& list(std::uint32_t field) const;
  std::int64_t number(std::uint32_t field) const;  // 0 where it is absent

 private:
  std::map<std::uint32_t, Ints> fields_;
};

// Refuses axes outside of [0, rank), and repeated axes.
void check_axes(MapperContext&, const Ints& axes, std::int64_t rank, const std::string& what);
bool has_axis(const Ints& axes, std::int64_t axis);
Ints joined(const Ints&, const Ints&);

// The `count` known numbers of an input. Refuses numbers below `lowest`, and numbers that do not fit into 32 bits.
Ints const_entries(MapperContext&, std::size_t input, std::size_t count, std::int64_t lowest, const std::string& what);

// What a computation does with its two arguments; `second`: it returns its second argument.
enum class Combiner : std::uint8_t { add, mul, max, min, logical_and, logical_or, second };
Combiner combiner(MapperContext&, const ir::Graph& computation);  // refuses any other
bool is_neutral(const Value* init, Combiner);                     // known to be neutral
Value* combine(MapperContext&, Combiner, Value* a, Value* b);

// A canonical text of a computation's result, such as "Less(a0,a1)". Computations that differ only in identities, in the order
// of commutative operands, or in Greater for Less with swapped operands, have the same text. Empty if it would be very long.
std::string formula(const Value* result, const ir::Graph& computation);
const Value* behind_identity(const Value*);

// Inserts `amount` elements between neighbours along an axis of a tensor of that rank.
Value* spread_apart(Emitter&, Value* x, std::size_t rank, int axis, std::int64_t amount, Value* fill);
// The sizes of these axes of x: [axes] i64.
Value* sizes_of(Emitter&, Value* x, const Ints& axes);
// max(0, min(start, room)): clamps the start of a slice so that the slice stays inside.
Value* clamped(Emitter&, Value* start, Value* room);

}  // namespace t2o::op_mappers
