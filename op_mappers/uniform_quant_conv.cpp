#include <algorithm>

#include "op_mappers/uniform_quant.h"
#include "op_mappers/window_gather.h"
#include "op_mappers/xla.h"

namespace t2o::op_mappers {
namespace {

struct Axes {
  std::int64_t first, second;  // batch and features; of a kernel those of the result and those of the input
  Ints spatial;

  Ints order() const {
    Ints perm{first, second};
    append(perm, spatial);
    return perm;
  }
};

struct Layouts {
  Axes x, kernel, result;
  int rank;
};

Layouts layouts_of(MapperContext& c) {
  const int rank = c.has_rank(1) ? c.rank(1) : c.rank(0);
  if (rank < 3 || rank > 16) c.fail(Code::bad_model, "a convolution without spatial axes");
  const Axes plain{0, 1, ints_from(2, rank)};
  if (c.attr_or<std::string>("dimension_numbers", "").empty()) return {plain, plain, plain, rank};
  const XlaMessage m(c, "dimension_numbers", {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Layouts l{{m.number(1), m.number(2), m.list(3)},
                  {m.number(5), m.number(4), m.list(6)},
                  {m.number(7), m.number(8), m.list(9)},
                  rank};
  for (const Axes* a : {&l.x, &l.kernel, &l.result}) {
    check_axes(c, a->order(), rank, "dimension_numbers");
    if (a->spatial.size() != plain.spatial.size())
      c.fail(Code::bad_model, "dimension_numbers has another number of spatial axes than the kernel");
  }
  return l;
}

Ints list_or_ones(MapperContext& c, const char* name, std::size_t n) {
  Ints v = c.attr_or(name, Ints{});
  if (v.empty()) v.assign(n, 1);
  if (v.size() != n || std::ranges::any_of(v, [](std::int64_t e) { return e < 1 || e > 1 << 20; }))
    c.fail(Code::bad_model, std::string(name) + " needs a number above 0 for each spatial axis");
  return v;
}

Window window_of(MapperContext& c, const Layouts& l) {
  const std::size_t n = l.x.spatial.size();
  Window w;
  w.layout = Layout::channels_first;
  w.strides = list_or_ones(c, "window_strides", n);
  w.dilations = list_or_ones(c, "rhs_dilation", n);
  w.padding = c.attr<std::string>("padding");
  for (const std::int64_t axis : l.kernel.spatial) w.kernel.push_back(c.dim_of(1, static_cast<int>(axis)));
  const Ints pads = c.attr_or("explicit_padding", Ints{});
  if (w.padding == "EXPLICIT" && pads.size() != 2 * n)
    c.fail(Code::bad_model, "explicit_padding needs two numbers for each spatial axis");
  for (std::size_t i = 0; i < n && w.padding == "EXPLICIT"; ++i) {
    w.pad_begin.push_back(pads[2 * i]);
    w.pad_end.push_back(pads[2 * i + 1]);
  }
  return w;
}

// Zeros between the elements of an axis.
Value* spread(MapperContext& c, Value* x, int axis, std::int64_t step, int rank) {
  if (step == 1) return x;
  const auto at = static_cast<std::size_t>(axis);
  Ints pads(2 * static_cast<std::size_t>(rank + 1), 0);
  pads[static_cast<std::size_t>(rank) + 2 + at] = step - 1;
  Value* wide = c.pad(c.unsqueeze(x, {axis + 1}), c.ints(pads), c.scalar_like(x, 0));
  Value* size = c.mul(c.dims(x, axis, axis + 1), c.ints({step}));
  Value* y = c.reshape_to(wide, c.concat({c.dims(x, 0, axis), size, c.dims(x, axis + 1, rank)}, 0));
  return c.slice(y, Ints{0}, Ints{1 - step}, Ints{axis});
}

// x: levels less that of zero, [batch, features, spatial ...]
Value* convolved(MapperContext& c, Value* x, const Layouts& l, Value* kernel_zero) {
  if (c.attr_or<std::int64_t>("batch_group_count", 1) != 1)
    c.fail(Code::unsupported_attr, "groups of the batch are not supported");
  const Ints steps = list_or_ones(c, "lhs_dilation", l.x.spatial.size());
  for (std::size_t i = 0; i < steps.size(); ++i) x = spread(c, x, static_cast<int>(i) + 2, steps[i], l.rank);
  Value* kernel = c.cast(c.transpose(c.in(1), l.kernel.order()), DType::i32);
  const std::int64_t axis = axis_of(c, "rhs_");
  if (axis >= 0 && axis != l.kernel.first) c.fail(Code::bad_model, "scales along another axis than features");
  kernel = c.sub(kernel, along(c, kernel_zero, axis < 0 ? -1 : 0, l.rank));
  const Window w = window_of(c, l);
  Value* padded = pad_for_windows(c, x, w, 2, c.scalar(DType::i32, 0));
  return integer_convolution(c, padded, kernel, w, c.attr_or<std::int64_t>("feature_group_count", 1));
}

Value* in_layout(MapperContext& c, Value* y, const Axes& result) {
  const Ints order = result.order();
  Ints perm(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) nth(perm, order[i]) = static_cast<std::int64_t>(i);
  return c.transpose(y, perm);
}

Value* of_features(MapperContext& c, std::size_t parameter, const char* whose, const Layouts& l) {
  return along(c, c.in(parameter), axis_of(c, whose) < 0 ? -1 : 1, l.rank);
}

Values map_conv(MapperContext& c) {
  const Layouts l = layouts_of(c);
  const std::int64_t out = axis_of(c, "output_");
  if (axis_of(c, "lhs_") >= 0 || (out >= 0 && out != l.result.second))
    c.fail(Code::bad_model, "scales along another axis than that of the features");
  Value* levels = c.cast(c.transpose(c.in(0), l.x.order()), DType::i32);
  Value* y = convolved(c, c.sub(levels, along(c, c.in(3), -1, l.rank)), l, c.in(5));
  const auto wide = [&](Value* v) { return c.cast(v, DType::f64); };
  Value* factor = c.mul(wide(along(c, c.in(2), -1, l.rank)), wide(of_features(c, 4, "rhs_", l)));
  factor = c.div(factor, wide(of_features(c, 6, "output_", l)));
  Value* zero = wide(of_features(c, 7, "output_", l));
  return {in_layout(c, saturated(c, c.add(rescaled(c, y, factor), zero)), l.result)};
}

}  // namespace

Value* convolved_numbers(MapperContext& c, Value* x, Value* kernel) {
  const Layouts l = layouts_of(c);
  auto [padded, attrs, _] = apply_window(c, c.transpose(x, l.x.order()), window_of(c, l), 0);
  if (const auto groups = c.attr_or<std::int64_t>("feature_group_count", 1); groups != 1)
    attrs.push_back({"group", groups});
  return in_layout(c, c.emit("Conv", {padded, c.transpose(kernel, l.kernel.order())}, attrs), l.result);
}

namespace {

// Each image of numbers in levels of its own.
Values map_hybrid_conv(MapperContext& c) {
  const Layouts l = layouts_of(c);
  Value* x = c.transpose(c.in(0), l.x.order());
  Value* flat = c.reshape_to(x, c.concat({c.dims(x, 0, 1), c.ints({-1})}, 0));
  const CenteredRows rows = centered_rows(c, flat);
  Value* y = convolved(c, c.reshape_to(rows.levels, c.shape_of(x)), l, c.in(3));
  Ints each = repeated(1, l.rank);
  each[0] = -1;
  Value* scaled = c.mul(c.cast(y, DType::f32), c.reshape(rows.scale, each));
  return {in_layout(c, c.mul(scaled, of_features(c, 2, "rhs_", l)), l.result)};
}

}  // namespace

void register_uniform_quant_conv(OpRegistry& r) {
  std::vector<std::string> bounds;
  for (const std::string whose : {"lhs_", "rhs_"})
    for (const std::string end : {"min", "max"}) bounds.push_back(whose + "quantization_" + end + "_val");
  const std::string note = "the kernel's size known";
  r.op("UniformQuantizedConvolution")
      .note(note + "; scales that are known only at run time: may differ by one level")
      .ignores(bounds)
      .by(map_conv);
  r.op("UniformQuantizedConvolutionHybrid").note(note).ignores(bounds).by(map_hybrid_conv);
}

}  // namespace t2o::op_mappers
