#include <algorithm>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/segments.h"
#include "op_mappers/window_gather.h"
#include "op_mappers/xla.h"

// XlaReduce and XlaReduceWindow: a computation of two elements, over axes or over windows, from an initial
// value on.
namespace t2o::op_mappers {
namespace {

const char* reduction_of(Combiner how) {  // TensorFlow's
  switch (how) {
    case Combiner::add:
      return "Sum";
    case Combiner::mul:
      return "Prod";
    case Combiner::max:
      return "Max";
    case Combiner::min:
      return "Min";
    case Combiner::logical_and:
      return "All";
    case Combiner::logical_or:
      return "Any";
    case Combiner::second:
      break;
  }
  return nullptr;
}

Combiner reducer(MapperContext& c, const char* attribute) {
  const auto g = c.attr<GraphPtr>(attribute);
  const Combiner how = combiner(c, *g);
  if (how == Combiner::second)
    c.fail(Code::unsupported_attr,
           "computation '" + g->name() + "' returns its last argument, which is not a reduction");
  return how;
}

Value* over_axes(MapperContext& c, Combiner how, Value* x, const Ints& axes) {
  return apply_one(c, reduction_of(how), {x, c.ints(axes)});
}

Value* with_init(MapperContext& c, Combiner how, Value* x, Value* init) {
  return is_neutral(init, how) ? x : combine(c, how, x, init);
}

Ints reduced_axes(MapperContext& c) {
  auto axes = c.attr<Ints>("dimensions_to_reduce");
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  check_axes(c, axes, c.has_rank(0) ? c.rank(0) : kAny, "dimensions_to_reduce");
  return axes;
}

Values map_reduce(MapperContext& c) {
  const Combiner how = reducer(c, "reducer");
  const Ints axes = reduced_axes(c);
  if (axes.empty()) return {c.identity(c.in(0))};
  return {with_init(c, how, over_axes(c, how, c.in(0), axes), c.in(1))};
}

// ---- the highest or the lowest, and where it is

// jax's: the better value, of equal ones that of the lower index; a NaN is better than any number.
enum class Extremum : std::uint8_t { none, highest, lowest };
Extremum extremum(const ir::Graph& g) {
  if (g.inputs().size() != 4 || g.outputs().size() != 2) return Extremum::none;
  const std::string value = formula(g.outputs()[0], g), index = formula(g.outputs()[1], g);
  for (const Extremum e : {Extremum::highest, Extremum::lowest}) {
    const std::string better = e == Extremum::highest ? "Less(a2,a0)" : "Less(a0,a2)";
    const std::string first = "LogicalOr(" + better + ",NotEqual(a0,a0))";
    const std::string of_equals = "LogicalAnd(Equal(a0,a2),Less(a1,a3))";
    if (value == "SelectV2(" + first + ",a0,a2)" &&
        index == "SelectV2(LogicalOr(" + of_equals + "," + first + "),a1,a3)")
      return e;
  }
  return Extremum::none;
}

Value* equal_or_nan(MapperContext& c, Value* x, Value* best) {
  Value* same = c.equal(x, best);
  return is_float(x->dtype()) && c.strict() ? c.logical_or(same, c.is_nan(x)) : same;
}

// Among the places of the best value the lowest; the initial pair is one of the candidates.
Values map_extremum(MapperContext& c, Extremum which) {
  Ints axes = reduced_axes(c);
  std::ranges::sort(axes);
  const Combiner how = which == Extremum::highest ? Combiner::max : Combiner::min;
  Value *x = c.in(0), *index = c.in(1), *init = c.in(2), *init_index = c.in(3);
  if (!is_int(index->dtype()))
    c.fail(Code::unsupported_type, "the second operand of a search for an extremum is not an integer");
  if (axes.empty()) c.fail(Code::unsupported_attr, "a search for an extremum over no axes");
  const bool boolean = x->dtype() == DType::boolean;
  x = boolean ? c.cast(x, DType::i32) : x;
  init = boolean ? c.cast(init, DType::i32) : init;
  Value* found = apply_one(c, reduction_of(how), {x, c.ints(axes)});
  Value* is_best = equal_or_nan(c, x, c.unsqueeze(found, axes));
  Value* none = highest(c, index->dtype());
  Value* places = c.where(is_best, index, none);
  Value* place = apply_one(c, "Min", {places, c.ints(axes)});
  if (is_neutral(init, how)) {  // only among equals
    Value* lower = c.minimum(place, init_index);
    place = c.where(c.equal(found, init), lower, place);
  } else {
    Value* worse = how == Combiner::max ? c.less(found, init) : c.greater(found, init);
    Value* lower = c.minimum(place, init_index);
    Value* of_equals = c.where(c.equal(found, init), lower, place);
    place = c.where(worse, init_index, of_equals);
    found = combine(c, how, found, init);
  }
  return {boolean ? c.cast(found, DType::boolean) : found, place};
}

Values map_variadic_reduce(MapperContext& c) {
  const auto g = c.attr<GraphPtr>("reducer");
  if (c.input_count() == 2) return map_reduce(c);
  const Extremum which = c.input_count() == 4 ? extremum(*g) : Extremum::none;
  if (which == Extremum::none)
    c.fail(Code::unsupported_attr, "computation '" + g->name() + "' of several operands has no ONNX form",
           "reduce one operand, or take jax's argmax or argmin");
  return map_extremum(c, which);
}

// ---- XlaReduceWindow

struct Windows {  // of each axis
  Ints size, stride, base, dilation, begin, end;
  std::size_t rank() const { return size.size(); }
  bool is_plain(std::size_t i) const {
    return size[i] == 1 && stride[i] == 1 && begin[i] == 0 && end[i] == 0;
  }
};

Windows read_windows(MapperContext& c) {
  Windows w;
  const std::size_t rank = c.const_ints(2).size();
  w.size = const_entries(c, 2, rank, 1, "window_dimensions");
  w.stride = const_entries(c, 3, rank, 1, "window_strides");
  w.base = const_entries(c, 4, rank, 1, "base_dilations");
  w.dilation = const_entries(c, 5, rank, 1, "window_dilations");
  const Ints pads = const_entries(c, 6, 2 * rank, std::numeric_limits<std::int32_t>::min(), "padding");
  for (std::size_t i = 0; i < rank; ++i) {
    if (pads[2 * i] < 0 || pads[2 * i + 1] < 0)
      c.fail(Code::unsupported_attr, "a negative padding of windows", "slice the input before");
    w.begin.push_back(pads[2 * i]);
    w.end.push_back(pads[2 * i + 1]);
  }
  if (c.has_rank(0) && static_cast<std::size_t>(c.rank(0)) != rank)
    c.fail(Code::bad_model, "window_dimensions needs one entry for each axis");
  return w;
}

Ints moving_axes(const Windows& w) {
  Ints axes;
  for (std::size_t i = 0; i < w.rank(); ++i)
    if (!w.is_plain(i)) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

// A sum of all that comes before, or of all that comes behind.
Value* running_sum(MapperContext& c, Value* x, const Windows& w, const Ints& axes) {
  if (axes.size() != 1 || !x->shape().ranked()) return nullptr;
  const auto i = static_cast<std::size_t>(axes[0]);
  const bool whole = w.size[i] == x->shape()[static_cast<int>(i)] && w.stride[i] == 1 && w.dilation[i] == 1;
  const bool before = w.begin[i] == w.size[i] - 1 && w.end[i] == 0,
             behind = w.end[i] == w.size[i] - 1 && w.begin[i] == 0;
  if (!whole || (!before && !behind)) return nullptr;
  return c.cumsum(x, c.constant(axes[0]), false, !before);
}

// A pooling: the windows move along all axes but two.
bool is_pooling(const Value* x, const Windows& w, const Ints& axes, Combiner how) {
  if (!is_float(x->dtype()) || (!contains({Combiner::add, Combiner::max, Combiner::min}, how))) return false;
  if (axes.empty() || axes.size() > 3 || axes.size() + 2 != w.rank()) return false;
  return std::ranges::all_of(axes, [&](std::int64_t a) {
    const auto i = static_cast<std::size_t>(a);
    return (w.dilation[i] == 1 || how != Combiner::add) && w.begin[i] < w.size[i] && w.end[i] < w.size[i];
  });
}

Value* pooled(MapperContext& c, Value* x, const Windows& w, const Ints& axes, Combiner how) {
  Ints perm, back(w.rank()), kernel, strides, dilations, begins, ends;
  for (std::size_t i = 0; i < w.rank(); ++i)
    if (w.is_plain(i)) perm.push_back(static_cast<std::int64_t>(i));
  perm = joined(perm, axes);
  for (std::size_t i = 0; i < perm.size(); ++i) nth(back, perm[i]) = static_cast<std::int64_t>(i);
  double elements = 1;
  for (const std::int64_t a : axes) {
    const auto i = static_cast<std::size_t>(a);
    kernel.push_back(w.size[i]);
    strides.push_back(w.stride[i]);
    dilations.push_back(w.dilation[i]);
    begins.push_back(w.begin[i]);
    ends.push_back(w.end[i]);
    elements *= static_cast<double>(w.size[i]);
  }
  Attrs attrs{{"kernel_shape", kernel}, {"strides", strides}};
  if (const Ints pads = joined(begins, ends);
      std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; }))
    attrs.push_back({"pads", pads});
  x = c.transpose(x, perm);
  if (how == Combiner::add) {
    attrs.push_back({"count_include_pad", 1});
    Value* mean = c.transpose(c.emit("AveragePool", {x}, attrs), back);
    return c.mul(mean, c.scalar_like(mean, elements));
  }
  if (std::ranges::any_of(dilations, [](std::int64_t d) { return d != 1; }))
    attrs.push_back({"dilations", dilations});
  if (how == Combiner::min) x = c.neg(x);
  Value* y = c.transpose(c.emit("MaxPool", {x}, attrs), back);
  return how == Combiner::min ? c.neg(y) : y;
}

// What changes nothing: XLA passes over what is padded, and adds the initial value once.
Value* neutral(MapperContext& c, Combiner how, DType type) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (how) {
    case Combiner::max:
      return is_float(type) ? c.scalar(type, -inf) : lowest(c, type);
    case Combiner::min:
      return is_float(type) ? c.scalar(type, inf) : highest(c, type);
    case Combiner::mul:
      return c.scalar(type, 1);
    case Combiner::logical_and:
      return c.constant(true);
    case Combiner::logical_or:
      return c.constant(false);
    default:
      return c.scalar(type, 0);
  }
}

