// What rewriters look for: formulas of layers, and nodes that undo each other.
#include <numbers>

#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

constexpr Rounding kOnce = Rounding::once, kMany = Rounding::many;

Ref number(Drawer& d, Ref like, double v) { return d.constant(verify::tensor_of(d.dtype(like), {}, {v})); }

void draw_gelu(Drawer& d) {
  const Ref x = d.pick(kFloats);
  const double root = std::numbers::sqrt2;
  const Ref inner = d.chance(0.5) ? d.op("RealDiv", {x, number(d, x, root)}, {}, kOnce) : d.op("Mul", {x, number(d, x, 1 / root)}, {}, kOnce);
  const Ref erf = d.op("Erf", {inner}, {}, kMany), plus = d.op("AddV2", {erf, number(d, x, 1)}, {}, kOnce);
  const Ref half = d.op("Mul", {x, number(d, x, 0.5)}, {}, kOnce);
  d.op("Mul", {half, plus}, {}, kOnce);
}

void draw_swish(Drawer& d) {
  const Ref x = d.pick(kFloats);
  if (d.chance(0.5)) {
    d.op("Mul", {x, d.op("Sigmoid", {x}, {}, kMany)}, {}, kOnce);
    return;
  }
  const Ref six = d.op("Relu6", {d.op("AddV2", {x, number(d, x, 3)}, {}, kOnce)});
  d.op("Mul", {x, d.op("Mul", {six, number(d, x, 1.0 / 6)}, {}, kOnce)}, {}, kOnce);
}

void draw_layer_norm(Drawer& d) {
  const Ref x = d.pick({f32, f32, f32, f16, f64}, 2, 4);
  const Ref axis = d.constant(Tensor::of<std::int32_t>({1}, {-1}));
  const Ref mean = d.op("Mean", {x, axis}, {{"keep_dims", true}}, kOnce);
  const Ref square = d.op("SquaredDifference", {x, mean}, {}, kOnce);
  const Ref variance = d.op("Mean", {square, axis}, {{"keep_dims", true}}, kOnce);
  const Ref scale = d.op("Rsqrt", {d.op("AddV2", {variance, number(d, x, 0.01)}, {}, kOnce)}, {}, kMany);
  if (d.chance(0.5)) {
    const Ref gamma = d.leaf(d.dtype(x), {d.dims(x).back()}), factor = d.op("Mul", {scale, gamma}, {}, kOnce);
    const Ref moved = d.op("Mul", {x, factor}, {}, kOnce), shift = d.op("Mul", {mean, factor}, {}, kOnce);
    const Ref rest = d.op("Sub", {d.leaf(d.dtype(x), {d.dims(x).back()}), shift}, {}, kOnce);
    d.op("AddV2", {moved, rest}, {}, kOnce);
  } else {
    d.op("Mul", {d.op("Sub", {x, mean}, {}, kOnce), scale}, {}, kOnce);
  }
}

void draw_softmax(Drawer& d) {
  const Ref x = d.pick(kFloats, 1, 4);
  const Ref axis = d.constant(Tensor::of<std::int32_t>({1}, {d.chance(0.6) ? -1 : 0}));
  const Ref most = d.op("Max", {x, axis}, {{"keep_dims", true}});
  const Ref e = d.op("Exp", {d.op("Sub", {x, most}, {}, kOnce)}, {}, kMany);
  d.op("RealDiv", {e, d.op("Sum", {e, axis}, {{"keep_dims", true}}, kOnce)}, {}, kOnce);
}

// cast(cast(x, a), b): the second may undo the first, or not.
void draw_casts(Drawer& d) {
  const Ref x = d.pick(kAll);
  if (is_complex(d.dtype(x))) throw Dropped();
  const DType a = d.dtype(kReals);
  if (!fits(d.tensor(x), a)) d.only_special();
  const Ref y = d.op("Cast", {x}, {{"DstT", a}}, is_float(a) ? kOnce : Rounding::moves);
  const DType b = d.chance(0.6) ? d.dtype(x) : d.dtype(kReals);
  if (!fits(d.tensor(y), b)) d.only_special();
  d.op("Cast", {y}, {{"DstT", b}}, is_float(b) ? kOnce : Rounding::moves);
}

