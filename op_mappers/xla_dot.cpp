#include <algorithm>
#include <limits>
#include <numeric>

#include "op_mappers/all.h"
#include "op_mappers/einsum.h"
#include "op_mappers/window_gather.h"
#include "op_mappers/xla.h"

// XlaDot and XlaConv: products whose axes stand in any order, as the dimension numbers say.
namespace t2o::op_mappers {
namespace {

DType result_type(MapperContext& c) {
  return c.output_dtype() == DType::undefined ? c.in(0)->dtype() : c.output_dtype();
}

// One type that holds the numbers of both operands and of the result, which is rounded once.
DType work_type(MapperContext& c) {
  DType work = result_type(c);
  for (const Value* v : {c.in(0), c.in(1)}) {
    if (is_float(v->dtype()) != is_float(work))
      c.fail(Code::unsupported_type, "a product of " + std::string(name(v->dtype())) + " as " +
                                         std::string(name(work)) + " has no ONNX form");
    if (bit_width(v->dtype()) > bit_width(work)) work = v->dtype();
  }
  if (is_unsigned_int(work)) {  // which a signed one would not fit in
    for (const Value* v : {c.in(0), c.in(1)})
      if (!is_unsigned_int(v->dtype()))
        c.fail(Code::unsupported_type, "a product of numbers with and without a sign as " +
                                           std::string(name(work)) + " has no ONNX form");
  }
  return work;
}

// ---- XlaDot

struct DotLetters {
  std::string lhs, rhs, out;
};

std::string letters(std::int64_t rank, char first) {
  std::string s(static_cast<std::size_t>(rank), first);
  std::iota(s.begin(), s.end(), first);
  return s;
}

DotLetters dot_letters(MapperContext& c) {
  const XlaMessage numbers(c, "dimension_numbers", {1, 2, 3, 4});
  const Ints &sum_l = numbers.list(1), &sum_r = numbers.list(2), &batch_l = numbers.list(3),
             &batch_r = numbers.list(4);
  const int rank_l = c.rank(0), rank_r = c.rank(1);
  const Ints paired_l = joined(sum_l, batch_l), paired_r = joined(sum_r, batch_r);
  check_axes(c, paired_l, rank_l, "dimension_numbers");
  check_axes(c, paired_r, rank_r, "dimension_numbers");
  if (sum_l.size() != sum_r.size() || batch_l.size() != batch_r.size())
    c.fail(Code::bad_model, "dimension_numbers pairs axes with none");
  if (rank_l > 26 || rank_r > 26) c.fail(Code::unsupported_attr, "tensors of more than 26 axes");
  DotLetters d{letters(rank_l, 'a'), letters(rank_r, 'A'), ""};
  for (std::size_t i = 0; i < paired_l.size(); ++i) nth(d.rhs, paired_r[i]) = nth(d.lhs, paired_l[i]);
  for (const std::int64_t a : batch_l) d.out += nth(d.lhs, a);
  for (int a = 0; a < rank_l; ++a)
    if (!has_axis(paired_l, a)) d.out += nth(d.lhs, a);
  for (int a = 0; a < rank_r; ++a)
    if (!has_axis(paired_r, a)) d.out += nth(d.rhs, a);
  return d;
}

enum class DotForm : std::uint8_t { matmul, einsum };

template <DotForm form>
Values map_dot(MapperContext& c) {
  const DotLetters d = dot_letters(c);
  const DType work = work_type(c);
  Value* a = c.cast(c.in(0), work);
  Value* b = c.cast(c.in(1), work);
  Value* y = form == DotForm::einsum
                 ? c.emit("Einsum", {a, b}, {{"equation", d.lhs + "," + d.rhs + "->" + d.out}})
                 : product_by_matmul(c, a, d.lhs, b, d.rhs, d.out);
  return {c.cast(y, result_type(c))};
}

// ---- XlaConv

struct Conv {
  Ints strides, begin, end, stretch, dilations;  // of each spatial axis; stretch: of the input
  std::int64_t group = 1, batch_groups = 1;
  Ints input, kernel, output;  // where N C spatial, O I spatial, N C spatial are
  std::size_t spatial() const { return strides.size(); }
  Ints axes() const { return ints_from(2, 2 + std::ssize(strides)); }  // of the channels-first tensors
};

Ints placed(MapperContext& c, const XlaMessage& m, std::uint32_t first, std::uint32_t second,
            std::uint32_t rest, std::size_t spatial) {
  const Ints p = joined({m.number(first), m.number(second)}, m.list(rest));
  if (p.size() != spatial + 2)
    c.fail(Code::bad_model, "dimension_numbers has other spatial axes than window_strides");
  check_axes(c, p, static_cast<std::int64_t>(p.size()), "dimension_numbers");
  return p;
}

Conv read_conv(MapperContext& c) {
  const XlaMessage m(c, "dimension_numbers", {3, 4, 6, 7, 8, 9, 10, 11, 12});
  Conv v;
  v.strides = c.const_ints(2);
  const std::size_t n = v.spatial();
  if (n < 1 || n > 3)
    c.fail(Code::unsupported_attr, "a convolution over " + std::to_string(n) + " axes has no ONNX form");
  v.strides = const_entries(c, 2, n, 1, "window_strides");
  const Ints pads = const_entries(c, 3, 2 * n, std::numeric_limits<std::int32_t>::min(), "padding");
  for (std::size_t i = 0; i < n; ++i) v.begin.push_back(pads[2 * i]), v.end.push_back(pads[2 * i + 1]);
  v.stretch = const_entries(c, 4, n, 1, "lhs_dilation");
  v.dilations = const_entries(c, 5, n, 1, "rhs_dilation");
  v.group = const_entries(c, 6, 1, 1, "feature_group_count")[0];
  v.input = placed(c, m, 7, 8, 11, n);
  v.kernel = placed(c, m, 4, 3, 6, n);
  v.output = placed(c, m, 9, 10, 12, n);
  v.batch_groups = c.attr_or<std::int64_t>("batch_group_count", 1);
  if (v.batch_groups < 1 || (v.batch_groups > 1 && v.group != 1))
    c.fail(Code::bad_model, "batch_group_count beside feature_group_count");
  return v;
}

std::int64_t extent(const Conv& v, Dim kernel, std::size_t i) { return (kernel - 1) * v.dilations[i] + 1; }

// A negative padding takes away.
Value* cropped(MapperContext& c, Value* x, Conv& v) {
  Ints starts, ends;
  bool crops = false;
  for (std::size_t i = 0; i < v.spatial(); ++i) {
    crops = crops || v.begin[i] < 0 || v.end[i] < 0;
    starts.push_back(std::max<std::int64_t>(-v.begin[i], 0));
    ends.push_back(v.end[i] < 0 ? v.end[i] : std::numeric_limits<std::int64_t>::max());
  }
  if (!crops) return x;
  for (std::size_t i = 0; i < v.spatial(); ++i) {
    v.begin[i] = std::max<std::int64_t>(v.begin[i], 0);
    v.end[i] = std::max<std::int64_t>(v.end[i], 0);
  }
  return c.slice(x, starts, ends, v.axes());
}

// Whether ConvTranspose does it, with its own pads = extent - 1 - padding; what is padded more is added to
// the end of the result.
struct Transposed {
  Ints begin, end, more;
};
std::optional<Transposed> as_transposed(const Conv& v, const Value* kernel) {
  Transposed t;
  if (!kernel->shape().ranked()) return std::nullopt;
  for (std::size_t i = 0; i < v.spatial(); ++i) {
    const Dim k = kernel->shape()[static_cast<int>(i) + 2];
    if (!is_known(k) || k < 1 || v.strides[i] != 1) return std::nullopt;
    const std::int64_t begin = extent(v, k, i) - 1 - v.begin[i], end = extent(v, k, i) - 1 - v.end[i];
    if (begin < 0 || v.begin[i] < 0 || v.end[i] < 0 || -end >= v.stretch[i]) return std::nullopt;
    t.begin.push_back(begin);
    t.end.push_back(std::max<std::int64_t>(end, 0));
    t.more.push_back(std::max<std::int64_t>(-end, 0));
  }
  if (v.group != 1 && (!is_known(kernel->shape()[0]) || !is_known(kernel->shape()[1]))) return std::nullopt;
  return t;
}

// [O, I, spatial] -> [inputs, outputs / group, spatial], reversed along the spatial axes
Value* turned_kernel(MapperContext& c, Value* k, const Conv& v) {
  Ints last(v.spatial(), -1), past(v.spatial(), std::numeric_limits<std::int64_t>::min());
  k = c.slice(k, last, past, v.axes(), last);
  Ints perm{1, 0};
  if (v.group != 1) {
    const std::int64_t out = k->shape()[0], in = k->shape()[1];
    Ints apart{v.group, out / v.group, in}, together{v.group * in, out / v.group};
    for (int i = 0; i < static_cast<int>(v.spatial()); ++i)
      apart.push_back(k->shape()[i + 2]), together.push_back(k->shape()[i + 2]);
    perm = {0, 2, 1};
    for (std::size_t i = 0; i < v.spatial(); ++i) perm.push_back(static_cast<std::int64_t>(i) + 3);
    return c.reshape(c.transpose(c.reshape(k, apart), perm), together);
  }
  for (std::size_t i = 0; i < v.spatial(); ++i) perm.push_back(static_cast<std::int64_t>(i) + 2);
  return c.transpose(k, perm);
}

bool is_all(const Ints& v, std::int64_t x) {
  return std::ranges::all_of(v, [x](std::int64_t e) { return e == x; });
}

Value* convolved_integers(MapperContext& c, Value* x, Value* kernel, const Conv& v) {
  Window w;
  w.strides = v.strides;
  w.dilations = v.dilations;
  for (int i = 0; i < static_cast<int>(v.spatial()); ++i)
    w.kernel.push_back(kernel->shape().ranked() ? kernel->shape()[i + 2] : kUnknownDim);
  if (!std::ranges::all_of(w.kernel, is_known))
    c.fail(Code::not_constant, "the size of a kernel of integers is not known", "give it a static shape");
  const Ints none{0, 0};
  Value* padded = c.pad(x, c.ints(joined(joined(none, v.begin), joined(none, v.end))), c.scalar_like(x, 0));
  return integer_convolution(c, padded, kernel, w, v.group);
}

// x: [N, C, spatial], kernel: [O, C / group, spatial]
Value* convolved(MapperContext& c, Value* x, Value* kernel, Conv v) {
  const bool stretched = !is_all(v.stretch, 1);
  const auto t = stretched && is_float(x->dtype()) ? as_transposed(v, kernel) : std::nullopt;
  for (std::size_t i = 0; i < v.spatial() && stretched && !t; ++i) {
    Value* zero = c.scalar_like(x, 0);
    x = spread_apart(c, x, v.spatial() + 2, static_cast<int>(i) + 2, v.stretch[i] - 1, zero);
  }
  Attrs attrs;
  Ints sizes;
  for (std::size_t i = 0; i < v.spatial() && kernel->shape().ranked(); ++i)
    sizes.push_back(kernel->shape()[static_cast<int>(i) + 2]);
  if (!sizes.empty() && std::ranges::all_of(sizes, is_known)) attrs.push_back({"kernel_shape", sizes});
  attrs.push_back({"strides", t ? v.stretch : v.strides});
  if (!is_all(v.dilations, 1)) attrs.push_back({"dilations", v.dilations});
  if (v.group != 1) attrs.push_back({"group", v.group});
  if (t) {
    attrs.push_back({"pads", joined(t->begin, t->end)});
    if (!is_all(t->more, 0)) attrs.push_back({"output_padding", t->more});
    Value* turned = turned_kernel(c, kernel, v);
    return c.emit("ConvTranspose", {x, turned}, attrs);
  }
  x = cropped(c, x, v);
  if (is_int(x->dtype())) return convolved_integers(c, x, kernel, v);
  if (!is_all(v.begin, 0) || !is_all(v.end, 0)) attrs.push_back({"pads", joined(v.begin, v.end)});
  return c.emit("Conv", {x, kernel}, attrs);
}

// Where they are known: as many channels as the groups of the kernel have, filters for each group.
void check_channels(MapperContext& c, const Conv& v, const Value* x, const Value* kernel) {
  if (!x->shape().ranked() || !kernel->shape().ranked()) return;
  const Dim channels = x->shape()[1], filters = kernel->shape()[0], own = kernel->shape()[1];
  if ((is_known(channels) && is_known(own) && channels != own * v.group) ||
      (is_known(filters) && filters % v.group != 0))
    c.fail(Code::bad_model, "its channels, its kernel and feature_group_count do not fit");
}

// Each group of the batch has filters of its own: as groups of channels, [N, C, ...] -> [N / groups, groups *
// C, ...].
Value* batch_in_channels(MapperContext& c, Value* x, const Conv& v) {
  Value* rest = c.dims(x, 1, static_cast<int>(v.spatial()) + 2);
  Value* batch = c.div(c.dims(x, 0, 1), c.ints({v.batch_groups}));
  Value* apart = c.reshape_to(x, c.concat({c.ints({v.batch_groups}), batch, rest}, 0));
  Ints perm{1, 0, 2};
  for (std::size_t i = 0; i < v.spatial(); ++i) perm.push_back(static_cast<std::int64_t>(i) + 3);
  Value* channels = c.mul(c.dims(x, 1, 2), c.ints({v.batch_groups}));
  Value* spatial = c.dims(x, 2, static_cast<int>(v.spatial()) + 2);
  return c.reshape_to(c.transpose(apart, perm), c.concat({batch, channels, spatial}, 0));
}

Values map_conv(MapperContext& c) {
  Conv v = read_conv(c);
  const DType work = work_type(c);
  if (!is_float(work) && !is_int(work))
    c.fail(Code::unsupported_type, "a convolution of " + std::string(name(work)) + " has no ONNX form",
           "cast its operands to float32");
  Value* x = c.transpose(c.cast(c.in(0), work), v.input);
  Value* kernel = c.transpose(c.cast(c.in(1), work), v.kernel);
  if (v.batch_groups > 1) {
    x = batch_in_channels(c, x, v);
    v.group = v.batch_groups;
  }
  check_channels(c, v, x, kernel);
  Ints back(v.output.size());
  for (std::size_t i = 0; i < back.size(); ++i) nth(back, v.output[i]) = static_cast<std::int64_t>(i);
  return {c.cast(c.transpose(convolved(c, x, kernel, v), back), result_type(c))};
}

}  // namespace

void register_xla_dot(OpRegistry& r) {
  const std::string note = "ranks known";
  r.op("XlaDot", "XlaDotV2").ignores({"precision_config"}).note(note).by(map_dot<DotForm::matmul>);
  r.op("XlaDot", "XlaDotV2").since(12).ignores({"precision_config"}).note(note).by(map_dot<DotForm::einsum>);
  r.op("XlaConv", "XlaConvV2")
      .ignores({"precision_config"})
      .note("one to three spatial axes; the window known")
      .by(map_conv);
}

}  // namespace t2o::op_mappers
