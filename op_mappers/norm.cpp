#include <algorithm>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/weighted_sums.h"
#include "op_mappers/window.h"

namespace t2o::op_mappers {
namespace {

struct Normalized {
  Value* y;
  Value *mean, *variance;              // batch_mean and batch_variance
  Value *saved_mean, *saved_variance;  // reserve_space_1 and _2
};

Value* f32(MapperContext& c, std::size_t i) { return c.cast(c.in(i), DType::f32); }

// [C] so that it broadcasts over x
Value* per_channel(Emitter& e, Value* v, Layout layout, std::size_t spatial) {
  if (layout == Layout::channels_last) return v;
  Ints dims(spatial + 1, 1);
  dims[0] = -1;
  return e.reshape(v, dims);
}

Value* batch_norm(Emitter& e, Value* x, const Values& scale_offset_mean_variance, float epsilon,
                  Layout layout, std::size_t spatial) {
  Values in{to_channels_first(e, x, layout, spatial)};
  append(in, scale_offset_mean_variance);
  return from_channels_first(e, e.emit("BatchNormalization", in, {{"epsilon", epsilon}}), layout, spatial);
}

// Both running statistics: (1 - factor) * old + factor * of the batch
Value* running(MapperContext& c, Value* old, Value* batch, float factor) {
  if (factor == 1.0f) return batch;
  Value* kept = c.mul(old, c.scalar(DType::f32, static_cast<double>(1.0f - factor)));
  Value* added = c.mul(batch, c.scalar(DType::f32, static_cast<double>(factor)));
  return c.add(kept, added);
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + offset over the batch's own statistics. The variance
// that is handed out is the unbiased one: times n / (n - 1).
Normalized train(MapperContext& c, Value* x, Layout layout, std::size_t spatial, float epsilon,
                 float factor) {
  const auto n = static_cast<std::int64_t>(spatial);
  const std::int64_t channel = layout == Layout::channels_last ? n + 1 : 1;
  Ints axes;
  for (std::int64_t a = 0; a < n + 2; ++a)
    if (a != channel) axes.push_back(a);
  Value* mean = c.reduce("ReduceMean", x, axes, false);
  Value* centered = c.sub(x, per_channel(c, mean, layout, spatial));
  Value* variance = c.reduce("ReduceMean", c.mul(centered, centered), axes, false);
  Value* deviation = c.sqrt(c.add(variance, c.scalar(DType::f32, static_cast<double>(epsilon))));
  Value* factors = per_channel(c, c.div(f32(c, 1), deviation), layout, spatial);
  Value* scaled = c.mul(centered, factors);
  Value* y = c.add(scaled, per_channel(c, f32(c, 2), layout, spatial));

  Value* count = c.div(c.size_of(x), c.dim(x, static_cast<int>(channel)));
  Value* less_one = c.maximum(c.sub(count, c.scalar(DType::i64, 1)), c.scalar(DType::i64, 1));
  Value* samples = c.cast(count, DType::f32);
  Value* correction = c.div(samples, c.cast(less_one, DType::f32));
  Value* unbiased = c.mul(variance, correction);
  Value* new_mean = running(c, f32(c, 3), mean, factor);
  Value* new_variance = running(c, f32(c, 4), unbiased, factor);
  return {y, new_mean, new_variance, mean, variance};
}

Normalized fused_batch_norm(MapperContext& c, Layout layout, std::size_t spatial) {
  const auto epsilon = c.attr<float>("epsilon");
  const auto factor = c.attr_or("exponential_avg_factor", 1.0f);
  Value* x = f32(c, 0);
  if (c.flag("is_training")) return train(c, x, layout, spatial, epsilon, factor);
  Values parameters;
  for (std::size_t i = 1; i <= 4; ++i) parameters.push_back(f32(c, i));
  Value* y = batch_norm(c, x, parameters, epsilon, layout, spatial);
  return {y, parameters[2], parameters[3], parameters[2], parameters[3]};
}

// An empty batch has no statistics: NaN, whatever the running ones were.
Values of_a_batch(MapperContext& c, const Values& statistics) {
  const Shape& x = c.in(0)->shape();
  if (!c.strict() || (x.ranked() && std::ranges::all_of(x.dims(), [](Dim d) { return d > 0; })))
    return statistics;
  Value* none = c.equal(c.size_of(c.in(0)), c.scalar(DType::i64, 0));
  Value* nan = c.scalar(DType::f32, std::numeric_limits<double>::quiet_NaN());
  Values r;
  for (Value* v : statistics) r.push_back(c.where(none, nan, v));
  return r;
}

Values outputs(MapperContext& c, const Normalized& n) {
  const DType statistics = c.in(1)->dtype();
  Values r{c.cast(n.y, c.in(0)->dtype())};
  for (Value* v : of_a_batch(c, {n.mean, n.variance})) r.push_back(c.cast(v, statistics));
  for (Value* v : {n.saved_mean, n.saved_variance}) r.push_back(c.cast(v, statistics));
  while (r.size() < c.node().outputs().size())
    r.push_back(c.constant(Tensor::of<float>({0}, {})));  // reserve_space_3: for gradients on GPUs only
  return r;
}

std::size_t spatial_axes(MapperContext& c) {
  return c.attr_or<std::string>("data_format", "NHWC").size() == 5 ? 3 : 2;  // NDHWC, NCDHW
}

Values map_fused_batch_norm(MapperContext& c) {
  const Layout layout = c.layout();
  return outputs(c, fused_batch_norm(c, layout, spatial_axes(c)));
}

Values map_fused_batch_norm_ex(MapperContext& c) {
  const Layout layout = c.layout();
  Normalized n = fused_batch_norm(c, layout, spatial_axes(c));
  if (c.attr_or<std::int64_t>("num_side_inputs", 0) == 1) n.y = c.add(n.y, f32(c, 5));
  const auto mode = c.attr_or<std::string>("activation_mode", "Identity");
  if (mode == "Relu") {
    n.y = c.emit("Relu", {n.y});
  } else if (mode != "Identity") {
    c.fail(Code::unsupported_attr, "activation_mode '" + mode + "'");
  }
  return outputs(c, n);
}

// inputs: t, m, v, beta, gamma
Values map_global_batch_norm(MapperContext& c) {
  Value* gamma = c.in(4);
  if (!c.flag("scale_after_normalization")) gamma = c.expand(c.scalar_like(c.in(1), 1), c.shape_of(c.in(1)));
  const Values parameters{gamma, c.in(3), c.in(1), c.in(2)};
  return {batch_norm(c, c.in(0), parameters, c.attr<float>("variance_epsilon"), Layout::channels_last, 2)};
}

struct LrnNumbers {
  float alpha, beta, bias;
};
// The sums over neighbouring channels as products with a band: band[i, j] = |i - j| <= radius
Value* band_of(MapperContext& c, Value* x, std::int64_t radius) {
  Value* channel = iota(c, c.dim(x, 3));
  Value* distance = c.abs(c.sub(channel, c.unsqueeze(channel, {1})));
  return c.cast(c.less_equal(distance, c.constant(radius)), DType::f32);
}
// What is not a neighbour spoils no sum.
Value* neighbours(MapperContext& c, Value* x, Value* band) {
  return weighted_sums(c, x, {band}, [&](Value* row, Value* m) { return c.matmul(row, m); });
}
Value* lrn_base(MapperContext& c, Value* x, Value* band, const LrnNumbers& n) {
  Value* sums = neighbours(c, c.mul(x, x), band);
  Value* scaled = c.mul(sums, c.scalar(DType::f32, static_cast<double>(n.alpha)));
  return c.add(scaled, c.scalar(DType::f32, static_cast<double>(n.bias)));
}
Value* lrn_by_band(MapperContext& c, std::int64_t radius, const LrnNumbers& n) {
  Value* x = f32(c, 0);
  Value* base = lrn_base(c, x, band_of(c, x, radius), n);
  Value* factor = c.emit("Pow", {base, c.scalar(DType::f32, static_cast<double>(-n.beta))});
  return c.cast(c.mul(x, factor), c.in(0)->dtype());
}

LrnNumbers lrn_numbers(MapperContext& c) {
  return {c.attr_or("alpha", 1.0f), c.attr_or("beta", 0.5f), c.attr_or("bias", 1.0f)};
}
std::int64_t lrn_radius(MapperContext& c) {
  const std::int64_t radius = c.attr_or<std::int64_t>("depth_radius", 5);
  if (radius < 0 || radius > 1'000'000) c.fail(Code::bad_model, "depth_radius " + std::to_string(radius));
  return radius;
}

// x / (bias + alpha * sum of squares)^beta; ONNX divides alpha by the number of summands.
Values map_lrn(MapperContext& c) {
  const auto [alpha, beta, bias] = lrn_numbers(c);
  const std::int64_t radius = lrn_radius(c);
  if (!(alpha > 0) || !(beta > 0))
    return {lrn_by_band(c, radius, {alpha, beta, bias})};  // runtimes refuse such an LRN
  const std::int64_t size = 2 * radius + 1;
  Value* x = to_channels_first(c, c.in(0), Layout::channels_last, 2);
  Value* y =
      c.emit("LRN", {x},
             {{"size", size}, {"alpha", alpha * static_cast<float>(size)}, {"beta", beta}, {"bias", bias}});
  return {from_channels_first(c, y, Layout::channels_last, 2)};
}

// g base^-beta - 2 alpha beta x (sum of g y / base), of in(0) g, in(1) x and in(2) y
Values map_lrn_grad(MapperContext& c) {
  const LrnNumbers n = lrn_numbers(c);
  Value* x = f32(c, 1);
  Value* band = band_of(c, x, lrn_radius(c));
  Value* base = lrn_base(c, x, band, n);
  Value* g = f32(c, 0);
  Value* own = c.mul(g, c.emit("Pow", {base, c.scalar(DType::f32, static_cast<double>(-n.beta))}));
  Value* share = c.div(c.mul(g, f32(c, 2)), base);
  Value* others = c.mul(neighbours(c, share, band), x);
  const double factor = 2 * static_cast<double>(n.alpha) * static_cast<double>(n.beta);
  return {c.cast(c.sub(own, c.mul(others, c.scalar(DType::f32, factor))), c.in(0)->dtype())};
}

// ---- gradients: in(0) is the one that arrives, in(1) x, in(2) the scale, in(3) and in(4) the mean and the
// variance

// With r = 1 / sqrt(variance + epsilon) and centered x, the gradients are sum(g) for the offset, r sum(g x)
// for the scale, and g scale r for x. If mean and variance are those of the batch, that of x is (g - mean(g)
// - x r^2 mean(g x)) scale r.
Values map_batch_norm_grad(MapperContext& c) {
  const Layout layout = c.layout();
  const std::size_t spatial = spatial_axes(c);
  Ints axes;
  const auto n = static_cast<std::int64_t>(spatial);
  for (std::int64_t a = 0; a < n + 2; ++a)
    if (a != (layout == Layout::channels_last ? n + 1 : 1)) axes.push_back(a);
  const auto spread = [&](Value* v) { return per_channel(c, v, layout, spatial); };
  Value* g = f32(c, 0);
  Value* centered = c.sub(f32(c, 1), spread(f32(c, 3)));
  Value* deviation =
      c.sqrt(c.add(f32(c, 4), c.scalar(DType::f32, static_cast<double>(c.attr<float>("epsilon")))));
  Value* r = c.reciprocal(deviation);
  Value* product = c.mul(g, centered);
  Value* of_offset = c.reduce("ReduceSum", g, axes, false);
  Value* of_scale = c.mul(c.reduce("ReduceSum", product, axes, false), r);
  Value* factor = spread(c.mul(f32(c, 2), r));
  if (c.flag("is_training")) {
    Value* mean = c.reduce("ReduceMean", g, axes, false);
    Value* slope = c.mul(c.reduce("ReduceMean", product, axes, false), c.mul(r, r));
    g = c.sub(c.sub(g, spread(mean)), c.mul(centered, spread(slope)));
  }
  Value* of_x = c.cast(c.mul(g, factor), c.in(0)->dtype());
  const DType statistics = c.in(2)->dtype();
  Value* empty = c.constant(Tensor::of<float>({0}, {}));
  return {of_x, c.cast(of_scale, statistics), c.cast(of_offset, statistics), empty, empty};
}

}  // namespace

void register_norm(OpRegistry& r) {
  r.op("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
      .note("training too, with its statistics")
      .by(map_fused_batch_norm);
  r.op("_FusedBatchNormEx").by(map_fused_batch_norm_ex);
  r.op("BatchNormWithGlobalNormalization").by(map_global_batch_norm);
  r.op("LRN").by(map_lrn);
  r.op("LRNGrad").by(map_lrn_grad);
  r.op("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3").by(map_batch_norm_grad);
}

}  // namespace t2o::op_mappers