// Transposes on both sides of what works element by element.
void draw_sandwich(Drawer& d) {
  const Ref x = d.pick(kFloats, 4, 4);
  const auto perm = [&](const std::vector<std::int32_t>& p) { return d.constant(Tensor::of<std::int32_t>({4}, p)); };
  const Ref in = d.op("Transpose", {x, perm({0, 3, 1, 2})});
  Ref y = in;
  switch (d.below(4)) {
    case 0: y = d.op("Relu", {in}); break;
    case 1: y = d.op("AddV2", {in, d.partner(in)}, {}, kOnce); break;
    case 2: y = d.op("Mean", {in, d.constant(Tensor::of<std::int32_t>({2}, {2, 3}))}, {{"keep_dims", true}}, kOnce); break;
    default: y = d.op("Pad", {in, d.constant(Tensor::of<std::int32_t>({4, 2}, {0, 0, 0, 0, 1, 0, 0, 1}))}); break;
  }
  d.op("Transpose", {y, perm({0, 2, 3, 1})});
}

// Chains of the same kind, which are folded into one.
void draw_chain(Drawer& d) {
  const Ref x = d.pick(kReals, 1, 4);
  switch (d.below(5)) {
    case 0: {
      const Ref y = d.op("Mul", {x, d.constant(d.random_tensor(d.dtype(x), {}, Domain::any))}, {}, kOnce);
      d.op("Mul", {y, d.constant(d.random_tensor(d.dtype(x), {}, Domain::any))}, {}, kOnce);
      break;
    }
    case 1: {
      const Ref y = d.op("AddV2", {x, d.constant(d.random_tensor(d.dtype(x), {d.dims(x).back()}, Domain::any))}, {}, kOnce);
      d.op(d.chance(0.5) ? "Sub" : "AddV2", {y, d.constant(d.random_tensor(d.dtype(x), {}, Domain::any))}, {}, kOnce);
      break;
    }
    case 2: d.op("Maximum", {d.op("Minimum", {x, number(d, x, 6)}), number(d, x, 0)}); break;
    case 3: d.op("Neg", {d.op("Neg", {x})}); break;
    default: d.op("Sub", {number(d, x, 0), x}, {}, kOnce); break;
  }
}

void draw_dense(Drawer& d) {
  const Ref x = d.pick({f32, f32, f32, f64, f16}, 2, 2);
  const std::int64_t out = d.between(1, 5);
  const Ref w = d.constant(d.random_tensor(d.dtype(x), {d.dims(x)[1], out}, Domain::any));
  const Ref y = d.op("MatMul", {x, w}, {}, kOnce);
  const Ref b = d.op(d.chance(0.5) ? "BiasAdd" : "AddV2", {y, d.constant(d.random_tensor(d.dtype(x), {out}, Domain::any))}, {}, kOnce);
  if (d.chance(0.5)) d.op("Relu", {b});
  else if (d.chance(0.5)) d.op("Mul", {b, number(d, x, 0.25)}, {}, kOnce);
}

// softmax(q k^T / sqrt(n)) v
void draw_attention(Drawer& d) {
  const std::int64_t heads = d.between(1, 2), length = d.between(2, 4), width = d.between(2, 4);
  const DType t = d.dtype({f32, f32, f32, f16});
  const Ref q = d.leaf(t, {1, heads, length, width}), k = d.leaf(t, {1, heads, length, width}), v = d.leaf(t, {1, heads, length, width});
  const Ref scores = d.op("BatchMatMulV2", {q, k}, {{"adj_y", true}}, kOnce);
  const Ref scaled = d.chance(0.5) ? d.op("Mul", {scores, number(d, q, 0.5)}, {}, kOnce) : d.op("RealDiv", {scores, number(d, q, 2)}, {}, kOnce);
  const Ref masked = d.chance(0.5) ? d.op("AddV2", {scaled, d.leaf(t, {1, 1, length, length})}, {}, kOnce) : scaled;
  d.op("BatchMatMulV2", {d.op("Softmax", {masked}, {}, kMany), v}, {}, kOnce);
}

}  // namespace

void add_patterns(std::vector<Maker>& m) {
  m.push_back({"gelu", 1, draw_gelu});
  m.push_back({"swish", 1, draw_swish});
  m.push_back({"layer_norm", 2, draw_layer_norm});
  m.push_back({"softmax", 1, draw_softmax});
  m.push_back({"casts", 4, draw_casts});
  m.push_back({"sandwich", 3, draw_sandwich});
  m.push_back({"chain", 5, draw_chain});
  m.push_back({"dense", 2, draw_dense});
  m.push_back({"attention", 1, draw_attention});
}

}  // namespace t2o::random_graphs