Value* padded(MapperContext& c, Value* x, const Windows& w, Value* init) {
  return c.pad(x, c.ints(joined(w.begin, w.end)), init);
}

constexpr std::int64_t kMostSideBySide = 1 << 16;

// One axis after the other: its windows side by side, then reduced.
Value* gathered(MapperContext& c, Value* x, const Windows& w, const Ints& axes, Combiner how) {
  for (const std::int64_t a : axes) {
    const auto i = static_cast<std::size_t>(a);
    if (w.size[i] > kMostSideBySide)
      c.fail(Code::unsupported_attr,
             "windows of " + std::to_string(w.size[i]) + " elements would take too much memory");
    Window one;
    one.kernel = {w.size[i]};
    one.strides = {w.stride[i]};
    one.dilations = {w.dilation[i]};
    x = over_axes(c, how, gather_windows(c, x, one, 0, static_cast<int>(a)), {a + 1});
  }
  return x;
}

Values map_reduce_window(MapperContext& c) {
  const Combiner how = reducer(c, "computation");
  Windows w = read_windows(c);
  Value *x = c.in(0), *init = c.in(1);
  Value* nothing = is_neutral(init, how) ? init : neutral(c, how, x->dtype());
  for (std::size_t i = 0; i < w.rank(); ++i)
    x = spread_apart(c, x, w.rank(), static_cast<int>(i), w.base[i] - 1, nothing);
  const Ints axes = moving_axes(w);
  if (is_neutral(init, how)) {
    if (axes.empty()) return {x};
    Value* running = how == Combiner::add ? running_sum(c, x, w, axes) : nullptr;
    if (running) return {running};
    if (is_pooling(x, w, axes, how)) return {pooled(c, x, w, axes, how)};
  }
  return {with_init(c, how, gathered(c, padded(c, x, w, nothing), w, axes, how), init)};
}

