#include "onnx/limits.h"

#include <limits>

namespace t2o {

Value* zero_of(Emitter& e, DType type) {
  if (type == DType::string)
    return e.constant(std::make_shared<Tensor>(Ints{}, std::vector<std::string>{""}));
  return e.scalar(type, 0);
}

Value* highest(Emitter& e, DType t) {
  switch (t) {
    case DType::f16:
      return e.scalar(t, 65504);
    case DType::bf16:
      return e.scalar(t, 0x1.FEp127);
    case DType::f32:
      return e.constant(std::numeric_limits<float>::max());
    case DType::f64:
      return e.constant(std::numeric_limits<double>::max());
    case DType::i64:
      return e.i64(std::numeric_limits<std::int64_t>::max());
    case DType::u64:
      return e.constant(std::numeric_limits<std::uint64_t>::max());
    default:
      return e.scalar(t, std::numeric_limits<double>::max());
  }
}

Value* lowest(Emitter& e, DType t) {
  switch (t) {
    case DType::f16:
      return e.scalar(t, -65504);
    case DType::bf16:
      return e.scalar(t, -0x1.FEp127);
    case DType::f32:
      return e.constant(std::numeric_limits<float>::lowest());
    case DType::f64:
      return e.constant(std::numeric_limits<double>::lowest());
    case DType::i64:
      return e.i64(std::numeric_limits<std::int64_t>::lowest());
    case DType::u64:
      return e.constant(std::uint64_t{0});
    default:
      return e.scalar(t, std::numeric_limits<double>::lowest());
  }
}

}  // namespace t2o
