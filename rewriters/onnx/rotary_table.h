#pragma once
#include <functional>
#include <optional>

#include "onnx/emitter.h"

namespace t2o::rewriters {

// Which numbers of a row make a pair: those of its two halves, or those that stand side by side.
enum class Pairing : std::uint8_t { halves, neighbours };

// The two values are a row's firsts and seconds of all pairs.
struct Pairs {
  Value *first = nullptr, *second = nullptr;
  Pairing pairing = Pairing::halves;
  const ir::Node* inside = nullptr;  // a node that joins them: only it, and what is made of it, reads the parts
};

// The rows, when the value puts pairs together along its last axis.
std::optional<Pairs> joined_pairs(const Value*);

// The part of a row that the value is.
struct Part {
  Value* row = nullptr;
  Pairing pairing = Pairing::halves;
  int index = 0;
  const ir::Node* reader = nullptr;  // of the row
};
std::optional<Part> part_of_pairs(Value*);

// One number for each pair of a row, as it is without the axes that it is only broadcast along.
struct PairTable {
  std::function<Value*(Emitter&)> make;
  Ints axes, dims;  // where its axes stand in the value, from the end (-1 is that of the pairs), and their sizes
};
// Of a value with one number for each pair; or, `rows`, with two equal ones.
std::optional<PairTable> pair_table(Value*, std::optional<Pairing> rows);

}  // namespace t2o::rewriters