// ---- XlaSelectAndScatter, the gradient of a pooling

// The first of a window's elements that is the highest, or the lowest, as jax selects.
Combiner selected(MapperContext& c) {
  const auto g = c.attr<GraphPtr>("select");
  const std::string text =
      g->inputs().size() == 2 && g->outputs().size() == 1 ? formula(g->outputs()[0], *g) : "";
  if (text == "LessEqual(a1,a0)") return Combiner::max;
  if (text == "LessEqual(a0,a1)") return Combiner::min;
  c.fail(Code::unsupported_attr, "selection '" + g->name() + "' has no ONNX form",
         "select what is not less, or not greater, than the others");
}

// Channels first: the axes along which no window moves are one.
struct Image {
  Ints perm, back;
  Value* dims;  // of the transposed operand
};
Image image_of(MapperContext& c, Value* x, const Windows& w, const Ints& axes) {
  Image i;
  for (std::size_t a = 0; a < w.rank(); ++a)
    if (w.is_plain(a)) i.perm.push_back(static_cast<std::int64_t>(a));
  i.perm = joined(i.perm, axes);
  i.back.resize(w.rank());
  for (std::size_t a = 0; a < w.rank(); ++a) nth(i.back, i.perm[a]) = static_cast<std::int64_t>(a);
  i.dims = c.shape_of(c.transpose(x, i.perm));
  return i;
}
Value* as_image(MapperContext& c, Value* x, const Image& i, std::size_t spatial) {
  Value* t = c.transpose(x, i.perm);
  const int first = static_cast<int>(i.perm.size() - spatial);
  Value* plain = c.product(c.dims(t, 0, first));
  return c.reshape_to(t,
                      c.concat({c.ints({1}), plain, c.dims(t, first, static_cast<int>(i.perm.size()))}, 0));
}

