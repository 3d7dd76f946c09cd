#pragma once
#include "onnx/fold.h"

// The parts of fold(), by kind of operator. Each returns null if it cannot fold, or if folding would not pay.
namespace t2o::onnx::folding {

constexpr std::int64_t kMaxElements = 1 << 16;  // of a result that is computed and kept

const Ints* ints_attr(const Attrs&, std::string_view name);
std::int64_t int_attr(const Attrs&, std::string_view name, std::int64_t fallback);
const std::string* string_attr(const Attrs&, std::string_view name);
std::optional<Ints> normal_axes(Ints axes, int rank);  // negative ones counted from the end; nullopt when out of range

TensorPtr reshape(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr squeeze(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr unsqueeze(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr concat(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr slice(const std::vector<TensorPtr>& in, const Attrs&);
std::optional<std::vector<TensorPtr>> split(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr gather(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr expand(const std::vector<TensorPtr>& in);
TensorPtr tile(const std::vector<TensorPtr>& in);

TensorPtr unary(const std::string& op, const Tensor&);
TensorPtr binary(const std::string& op, const Tensor& a, const Tensor& b, const Attrs&);
TensorPtr variadic(const std::string& op, const std::vector<TensorPtr>& in);
TensorPtr matmul(const Tensor& a, const Tensor& b);
TensorPtr clip(const std::vector<TensorPtr>& in);
TensorPtr where(const std::vector<TensorPtr>& in);
TensorPtr reduce(const std::string& op, const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr range(const std::vector<TensorPtr>& in);

std::optional<std::vector<TensorPtr>> unique(const Tensor&, const Attrs&);
TensorPtr non_zero(const Tensor&);
TensorPtr scatter_elements(const std::vector<TensorPtr>& in, const Attrs&);

TensorPtr einsum(const std::vector<TensorPtr>& in, const Attrs&);

TensorPtr trilu(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr cum_sum(const std::vector<TensorPtr>& in, const Attrs&);
TensorPtr softmax(const Tensor&, const Attrs&);
TensorPtr pad(const std::vector<TensorPtr>& in, const Attrs&);

}  // namespace t2o::onnx::folding
