
#include "op_mappers/coordinates.h"

#include <limits>

#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max();

Value* constant_strides(Emitter& c, const Ints& dims) {
  Ints strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) {
    if (!__builtin_mul_overflow(strides[i], dims[i], &strides[i - 1])) continue;
    if (dims[i - 1] > 1)
      c.fail(Code::bad_model, "the shape has more elements than a 64-bit integer can count");
    strides[i - 1] = kFarthest;  // where only coordinates 0 are: not 0, for it is divided by
  }
  return c.ints(strides);
}

bool is_single(const Value* dims) { return dims->shape().is_static() && dims->shape().dims() == Ints{1}; }

}  // namespace

// stride[i] = the product of dims[j] for j > i. No running product: ONNX has one since opset 26.
Value* strides_of(Emitter& c, Value* dims) {
  if (const auto known = constant_ints(dims)) return constant_strides(c, *known);
  if (is_single(dims)) return c.ints({1});
  Value* axis = iota(c, c.dim(dims, 0));
  Value* rows = c.unsqueeze(axis, {1});
  Value* later = c.greater(c.unsqueeze(axis, {0}), rows);
  Value* factors = c.where(later, dims, c.i64(1));
  return c.reduce("ReduceProd", factors, Ints{1}, false);
}

Value* ravel(Emitter& c, Value* coordinates, Value* dims) {
  if (is_single(dims)) return c.reshape(coordinates, {-1});
  Value* parts = c.mul(coordinates, strides_of(c, dims));
  return c.reduce("ReduceSum", parts, Ints{1}, false);
}

// places / strides % dims. Runtimes do not divide by a 0, even when there is nothing to divide.
Value* unravel(Emitter& c, Value* places, Value* dims) {
  Value* column = c.unsqueeze(places, {1});
  if (is_single(dims)) return column;
  Value* some = c.maximum(dims, c.i64(1));
  Value* steps = c.div(column, strides_of(c, some));
  return c.mod(steps, some);
}

Value* column(Emitter& c, Value* coordinates, std::int64_t axis) {
  return c.gather(coordinates, c.constant(axis), 1);
}

Value* ascending_order(Emitter& c, Value* keys) {
  Value* count = c.dims(keys, 0, onnx::kToEnd);
  return c.topk(keys, count, 0, false)[1];
}

}  // namespace t2o::op_mappers
