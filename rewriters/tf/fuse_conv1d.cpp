#include "rewriters/all.h"
#include "rewriters/tf/linear.h"

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
  return all && all->size() == 8 ? Ints{(*all)[0], (*all)[1], (*all)[4], (*all)[5], (*all)[6], (*all)[7]} : Ints{};
}

bool pads_height(const ir::Node& conv) {
  const auto* all = conv.attr_if<Ints>("explicit_paddings");
  return all && all->size() == 8 && ((*all)[2] != 0 || (*all)[3] != 0);
}

Value* one_dimensional(const Match& m, Rewrite& r, const Pat& x, const Pat& kernel, const Pat& convolution) {
  const ir::Node& conv = *m[convolution]->producer();
  const auto* format = conv.attr_if<std::string>("data_format");
  const auto* squeezed = m.root()->producer()->attr_if<Ints>("squeeze_dims");
  const auto* padding = conv.attr_if<std::string>("padding");
  if ((format && *format != "NHWC") || !padding || !squeezed || (*squeezed != Ints{-3} && *squeezed != Ints{1}) || pads_height(conv)) return nullptr;
  Attrs attrs = {{"padding", *padding}, {"data_format", std::string("CHANNELS_LAST")}, {"strides", without_height(conv, "strides")}, {"dilations", without_height(conv, "dilations")}};
  if (*padding == "EXPLICIT") attrs.push_back({"explicit_paddings", explicit_paddings(conv)});
  return r.make("Conv", {m[x], m[kernel]}, std::move(attrs));
}

}  // namespace

// A convolution of sequences, which TensorFlow does as one of images of height 1.
Rewriter fuse_conv1d() {
  const Pat x = any(), kernel = any();  // both of rank 3: Conv2D takes no others
  const Pat height = any().where([](const Value* v) { return is_number(v, {1, -3}); });
  const Pat first = any().where([](const Value* v) { return is_number(v, {0, -4}); });
  const Pat convolution = op("Conv2D", op("ExpandDims", x, height), op("ExpandDims", kernel, first));
  return rewriter("fuse_conv1d", op("Squeeze", convolution), [=](const Match& m, Rewrite& r) { return one_dimensional(m, r, x, kernel, convolution); });
}

}  // namespace t2o::rewriters
