#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/graph.h"

namespace t2o::rewriters {

using Doubles = std::vector<double>;

// For a constant that broadcasts to a tensor of `rank` and differs only along `axis`: its elements, one for each of the `size`
// channels.
std::optional<Doubles> per_channel(const Value* constant, int rank, int axis, std::int64_t size);

// y * factor + offset along the channels of y. An empty list changes nothing.
struct Affine {
  Doubles factor, offset;
  const Value* weights = nullptr;  // the constant with the same numbers as the offset, if there is one
};
// What the node (Mul, Add, Sub, Div, or BatchNormalization at inference) does to y, a tensor of `rank` whose `axis` has the channels.
std::optional<Affine> affine_of(const ir::Node&, const Value* y, int rank, int axis, std::int64_t channels);

// Factors of moderate magnitude. They make no weight infinite, and no product NaN that was not NaN before.
bool is_moderate(const Doubles&);

TensorPtr channel_tensor(DType, const Doubles&);  // 1-D

// weights * factors along the axis, computed when the model is written.
TensorPtr scaled(const TensorPtr& weights, int axis, Doubles factors);
bool can_scale(DType);

// Keeps one storage for weights that two nodes share and scale by the same factors.
class ScaledWeights {
 public:
  TensorPtr get(const TensorPtr& w, int axis, const Doubles& factors);

 private:
  std::map<std::tuple<const Storage*, Ints, int, std::string>, TensorPtr> made_;
};

}  // namespace t2o::rewriters
