#pragma once
#include <optional>

#include "tfgraph/values.h"

// Facts about values of a TensorFlow graph that are known at conversion time.
namespace t2o::tfgraph {

std::int64_t known_last_dim(Value* v);  // -1: unknown; 1 for a scalar
int known_rank(Value* v);                  // -1: unknown
std::optional<Ints> known_ints(Value* v);  // the elements of a small integer expression, row-major
std::optional<double> known_scalar(Value* v);
bool is_ones(Value* v);  // each element is 1
bool is_zero(Value* v);  // each element is 0, or there is no element

bool fakes_quantization(const ir::Graph& main);  // some node rounds numbers to those of codes

// The range of a Slice or StridedSlice that slices only the last axis.
struct Range {
  std::int64_t begin, count;
};
std::optional<Range> last_axis_slice(const ir::Node& n, int rank, std::int64_t width);

// The size of an axis: a number, a symbol, or the size of an axis of another value that it was computed from.
struct Extent {
  Dim dim = kUnknownDim;
  const Value* root = nullptr;  // the other value, if dim is unknown
  int axis = 0;
  bool operator==(const Extent&) const = default;
};
Extent extent_of(Value* tensor, int axis);
std::optional<Extent> extent_value(Value* scalar);  // for a scalar that is the size of an axis

}  // namespace t2o::tfgraph