Windows pooling_windows(MapperContext& c) {
  Windows w;
  const std::size_t rank = c.const_ints(1).size();
  w.size = const_entries(c, 1, rank, 1, "window_dimensions");
  w.stride = const_entries(c, 2, rank, 1, "window_strides");
  const Ints pads = const_entries(c, 3, 2 * rank, 0, "padding");
  for (std::size_t i = 0; i < rank; ++i) w.begin.push_back(pads[2 * i]), w.end.push_back(pads[2 * i + 1]);
  return w;
}

template <By by>
Values map_select_and_scatter(MapperContext& c) {
  const Combiner how = selected(c);
  if (reducer(c, "scatter") != Combiner::add)
    c.fail(Code::unsupported_attr, "a scatter that does not add has no ONNX form");
  const Windows w = pooling_windows(c);
  const Ints axes = moving_axes(w);
  if (axes.empty() || axes.size() > 3)
    c.fail(Code::unsupported_attr,
           "windows along " + std::to_string(axes.size()) + " axes have no ONNX form");
  const Image image = image_of(c, c.in(0), w, axes);
  Ints kernel, strides, begins, ends;
  for (const std::int64_t a : axes) {
    const auto i = static_cast<std::size_t>(a);
    kernel.push_back(w.size[i]), strides.push_back(w.stride[i]), begins.push_back(w.begin[i]),
        ends.push_back(w.end[i]);
  }
  Value* x = as_image(c, c.in(0), image, axes.size());
  if (how == Combiner::min) x = c.neg(x);
  Value* places = c.emit_n(
      "MaxPool", {x}, {{"kernel_shape", kernel}, {"strides", strides}, {"pads", joined(begins, ends)}}, 2)[1];
  Value* source = c.reshape(c.transpose(c.in(4), image.perm), {-1});
  Value* count = c.product(image.dims);
  Value* sums = segment_sum(c, by, source, c.reshape(places, {-1}), count);
  Value* y = c.transpose(c.reshape_to(sums, image.dims), image.back);
  return {with_init(c, Combiner::add, y, c.in(5))};
}

}  // namespace

void register_xla_reduce(OpRegistry& r) {
  const std::string known = "sums, products, maxima, minima, logical and and or";
  const std::string nan =
      "; a maximum or minimum of floats that has a NaN is NaN, which TensorFlow leaves open on CPUs";
  r.op("XlaReduce").note(known + nan).by(map_reduce);
  r.op("XlaVariadicReduce")
      .ignores({"N"})
      .note("one operand: " + known + "; two: jax's argmax and argmin")
      .by(map_variadic_reduce);
  r.op("XlaVariadicReduceV2")
      .note("one operand: " + known + "; two: jax's argmax and argmin")
      .by(map_variadic_reduce);
  r.op("XlaReduceWindow")
      .note(
          known +
          "; a maximum or minimum of floats over pooling windows may pass over NaN, as in TensorFlow on CPUs")
      .by(map_reduce_window);
  const std::string pooling = "the gradient of a pooling by maxima or minima";
  r.op("XlaSelectAndScatter")
      .note(pooling + "; below opset 16 memory of elements times windows")
      .by(map_select_and_scatter<By::compare>);
  r.op("XlaSelectAndScatter").since(16).note(pooling).by(map_select_and_scatter<By::scatter>);
}

}  // namespace t2o::op_mappers
