#include <algorithm>

#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

const DTypes kConv = {f32, f32, f32, f32, f64, f16};

Ref image(Drawer& d, const DTypes& types) {
  const auto fits = [&](const Tensor& t) {
    return t.rank() == 4 && std::find(types.begin(), types.end(), t.dtype()) != types.end();
  };
  return d.pick_if(fits, [&] {
    const DType t = d.dtype(types);
    return d.leaf(t, {d.between(1, 2), d.between(3, 7), d.between(3, 7), d.between(1, 4)});
  });
}

Ints window(Drawer& d, std::int64_t most) {
  const std::int64_t h = d.between(1, most);
  return {1, h, d.chance(0.6) ? h : d.between(1, most), 1};
}

std::string padding(Drawer& d) { return d.chance(0.5) ? "SAME" : "VALID"; }

Ref weights(Drawer& d, DType t, const Ints& dims) {
  const TensorPtr w = d.random_tensor(t, dims, Domain::unit);
  return d.chance(0.9) ? d.constant(w) : d.leaf(w);
}

// Convolutions of f64 are computed in f32.
Rounding sums(const Drawer& d, Ref x) { return d.dtype(x) == f64 ? Rounding::many : Rounding::once; }

void draw_conv(Drawer& d) {
  const Ref x = image(d, kConv);
  const std::int64_t channels = d.dims(x)[3];
  const bool depthwise = d.chance(0.3);
  const Ref w = weights(d, d.dtype(x), {d.between(1, 3), d.between(1, 3), channels, d.between(1, depthwise ? 2 : 4)});
  const std::int64_t stride = d.between(1, 2);
  const bool dilated = stride == 1 && d.chance(0.2);
  const Ref y = d.op(depthwise ? "DepthwiseConv2dNative" : "Conv2D", {x, w},
                     {{"strides", Ints{1, stride, stride, 1}}, {"padding", padding(d)}, {"dilations", dilated ? Ints{1, 2, 2, 1} : Ints{1, 1, 1, 1}}}, sums(d, x));
  if (d.chance(0.4)) {
    const Ref b = d.op("BiasAdd", {y, weights(d, d.dtype(x), {d.dims(y)[3]})}, {}, Rounding::once);
    if (d.chance(0.5)) d.op(d.chance(0.5) ? "Relu" : "Relu6", {b});
  } else if (d.chance(0.3)) {
    d.op(d.chance(0.5) ? "Mul" : "AddV2", {y, weights(d, d.dtype(x), {d.dims(y)[3]})}, {}, Rounding::once);
  }
}

void draw_conv_transpose(Drawer& d) {
  const Ref x = image(d, {f32, f32, f64});
  const Ints& in = d.dims(x);
  const std::int64_t k = d.between(1, 3), stride = d.between(1, 2), out = d.between(1, 3);
  const std::string pad = padding(d);
  const auto size = [&](std::int64_t n) { return pad == "SAME" ? n * stride : (n - 1) * stride + k; };
  const Ints dims = {in[0], size(in[1]), size(in[2]), out};
  const Ref sizes = d.constant(Tensor::of<std::int32_t>({4}, std::vector<std::int32_t>(dims.begin(), dims.end())));
  d.op("Conv2DBackpropInput", {sizes, weights(d, d.dtype(x), {k, k, out, in[3]}), x}, {{"strides", Ints{1, stride, stride, 1}}, {"padding", pad}}, sums(d, x));
}

void draw_pool(Drawer& d) {
  const Ref x = image(d, kConv);
  const bool mean = d.chance(0.5);
  const std::int64_t stride = d.between(1, 2);
  d.op(mean ? "AvgPool" : "MaxPool", {x}, {{"ksize", window(d, 3)}, {"strides", Ints{1, stride, stride, 1}}, {"padding", padding(d)}}, mean ? Rounding::many : Rounding::moves);
}

void draw_resize(Drawer& d) {
  const bool nearest = d.chance(0.5);
  const Ref x = image(d, nearest ? DTypes{f32, f32, u8, i32} : DTypes{f32});
  const Ref size = d.leaf(Tensor::of<std::int32_t>({2}, {static_cast<std::int32_t>(d.between(1, 9)), static_cast<std::int32_t>(d.between(1, 9))}));
  const std::int64_t kind = d.below(3);
  d.op(nearest ? "ResizeNearestNeighbor" : "ResizeBilinear", {x, size}, {{"align_corners", kind == 1}, {"half_pixel_centers", kind == 2}}, nearest ? Rounding::moves : Rounding::many);
}

