#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/graph.h"

namespace t2o::rewriters {

using Doubles = std::vector<double>;

// The elements of a constant that, broadcast against a tensor of `rank`, differ along `axis` only: one for each of the `size`
// channels.
std::optional<Doubles> per_channel(const Value* constant, int rank, int axis, std::int64_t size);

// With these no weight of a model becomes infinite, nor NaN where the product behind the convolution was none.
bool is_moderate(const Doubles&);

TensorPtr channel_tensor(DType, const Doubles&);  // 1-D

// weights * factors along the axis, computed when the model is written.
TensorPtr scaled(const TensorPtr& weights, int axis, Doubles factors);
bool can_scale(DType);

// Weights that two nodes share, scaled alike, stay one storage.
class ScaledWeights {
 public:
  TensorPtr get(const TensorPtr& w, int axis, const Doubles& factors);

 private:
  std::map<std::tuple<const Storage*, Ints, int, std::string>, TensorPtr> made_;
};

}  // namespace t2o::rewriters
