#include "op_mappers/pool_grad.h"

#include <limits>

#include "op_mappers/segments.h"
#include "op_mappers/window_gather.h"

// The gradients of poolings with respect to their input, which saliency maps and jax's models hold.
namespace t2o::op_mappers {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

Ints spatial_axes(const Window& w) {
  Ints axes;
  for (std::size_t i = 0; i < w.spatial(); ++i) axes.push_back(static_cast<std::int64_t>(i) + 2);
  return axes;
}

// Each window's gradient goes to the first of its elements that is the highest.
Value* to_maxima(MapperContext& c, By by, Value* x, Value* gradient, const Window& w) {
  const Windowed windowed = apply_window(c, x, w, kLowest);
  Value* places = c.emit_n("MaxPool", {windowed.x}, windowed.attrs, 2)[1];
  Value* dims = c.shape_of(windowed.x);
  Value* rows = c.reshape(gradient, {-1});
  Value* flat = segment_sum(c, by, rows, c.reshape(places, {-1}), c.product(dims));
  Value* y = c.reshape_to(flat, dims);
  if (!windowed.padded) return y;
  const int n = static_cast<int>(w.spatial());
  Value* begin = c.slice(runtime_same_pads(c, x, w), {0}, {n}, {0});
  return c.slice(y, begin, c.add(begin, c.dims(x, 2, 2 + n)), c.ints(spatial_axes(w)));
}

// What each window's highest element has in `values`.
Value* at_maxima(MapperContext& c, Value* x, Value* values, const Window& w) {
  const Windowed windowed = apply_window(c, x, w, kLowest);
  Value* places = c.emit_n("MaxPool", {windowed.x}, windowed.attrs, 2)[1];
  Value* source = windowed.padded ? pad_for_windows(c, values, w, 2, c.scalar_like(values, 0)) : values;
  return c.gather(c.reshape(source, {-1}), places, 0);
}

Window checked_window(MapperContext& c, const Ints& ksize, const Ints& strides) {
  if (ksize.size() != strides.size() || ksize.size() < 4 || ksize.size() > 5)
    c.fail(Code::bad_model, "ksize and strides need 4 or 5 entries");
  return pool_window(c, c.layout(), ksize, strides);
}
Window window_of_attrs(MapperContext& c) {
  return checked_window(c, c.attr<Ints>("ksize"), c.attr<Ints>("strides"));
}
Window window_of_inputs(MapperContext& c) { return checked_window(c, c.const_ints(3), c.const_ints(4)); }

template <Window (*window_of)(MapperContext&)>
Values map_max_pool_grad_grad(MapperContext& c) {
  const Window w = window_of(c);
  Value* x = to_channels_first(c, c.in(0), w.layout, w.spatial());
  Value* values = to_channels_first(c, c.in(2), w.layout, w.spatial());
  return {from_channels_first(c, at_maxima(c, x, values, w), w.layout, w.spatial())};
}
template <By by, Window (*window_of)(MapperContext&)>
Values map_max_pool_grad(MapperContext& c) {
  const Window w = window_of(c);
  Value* x = to_channels_first(c, c.in(0), w.layout, w.spatial());
  Value* gradient = to_channels_first(c, c.in(2), w.layout, w.spatial());
  return {from_channels_first(c, to_maxima(c, by, x, gradient, w), w.layout, w.spatial())};
}

// The places are those of MaxPoolWithArgmax: in one image, or in all of them.
Value* places_in_all(MapperContext& c) {
  Value* places = c.cast(c.in(2), DType::i64);
  if (c.flag("include_batch_in_index")) return places;
  Value* image = c.product(c.dims(c.in(0), 1, 4));
  Value* batch = iota(c, c.dim(c.in(0), 0));
  return c.add(places, c.reshape(c.mul(batch, image), {-1, 1, 1, 1}));
}
Values map_max_pool_grad_grad_with_argmax(MapperContext& c) {
  return {c.gather(c.reshape(c.in(1), {-1}), places_in_all(c), 0)};
}
template <By by>
Values map_max_pool_grad_with_argmax(MapperContext& c) {
  Value* dims = c.shape_of(c.in(0));
  Value* places = places_in_all(c);
  Value* rows = c.reshape(c.in(1), {-1});
  Value* flat = segment_sum(c, by, rows, c.reshape(places, {-1}), c.product(dims));
  return {c.reshape_to(flat, dims)};
}

// [windows, size]: 1 / (elements of the window) where it has the element
Value* shares(MapperContext& c, const Window& w, std::size_t i, Value* size, Value* windows, DType type) {
  const auto number = [&](std::int64_t v) { return c.constant(v); };
  Value* start = c.mul(iota(c, windows), number(w.strides[i]));
  if (w.padding == "SAME") {
    Value* reach = c.add(c.mul(windows, number(w.strides[i])), number(w.extent(i) - w.strides[i]));
    Value* total = c.maximum(c.sub(reach, size), number(0));
    start = c.sub(start, c.div(total, number(2)));
  } else if (w.padding == "EXPLICIT") {
    start = c.sub(start, number(w.pad_begin[i]));
  }
  start = c.unsqueeze(start, {1});
  Value* place = iota(c, size);
  Value* is_behind = c.greater_equal(place, start);
  Value* inside = c.logical_and(is_behind, c.less(place, c.add(start, number(w.extent(i)))));
  Value* ones = c.cast(inside, type);
  return c.div(ones, c.reduce("ReduceSum", ones, Ints{1}, true));
}

Values map_avg_pool_grad(MapperContext& c) {
  const Window w = window_of_attrs(c);
  const DType type = c.in(1)->dtype(), work = is_half(type) ? DType::f32 : type;
  Value* gradient = to_channels_first(c, c.cast(c.in(1), work), w.layout, w.spatial());
  const std::int64_t first = w.layout == Layout::channels_last ? 1 : 2;
  Value* sizes = c.cast(c.in(0), DType::i64);
  std::vector<Weights> matrices;
  for (std::size_t i = 0; i < w.spatial(); ++i) {
    Value* size = c.gather(sizes, c.constant(first + static_cast<std::int64_t>(i)), 0);
    matrices.push_back({shares(c, w, i, size, c.dim(gradient, static_cast<int>(i) + 2), work)});
  }
  Value* y = spatial_products(c, gradient, matrices);
  return {c.cast(from_channels_first(c, y, w.layout, w.spatial()), type)};
}

}  // namespace

