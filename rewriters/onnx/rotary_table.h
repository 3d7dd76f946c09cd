#pragma once
#include <functional>
#include <optional>

#include "onnx/emitter.h"

namespace t2o::rewriters {

// How the numbers of a row form pairs: number i of the first half with number i of the second half, or neighbours.
enum class Pairing : std::uint8_t { halves, neighbours };

// The first numbers and the second numbers of all pairs of a row.
struct Pairs {
  Value *first = nullptr, *second = nullptr;
  Pairing pairing = Pairing::halves;
  const ir::Node* inside = nullptr;  // an inner node of the join; only it and nodes computed from it read the parts
};

// If the value joins pairs along its last axis: the two parts.
std::optional<Pairs> joined_pairs(const Value*);

// A value that is one part of a row.
struct Part {
  Value* row = nullptr;
  Pairing pairing = Pairing::halves;
  int index = 0;
  const ir::Node* reader = nullptr;  // the node that reads the row
};
std::optional<Part> part_of_pairs(Value*);

// One number for each pair of a row, without the axes along which it is only broadcast.
struct PairTable {
  std::function<Value*(Emitter&)> make;
  Ints axes, dims;  // the positions of its axes in the value, from the end (-1 is the axis of the pairs), and their sizes
};
// The table of a value with one number for each pair or, with `rows`, with two equal numbers for each pair.
std::optional<PairTable> pair_table(Value*, std::optional<Pairing> rows);

}  // namespace t2o::rewriters
