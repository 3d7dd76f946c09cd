#include "onnx/legalize.h"

#include <span>

#include "ir/graph.h"
#include "onnx/op_traits.h"

namespace t2o::onnx {
namespace {

// Types that hold every value of a type, in the order of preference; a result that comes back by a cast wraps
// as the narrow type would. f64 -> f32 is the exception: it loses digits, but not more than 1e-6 of the
// value, and is the last resort.
std::span<const DType> wider(DType t) {
  using D = DType;
  static constexpr D f16[] = {D::f32, D::f64}, f64[] = {D::f32}, f32[] = {D::f64};
  static constexpr D i8[] = {D::i32, D::i64, D::f32, D::f64}, i16[] = {D::i32, D::i64, D::f32, D::f64},
                     i32[] = {D::i64, D::f64};
  static constexpr D u8[] = {D::i32, D::i64, D::f32, D::f64, D::u32}, u32[] = {D::i64, D::u64, D::f64};
  static constexpr D boolean[] = {D::u8, D::i32, D::i64, D::f32};
  switch (t) {
    case D::f16:
    case D::bf16:
      return f16;
    case D::f64:
      return f64;
    case D::f32:
      return f32;
    case D::i8:
      return i8;
    case D::i16:
      return i16;
    case D::i32:
      return i32;
    case D::u8:
    case D::u16:
      return u8;
    case D::u32:
      return u32;
    case D::boolean:
      return boolean;
    default:
      return {};
  }
}

DType widened(const OpInfo& info, const OpInfo::TypeParam& p, DType t) {
  for (const DType w : wider(t))
    if (p.standard.has(w) && p.kernels.has(w)) return w;
  const bool signless = has(info.op, Trait::picks | Trait::signless) ||
                        info.op == "Unique";  // but for the order, which nobody asks for
  if (t == DType::u64 && signless && p.kernels.has(DType::i64)) return DType::i64;
  if (t == DType::i64 && has(info.op, Trait::picks) && p.kernels.has(DType::u64)) return DType::u64;
  return DType::undefined;
}

}  // namespace

DType bound_type(const OpInfo& info, const Values& inputs, int param) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && info.param_of_input(i) == param) return inputs[i]->dtype();
  return DType::undefined;
}

std::optional<std::vector<DType>> widening(const OpInfo& info, const Values& inputs) {
  std::vector<DType> result(info.params.size(), DType::undefined);
  for (std::size_t p = 0; p < info.params.size(); ++p) {
    const DType t = bound_type(info, inputs, static_cast<int>(p));
    if (t == DType::undefined || is_sequence(t) ||
        (info.params[p].standard.has(t) && info.params[p].kernels.has(t)))
      continue;
    result[p] = widened(info, info.params[p], t);
    if (result[p] == DType::undefined) return std::nullopt;
  }
  return result;
}

int opset_that_casts(const Target& t, DType from, DType to) {
  if (to == DType::undefined || is_complex(to) || is_complex(from)) return 0;
  for (int opset = t.opset; opset <= kHighestOpset; ++opset) {
    const OpInfo& cast = *op_info("Cast", opset, t.ml_opset, t.for_ort());
    const auto &in = cast.params[0], &out = cast.params[1];
    if (in.standard.has(from) && out.standard.has(to) && in.kernels.has(from) && out.kernels.has(to))
      return opset;
  }
  return 0;
}

// The other types that came late came to Cast no earlier than to the operators that would have to carry them.
DType exact_carrier(const Target& target, DType t) {
  if (t != DType::bf16) return DType::undefined;
  const bool both_ways = opset_that_casts(target, t, DType::f32) == target.opset &&
                         opset_that_casts(target, DType::f32, t) == target.opset;
  return both_ways ? DType::f32 : DType::undefined;
}

}  // namespace t2o::onnx
