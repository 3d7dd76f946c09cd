#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/wide_integers.h"

// Losses with their gradients, and the gradients that layers kept in training mode leave in a graph.
namespace t2o::op_mappers {
namespace {

// Logits of one class stand for all classes of the labels: log(softmax) counts the classes, so it must see
// them.
Value* with_all_classes(MapperContext& c, Value* logits, Value* labels) {
  const Shape &x = logits->shape(), &y = labels->shape();
  if (x.ranked() && x.rank() > 0 && y.ranked() && y.rank() > 0) {
    const Dim classes = x[x.rank() - 1], wanted = y[y.rank() - 1];
    if (is_known(classes) && (classes != 1 || wanted == 1)) return logits;
    if (classes == wanted && is_symbol(classes)) return logits;
  }
  return c.expand(logits, c.shape_of(labels));
}

// loss = -sum(labels * log(softmax(logits))), backprop = softmax(logits) - labels
Values map_cross_entropy(MapperContext& c) {
  Value* labels = c.in(1);
  Value* logits = with_all_classes(c, c.in(0), labels);
  Value* likelihood = c.mul(labels, c.softmax(logits, -1, true));
  Value* loss = c.neg(c.reduce("ReduceSum", likelihood, Ints{1}, false));
  return {loss, c.sub(c.softmax(logits, -1), labels)};
}

// loss = -log(softmax(logits))[label], backprop = softmax(logits) - one_hot(label)
Values map_sparse_cross_entropy(MapperContext& c) {
  Value* logits = c.in(0);
  Value* labels = c.unsqueeze(c.in(1), {1});
  Value* chosen = c.emit("GatherElements", {c.softmax(logits, -1, true), labels}, {{"axis", 1}});
  Value* loss = c.neg(c.squeeze(chosen, {1}));
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* classes = c.range(zero, c.dim(logits, -1), one);
  Value* hit = c.cast(c.equal(c.cast(labels, DType::i64), classes), logits->dtype());
  return {loss, c.sub(c.softmax(logits, -1), hit)};
}

// ---- gradients of activations: in(0) is the gradient that arrives, in(1) the features or, for Elu and Selu,
// the outputs

Value* pass_where(MapperContext& c, Value* open) { return c.mul(c.in(0), c.cast(open, c.in(0)->dtype())); }

Values map_relu_grad(MapperContext& c) {
  Value* x = c.in(1);
  return {pass_where(c, c.greater(x, c.scalar_like(x, 0)))};
}

Values map_relu6_grad(MapperContext& c) {
  Value* x = c.in(1);
  Value* above = c.greater(x, c.scalar_like(x, 0));
  Value* below = c.less(x, c.scalar_like(x, 6));
  return {pass_where(c, c.logical_and(above, below))};
}

Values map_leaky_relu_grad(MapperContext& c) {
  Value *g = c.in(0), *x = c.in(1);
  Value* leaked = c.mul(g, c.scalar_like(g, static_cast<double>(c.attr<float>("alpha"))));
  return {c.where(c.greater(x, c.scalar_like(x, 0)), g, leaked)};
}

Values map_elu_grad(MapperContext& c) {
  Value *g = c.in(0), *y = c.in(1);
  Value* slope = c.mul(g, c.add(y, c.scalar_like(y, 1)));
  return {c.where(c.less(y, c.scalar_like(y, 0)), slope, g)};
}

Values map_selu_grad(MapperContext& c) {
  constexpr double kScale = 1.0507009873554804934193349852946,
                   kScaleAlpha = 1.7580993408473768599402175208123;
  Value *g = c.in(0), *y = c.in(1);
  Value* slope = c.mul(g, c.add(y, c.scalar_like(y, kScaleAlpha)));
  Value* scaled = c.mul(g, c.scalar_like(g, kScale));
  return {c.where(c.less(y, c.scalar_like(y, 0)), slope, scaled)};
}

// g / (1 + exp(-x))
Values map_softplus_grad(MapperContext& c) {
  Value *g = c.in(0), *x = c.in(1);
  return {c.div(g, c.add(c.exp(c.neg(x)), c.scalar_like(x, 1)))};
}

// g / (1 + |x|)^2
Values map_softsign_grad(MapperContext& c) {
  Value *g = c.in(0), *x = c.in(1);
  Value* d = c.add(c.abs(x), c.scalar_like(x, 1));
  return {c.div(g, c.mul(d, d))};
}

// ---- gradients stated with the result: in(0) is y = f(x), in(1) the gradient that arrives

// g * y * (1 - y)
Values map_sigmoid_grad(MapperContext& c) {
  Value *y = c.in(0), *g = c.in(1);
  Value* rest = c.sub(c.scalar_like(y, 1), y);
  return {c.mul(c.mul(g, y), rest)};
}

// g * (1 - y^2)
Values map_tanh_grad(MapperContext& c) {
  Value *y = c.in(0), *g = c.in(1);
  return {c.mul(g, c.sub(c.scalar_like(y, 1), c.mul(y, y)))};
}

Value* zero_where_no_gradient(MapperContext& c, Value* result) {
  Value* zero = c.scalar_like(result, 0);
  return c.where(c.equal(c.in(1), zero), zero, result);
}

// g / (2 y)
Values map_sqrt_grad(MapperContext& c) {
  Value *y = c.in(0), *g = c.in(1);
  return {zero_where_no_gradient(c, c.div(c.mul(g, c.scalar_like(g, 0.5)), y))};
}

// -g/2 * y^3
Values map_rsqrt_grad(MapperContext& c) {
  Value *y = c.in(0), *g = c.in(1);
  Value* half = c.mul(c.mul(g, y), c.scalar_like(g, -0.5));
  if (!c.strict()) return {c.mul(c.mul(half, y), y)};
  return {zero_where_no_gradient(c, c.mul(half, c.mul(y, y)))};  // also where y is infinite
}

// -g * y^2
Values map_reciprocal_grad(MapperContext& c) {
  Value *y = c.in(0), *g = c.in(1);
  if (!c.strict()) return {c.mul(c.mul(c.neg(g), y), y)};
  return {zero_where_no_gradient(c, c.mul(c.neg(g), c.mul(y, y)))};  // also where y is infinite
}

// The sum over everything but the channels.
Values map_bias_add_grad(MapperContext& c) {
  Value* g = c.in(0);
  const auto sum = [&](Value* x, const Ints& axes) {
    return wrapping_sum(c, x, [&](Value* numbers) { return c.reduce("ReduceSum", numbers, axes, false); });
  };
  if (c.layout() == Layout::channels_last) {
    if (!c.has_rank(0)) {
      Value* channels = c.dims(g, -1, onnx::kToEnd);
      Value* others = c.product(c.dims(g, 0, -1));
      Value* rows = c.reshape_to(g, c.concat({others, channels}, 0));
      return {sum(rows, Ints{0})};
    }
    Ints axes;
    for (int i = 0; i + 1 < c.rank(0); ++i) axes.push_back(i);
    return {sum(g, axes)};
  }
  if (!c.has_rank(0)) {  // [batch, channels, product of the others]
    Value* others = c.product(c.dims(g, 2, onnx::kToEnd));
    Value* three = c.reshape_to(g, c.concat({c.dims(g, 0, 2), others}, 0));
    return {sum(three, Ints{0, 2})};
  }
  Ints axes{0};
  for (int i = 2; i < c.rank(0); ++i) axes.push_back(i);
  return {sum(g, axes)};
}

// ---- BroadcastGradientArgs: the axes along which each of two shapes was spread; none when the shapes are
// the same

Ints known_with_ones_before(Ints dims, std::size_t size) {
  dims.insert(dims.begin(), size - dims.size(), 1);
  return dims;
}

Ints axes_of_ones(const Ints& dims) {
  Ints axes;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == 1) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

Values runtime_gradient_args(MapperContext& c) {
  Value* a = c.cast(c.in(0), DType::i64);
  Value* b = c.cast(c.in(1), DType::i64);
  Value* size_a = c.size_of(a);
  Value* size_b = c.size_of(b);
  Value* size = c.maximum(size_a, size_b);
  a = with_ones_before(c, a, size);
  b = with_ones_before(c, b, size);
  Value* one = c.i64(1);
  Value* unlike = c.cast(c.logical_not(c.equal(a, b)), DType::i64);
  Value* length_differs = c.abs(c.sub(size_a, size_b));
  Value* difference = c.add(c.reduce("ReduceSum", unlike, Ints{0}, false), length_differs);
  Value* differs = c.greater(difference, c.i64(0));
  const auto axes = [&](Value* dims, std::size_t output) {
    Value* spread = c.logical_and(c.equal(dims, one), differs);
    Value* found = c.squeeze(c.emit("NonZero", {spread}), {0});
    return c.cast(found, c.output_dtype(output));
  };
  Value* first = axes(a, 0);
  Value* second = axes(b, 1);
  return {first, second};
}

Values map_gradient_args(MapperContext& c) {
  const auto a = c.maybe_ints(0), b = c.maybe_ints(1);
  if (!a || !b) return runtime_gradient_args(c);
  const std::size_t size = std::max(a->size(), b->size());
  const Ints first = *a == *b ? Ints{} : axes_of_ones(known_with_ones_before(*a, size));
  const Ints second = *a == *b ? Ints{} : axes_of_ones(known_with_ones_before(*b, size));
  return {c.cast(c.ints(first), c.output_dtype(0)), c.cast(c.ints(second), c.output_dtype(1))};
}

}  // namespace

void register_loss(OpRegistry& r) {
  r.op("SoftmaxCrossEntropyWithLogits").by(map_cross_entropy);
  r.op("SparseSoftmaxCrossEntropyWithLogits").by(map_sparse_cross_entropy);
  r.op("ReluGrad").by(map_relu_grad);
  r.op("Relu6Grad").by(map_relu6_grad);
  r.op("LeakyReluGrad").by(map_leaky_relu_grad);
  r.op("EluGrad").by(map_elu_grad);
  r.op("SeluGrad").by(map_selu_grad);
  r.op("SoftplusGrad").by(map_softplus_grad);
  r.op("SoftsignGrad").by(map_softsign_grad);
  r.op("SigmoidGrad").by(map_sigmoid_grad);
  r.op("TanhGrad").by(map_tanh_grad);
  r.op("SqrtGrad").by(map_sqrt_grad);
  r.op("RsqrtGrad").by(map_rsqrt_grad);
  r.op("ReciprocalGrad", "InvGrad").by(map_reciprocal_grad);
  r.op("BiasAddGrad").by(map_bias_add_grad);
  r.op("BroadcastGradientArgs").by(map_gradient_args);
}

}  // namespace t2o::op_mappers
