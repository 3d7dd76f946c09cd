#pragma once
#include <optional>

#include "tfgraph/values.h"

// What can be said of a value of a TensorFlow graph at conversion time, without running it.
namespace t2o::tfgraph {

std::int64_t known_last_dim(Value* v);  // -1: unknown; of a scalar 1
int known_rank(Value* v);                  // -1: unknown
std::optional<Ints> known_ints(Value* v);  // of a small integer expression, row-major
std::optional<double> known_scalar(Value* v);
bool is_ones(Value* v);  // each element is 1
bool is_zero(Value* v);  // each element is 0, or it has none

// The column range that a Slice or StridedSlice takes of the last axis and of no other.
struct Range {
  std::int64_t begin, count;
};
std::optional<Range> last_axis_slice(const ir::Node& n, int rank, std::int64_t width);

// The size of an axis: a number, a symbol, or that of an axis of some other value it was made from.
struct Extent {
  Dim dim = kUnknownDim;
  const Value* root = nullptr;  // when dim is unknown
  int axis = 0;
  bool operator==(const Extent&) const = default;
};
Extent extent_of(Value* tensor, int axis);
std::optional<Extent> extent_value(Value* scalar);  // of a scalar that is the size of an axis

}  // namespace t2o::tfgraph
