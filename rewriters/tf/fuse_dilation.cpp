#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/tf/linear.h"

namespace t2o::rewriters {
namespace {

bool is_convolution(const Value* v) {
  const ir::Node& n = *v->producer();
  const auto* padding = n.attr_if<std::string>("padding");
  const auto* format = n.attr_if<std::string>("data_format");
  const auto all_one = [&](const char* name) {
    const auto* list = n.attr_if<Ints>(name);
    return !list || std::ranges::all_of(*list, [](std::int64_t i) { return i == 1; });
  };
  return padding && *padding == "VALID" && all_one("strides") && all_one("dilations") &&
         (!format || *format == "NHWC" || *format == "CHANNELS_LAST");
}

// paddings - crops, [axes, 2], when it is known and no axis is cut.
std::optional<Ints> padding_left(const Value* paddings, const Value* crops) {
  const auto p = linear(paddings), c = linear(crops);
  if (!p || !c || p->dims != c->dims || p->dims.size() != 2 || p->dims[1] != 2) return std::nullopt;
  Ints out;
  for (std::size_t i = 0; i < p->elements.size(); ++i) {
    const ElementSum left = difference(p->elements[i], c->elements[i]);
    if (!left.terms.empty() || left.number < 0) return std::nullopt;
    out.push_back(left.number);
  }
  return out;
}

Value* dilated(const Match& m, Rewrite& r, const Pat& x, const Pat& blocks, const Pat& paddings,
               const Pat& crops, const Pat& kernel, const Pat& convolution) {
  const ir::Node& conv = *m[convolution]->producer();
  const auto* strides = conv.attr_if<Ints>("strides");
  const TensorPtr& block = m.constant(blocks);
  const auto pads = padding_left(m[paddings], m[crops]);
  if (!pads || !strides || block->elements() + 2 != static_cast<std::int64_t>(strides->size()))
    return nullptr;
  Ints dilations(strides->size(), 1), all_pads(2 * strides->size(), 0);
  for (std::int64_t i = 0; i < block->elements(); ++i)
    dilations[static_cast<std::size_t>(i) + 1] = block->int_at(i);
  std::ranges::copy(*pads, all_pads.begin() + 2);
  const bool is_padded = std::ranges::any_of(*pads, [](std::int64_t p) { return p != 0; });
  if (is_padded && conv.op() == "Conv3D") return nullptr;  // has no explicit padding
  Attrs attrs;
  for (const ir::NamedAttr& a : conv.attrs())
    if (!contains({"padding", "dilations", "explicit_paddings"}, a.name)) attrs.push_back(a);
  attrs.push_back({"padding", std::string(is_padded ? "EXPLICIT" : "VALID")});
  attrs.push_back({"dilations", std::move(dilations)});
  if (is_padded) attrs.push_back({"explicit_paddings", std::move(all_pads)});
  return r.make(conv.op(), {m[x], m[kernel]}, std::move(attrs));
}

}  // namespace

// BatchToSpaceND(conv(SpaceToBatchND(x))): how a dilated convolution is done on a device that has none. What
// the batch is made divisible with is cropped again.
Rewriter fuse_dilation() {
  const Pat x = any(), blocks = constant(), paddings = any(), crops = any(), kernel = any();
  const Pat convolution =
      op("Conv|Conv2D|Conv3D|DepthwiseConv2dNative", op("SpaceToBatchND", x, blocks, paddings), kernel)
          .where(is_convolution);
  const Pat same = constant();
  return rewriter("fuse_dilation", op("BatchToSpaceND", convolution, same, crops),
                  [=](const Match& m, Rewrite& r) -> Value* {
                    if (m.constant(same)->to_ints() != m.constant(blocks)->to_ints()) return nullptr;
                    return dilated(m, r, x, blocks, paddings, crops, kernel, convolution);
                  });
}

}  // namespace t2o::rewriters