void draw_batch_norm(Drawer& d) {
  const Ref x = image(d, {f32, f32, f16});
  const Ints c = {d.dims(x)[3]};
  const Ref scale = weights(d, f32, c), offset = weights(d, f32, c), mean = weights(d, f32, c);
  const Ref variance = d.constant(d.random_tensor(f32, c, Domain::positive));
  d.op("FusedBatchNormV3", {x, scale, offset, mean, variance}, {{"epsilon", 0.001F}, {"is_training", false}}, Rounding::many);
}

void draw_blocks(Drawer& d) {
  const Ref x = image(d, {f32, f32, i32, i64, f16, u8});
  const Ints& in = d.dims(x);
  const double kind = d.random().uniform();
  const auto ints = [&](const Ints& dims, const Ints& v) { return d.constant(Tensor::of<std::int32_t>(dims, std::vector<std::int32_t>(v.begin(), v.end()))); };
  if (kind < 0.25) {
    d.op("DepthToSpace", {d.leaf(d.dtype(x), {1, in[1], in[2], 4 * d.between(1, 2)})}, {{"block_size", std::int64_t{2}}});
  } else if (kind < 0.5) {
    d.op("SpaceToDepth", {d.leaf(d.dtype(x), {1, 2 * d.between(1, 3), 2 * d.between(1, 3), in[3]})}, {{"block_size", std::int64_t{2}}});
  } else if (kind < 0.75) {
    const Ref block = ints({2}, {2, 2});
    d.op("SpaceToBatchND", {x, block, ints({2, 2}, {0, in[1] % 2, 0, in[2] % 2})});
  } else {
    const Ref wide = d.leaf(d.dtype(x), {4 * in[0], in[1], in[2], in[3]}), block = ints({2}, {2, 2});
    d.op("BatchToSpaceND", {wide, block, ints({2, 2}, {0, d.below(2), d.below(2), 0})});
  }
}

void draw_volume(Drawer& d) {
  const DType t = d.dtype({f32, f32, f64});
  const Ref x = d.leaf(t, {1, d.between(2, 4), d.between(2, 4), d.between(2, 4), d.between(1, 3)});
  const std::int64_t k = d.between(1, 2), stride = d.between(1, 2);
  const Ints strides = {1, stride, stride, stride, 1};
  if (d.chance(0.5)) d.op("Conv3D", {x, weights(d, t, {k, k, k, d.dims(x)[4], d.between(1, 3)})}, {{"strides", strides}, {"padding", padding(d)}}, sums(d, x));
  else d.op(d.chance(0.5) ? "MaxPool3D" : "AvgPool3D", {x}, {{"ksize", Ints{1, k, k, k, 1}}, {"strides", strides}, {"padding", padding(d)}}, Rounding::many);
}

void draw_crop_and_resize(Drawer& d) {
  const Ref x = image(d, {f32});
  const Ref boxes = d.leaf(Tensor::of<float>({2, 4}, {0, 0, 1, 1, 0.25F, 0.125F, 0.75F, 1.25F})), at = d.leaf(Tensor::of<std::int32_t>({2}, {0, 0}));
  const Ref size = d.constant(Tensor::of<std::int32_t>({2}, {3, 2}));
  d.op("CropAndResize", {x, boxes, at, size}, {{"method", std::string(d.chance(0.7) ? "bilinear" : "nearest")}, {"extrapolation_value", 0.5F}}, Rounding::many);
}

void draw_lrn(Drawer& d) {
  d.op("LRN", {image(d, {f32})}, {{"depth_radius", d.between(1, 3)}, {"bias", 1.0F}, {"alpha", 0.25F}, {"beta", 0.5F}}, Rounding::many);
}

void draw_patches(Drawer& d) {
  const Ref x = image(d, {f32, i32});
  const std::int64_t stride = d.between(1, 2);
  d.op("ExtractImagePatches", {x}, {{"ksizes", window(d, 3)}, {"strides", Ints{1, stride, stride, 1}}, {"rates", Ints{1, 1, 1, 1}}, {"padding", padding(d)}});
}

}  // namespace

void add_images(std::vector<Maker>& m) {
  m.push_back({"conv", 6, draw_conv});
  m.push_back({"conv_transpose", 2, draw_conv_transpose});
  m.push_back({"pool", 4, draw_pool});
  m.push_back({"resize", 3, draw_resize});
  m.push_back({"batch_norm", 2, draw_batch_norm});
  m.push_back({"blocks", 3, draw_blocks});
  m.push_back({"volume", 2, draw_volume});
  m.push_back({"crop_and_resize", 1, draw_crop_and_resize});
  m.push_back({"lrn", 1, draw_lrn});
  m.push_back({"patches", 1, draw_patches});
}

}  // namespace t2o::random_graphs
