#include <optional>

#include "rewriters/all.h"
#include "rewriters/tf/linear.h"
#include "tf/op_builder.h"

namespace t2o::rewriters {
namespace {

bool is_number(const Value* v, std::initializer_list<std::int64_t> allowed) {
  if (!v || !v->constant() || !is_int(v->dtype()) || v->constant()->elements() != 1) return false;
  for (const std::int64_t n : allowed)
    if (v->constant()->int_at(0) == n) return true;
  return false;
}

// The list without the entry of the height.
Ints without_height(const ir::Node& conv, const char* name) {
  const auto* all = conv.attr_if<Ints>(name);
  return all && all->size() == 4 ? Ints{(*all)[0], (*all)[2], (*all)[3]} : Ints{1, 1, 1};
}

Ints explicit_paddings(const ir::Node& conv) {
  const auto* all = conv.attr_if<Ints>("explicit_paddings");
  return all && all->size() == 8 ? Ints{(*all)[0], (*all)[1], (*all)[4], (*all)[5], (*all)[6], (*all)[7]}
                                 : Ints{};
}

bool pads_height(const ir::Node& conv) {
  const auto* all = conv.attr_if<Ints>("explicit_paddings");
  return all && all->size() == 8 && ((*all)[2] != 0 || (*all)[3] != 0);
}

bool drops_height(const ir::Node& squeeze) {
  const auto* axes = squeeze.attr_if<Ints>("squeeze_dims");
  return axes && (*axes == Ints{-3} || *axes == Ints{1});
}

// Of a convolution of images of height 1 that could be one of sequences.
std::optional<Attrs> attrs_without_height(const Match& m, const ir::Node& conv) {
  const auto *format = conv.attr_if<std::string>("data_format"),
             *padding = conv.attr_if<std::string>("padding");
  if ((format && *format != "NHWC") || !padding || !drops_height(*m.root()->producer()) || pads_height(conv))
    return std::nullopt;
  Attrs attrs = {{"padding", *padding},
                 {"data_format", std::string("CHANNELS_LAST")},
                 {"strides", without_height(conv, "strides")},
                 {"dilations", without_height(conv, "dilations")}};
  if (*padding == "EXPLICIT") attrs.push_back({"explicit_paddings", explicit_paddings(conv)});
  return attrs;
}

// Conv of x, the squeezed image.
Value* one_dimensional(const Match& m, Rewrite& r, Value* x, const Pat& kernel, const Pat& convolution) {
  auto attrs = attrs_without_height(m, *m[convolution]->producer());
  return attrs ? r.make("Conv", {x, m[kernel]}, *std::move(attrs)) : nullptr;
}

// kernel [k, c, times] of each channel: Conv with as many groups, of [k, 1, c * times]
Value* by_channel(const Match& m, Rewrite& r, const Pat& x, const Pat& kernel, const Pat& convolution) {
  const Shape& k = m[kernel]->shape();
  auto attrs = attrs_without_height(m, *m[convolution]->producer());
  if (!attrs || !k.is_static() || k.rank() != 3) return nullptr;
  attrs->push_back({"groups", k[1]});
  const std::vector<std::int32_t> dims{static_cast<std::int32_t>(k[0]), 1,
                                       static_cast<std::int32_t>(k[1] * k[2])};
  Value* sizes = r.constant(Tensor::of<std::int32_t>({3}, dims));
  Value* grouped =
      r.make(tf::op_spec("Reshape", {m[kernel], sizes}, {}, {Shape(Ints{k[0], 1, k[1] * k[2]})}));
  return r.make("Conv", {m[x], grouped}, *std::move(attrs));
}

// Squeeze(Conv2D(y, kernel)) = Conv(Squeeze(y), kernel): the first of two convolutions is then squeezed
// itself
Value* squeezed_before(const Match& m, Rewrite& r, const Pat& first, const Pat& kernel,
                       const Pat& convolution) {
  if (!attrs_without_height(m, *m[convolution]->producer())) return nullptr;
  Value* image = m[first];
  const ir::Node& squeeze = *m.root()->producer();
  const Shape& s = image->shape();
  const Shape without = s.ranked() && s.rank() == 4 ? Shape(Ints{s[0], s[2], s[3]}) : Shape();
  return one_dimensional(m, r, r.make("Squeeze", {image}, squeeze.attrs(), image->dtype(), without), kernel,
                         convolution);
}

}  // namespace

// A convolution of sequences, which TensorFlow does as one of images of height 1; also of each channel, and
// behind that of all.
Rewriter fuse_conv1d() {
  const Pat x = any(), kernel = any(), pointwise = any();  // all of rank 3: Conv2D takes no others
  const Pat height = any().where([](const Value* v) { return is_number(v, {1, -3}); });
  const auto is_first = [](const Value* v) { return is_number(v, {0, -4}); };
  const Pat first = any().where(is_first), first_too = any().where(is_first);
  const Pat convolution = op("Conv2D", op("ExpandDims", x, height), op("ExpandDims", kernel, first));
  const Pat depthwise =
      op("DepthwiseConv2dNative", op("ExpandDims", x, height), op("ExpandDims", kernel, first));
  const Pat separable = op("Conv2D", depthwise, op("ExpandDims", pointwise, first_too));
  const auto plain = [=](const Match& m, Rewrite& r) {
    return one_dimensional(m, r, m[x], kernel, convolution);
  };
  const auto two = [=](const Match& m, Rewrite& r) {
    return squeezed_before(m, r, depthwise, pointwise, separable);
  };
  const auto channels = [=](const Match& m, Rewrite& r) { return by_channel(m, r, x, kernel, depthwise); };
  return in_turn("fuse_conv1d",
                 {rewriter("fuse_conv1d", op("Squeeze", convolution), plain),
                  rewriter("fuse_conv1d", op("Squeeze", separable), two),
                  rewriter("fuse_conv1d", op("Squeeze", depthwise), channels)},
                 {"Squeeze"});
}

}  // namespace t2o::rewriters