// As often turned as there are axes, so that each is the last one once.
Value* spatial_products(Emitter& e, Value* y, const std::vector<Weights>& matrices) {
  const auto last = static_cast<std::int64_t>(matrices.size()) + 1;
  Ints perm{0, 1};
  for (std::int64_t i = 3; i <= last; ++i) perm.push_back(i);
  perm.push_back(2);
  for (const Weights& matrix : matrices) {
    y = weighted_sums(e, e.transpose(y, perm), matrix,
                      [&](Value* turned, Value* m) { return e.matmul(turned, m); });
  }
  return y;
}

void register_pool_gradients(OpRegistry& r) {
  const std::string memory = "below opset 16 memory of elements times windows";
  const auto rows = [&](const std::vector<std::string>& ops, const Mapper& low, const Mapper& high,
                        const std::vector<std::string>& ignored = {}) {
    r.ops(ops).note(memory).ignores(ignored).by(low);
    r.ops(ops).since(16).ignores(ignored).by(high);
  };
  rows({"MaxPoolGrad", "MaxPool3DGrad"}, map_max_pool_grad<By::compare, window_of_attrs>,
       map_max_pool_grad<By::scatter, window_of_attrs>, {"TInput"});
  rows({"MaxPoolGradV2"}, map_max_pool_grad<By::compare, window_of_inputs>,
       map_max_pool_grad<By::scatter, window_of_inputs>);
  rows({"MaxPoolGradWithArgmax"}, map_max_pool_grad_with_argmax<By::compare>,
       map_max_pool_grad_with_argmax<By::scatter>, {"ksize", "strides", "padding", "Targmax"});
  r.op("MaxPoolGradGrad", "MaxPool3DGradGrad").by(map_max_pool_grad_grad<window_of_attrs>);
  r.op("MaxPoolGradGradV2").by(map_max_pool_grad_grad<window_of_inputs>);
  r.op("MaxPoolGradGradWithArgmax")
      .ignores({"ksize", "strides", "padding", "Targmax"})
      .by(map_max_pool_grad_grad_with_argmax);
  r.op("AvgPoolGrad").by(map_avg_pool_grad);
  r.op("AvgPool3DGrad").by(map_avg_pool_grad);
}

}  // namespace t2o::op_mappers
