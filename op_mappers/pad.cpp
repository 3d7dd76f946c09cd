#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/mirror.h"
#include "op_mappers/numbers.h"
#include "op_mappers/three_axes.h"
#include "op_mappers/weighted_sums.h"

namespace t2o::op_mappers {
namespace {

// [[begin, end], ...] -> [begins..., ends...]
Value* onnx_pads(Emitter& e, Value* paddings) {
  if (const auto known = constant_ints(paddings))
    for (const std::int64_t n : *known)
      if (n < 0) e.fail(Code::bad_model, "a padding of " + std::to_string(n));
  Value* rows = e.transpose(e.cast(paddings, DType::i64), {1, 0});
  return e.reshape(rows, {-1});
}

// t in [-begin, n + end) reads t of the tensor that is mirrored at both ends, its edges doubled: max(t, -1 -
// t), then the same from the other end.
Value* mirrored_index(Emitter& e, Value* begin, Value* end, Value* n, bool doubles_edges = true) {
  Value* t = e.range(e.neg(begin), e.add(n, end), e.scalar(DType::i64, 1));
  Value* low = e.maximum(t, e.sub(e.scalar(DType::i64, doubles_edges ? -1 : 0), t));
  Value* last = e.sub(e.mul(n, e.scalar(DType::i64, 2)), e.scalar(DType::i64, doubles_edges ? 1 : 2));
  return e.minimum(low, e.sub(last, low));
}

std::optional<int> axes_of(Value* x, Value* paddings) {
  if (x->shape().ranked()) return x->shape().rank();
  if (paddings->shape().ranked() && paddings->shape().rank() == 2 && is_known(paddings->shape()[0]))
    return static_cast<int>(paddings->shape()[0]);
  return std::nullopt;
}

// Without a rank: one axis after the other, each as the middle one of three.
Value* symmetric_of_any_rank(MapperContext& c, Value* whole, Value* flat) {
  Value* x = is_half(whole->dtype()) ? c.cast(whole, DType::f32) : whole;
  Value* y = counted_loop_of_any_size(
      c, c.rank_of(x), {x}, [&](Emitter& e, Value* k, const Values& state) -> Values {
        const auto bound = [&](std::int64_t which) {
          Value* at = e.add(e.add(k, k), e.constant(which));
          return e.squeeze(e.gather(flat, at, 0), {0});
        };
        const Sides s = sides(e, state[0], k);
        Value* begin = bound(0);
        Value* end = bound(1);
        Value* index = mirrored_index(e, begin, end, e.squeeze(s.size, {0}));
        return {from_three(e, e.gather(as_three(e, state[0], s), index, 1), s)};
      })[0];
  return c.cast_like(y, whole);
}

Value* symmetric(MapperContext& c, Value* x, Value* paddings) {
  const auto rank = axes_of(x, paddings);
  const auto known = constant_ints(paddings);
  Value* flat = c.reshape(c.cast(paddings, DType::i64), {-1});
  if (!rank) return symmetric_of_any_rank(c, x, flat);
  for (int axis = 0; axis < *rank; ++axis) {
    const auto i = static_cast<std::size_t>(2 * axis);
    if (known && i + 1 < known->size() && (*known)[i] == 0 && (*known)[i + 1] == 0) continue;
    Value* begin = c.gather(flat, c.scalar(DType::i64, 2 * axis), 0);
    Value* end = c.gather(flat, c.scalar(DType::i64, 2 * axis + 1), 0);
    x = c.gather(x, mirrored_index(c, begin, end, c.dim(x, axis)), axis);
  }
  return x;
}

// Each element gets what its mirror images got: a product with the matrix of who is whose image.
Value* folded(Emitter& e, Value* three, Value* begin, Value* end, bool doubles_edges) {
  Value* n = e.sub(e.sub(e.dim(three, 1), begin), end);
  Value* source = mirrored_index(e, begin, end, n, doubles_edges);
  Value* own = iota(e, n);
  Value* images = e.cast(e.equal(e.unsqueeze(own, {1}), source), three->dtype());
  return weighted_sums(e, three, {images}, [&](Value* x, Value* m) { return e.matmul(m, x); });
}

Values map_mirror_pad_grad(MapperContext& c) {
  const auto mode = c.attr<std::string>("mode");
  if (mode != "REFLECT" && mode != "SYMMETRIC")
    c.fail(Code::unsupported_attr, "mode '" + mode + "' is not known");
  Value* whole = c.in(0);
  Value* x = is_half(whole->dtype()) ? c.cast(whole, DType::f32) : whole;
  Value* flat = c.reshape(c.cast(c.in(1), DType::i64), {-1});
  const auto step = [&](Emitter& e, Value* k, Value* y) {
    const auto bound = [&](std::int64_t which) {
      Value* at = e.add(e.add(k, k), e.constant(which));
      return e.squeeze(e.gather(flat, at, 0), {0});
    };
    Value* begin = bound(0);
    Value* end = bound(1);
    const Sides s = sides(e, y, k);
    return from_three(e, folded(e, as_three(e, y, s), begin, end, mode == "SYMMETRIC"), s);
  };
  if (const auto rank = axes_of(x, c.in(1))) {
    for (int axis = 0; axis < *rank; ++axis) x = step(c, c.ints({axis}), x);
  } else {
    const Step each = [&](Emitter& e, Value* k, const Values& state) -> Values {
      return {step(e, k, state[0])};
    };
    x = counted_loop_of_any_size(c, c.rank_of(x), {x}, each)[0];
  }
  return {c.cast_like(x, whole)};
}

// Of a scalar, as far as x or the paddings say.
bool has_no_axes(MapperContext& c) {
  const Shape& paddings = c.in(1)->shape();
  return c.in(0)->shape().is_scalar() || (paddings.ranked() && paddings.rank() == 2 && paddings[0] == 0);
}

Values map_pad(MapperContext& c) {
  if (has_no_axes(c)) return {c.identity(c.in(0))};
  return {c.pad(c.in(0), onnx_pads(c, c.in(1)), zero_of(c, c.in(0)->dtype()))};
}
Values map_pad_v2(MapperContext& c) {
  if (has_no_axes(c)) return {c.identity(c.in(0))};
  return {c.pad(c.in(0), onnx_pads(c, c.in(1)), c.in(2))};
}
Values map_mirror_pad(MapperContext& c) {
  if (has_no_axes(c)) return {c.identity(c.in(0))};
  return {mirror_pad(c, c.in(0), c.in(1), c.attr<std::string>("mode"))};
}

}  // namespace

Value* mirror_pad(MapperContext& c, Value* x, Value* paddings, const std::string& mode) {
  if (mode == "SYMMETRIC") return symmetric(c, x, paddings);
  if (mode != "REFLECT") c.fail(Code::unsupported_attr, "mode '" + mode + "' is not known");
  return c.pad(x, onnx_pads(c, paddings), nullptr, "reflect");
}

void register_pad(OpRegistry& r) {
  r.op("Pad").by(map_pad);
  r.op("PadV2").by(map_pad_v2);
  r.op("MirrorPad").by(map_mirror_pad);
  r.op("MirrorPadGrad").by(map_mirror_pad_grad);
}

}  // namespace t2o::op_mappers
