#include <algorithm>
#include <cstring>

#include "tflite/custom.h"
#include "tflite/lowering_scope.h"

// MediaPipe's custom operators.
namespace t2o::tflite {
namespace {

// The options of its pools and convolutions are the runtime's structure: numbers of 32 bits.
struct Window {
  explicit Window(const Op& op) {
    const auto bytes = items(op.raw().custom_options());
    if (bytes.size() < sizeof numbers) op.fail(Code::bad_model, "its options are too short");
    std::memcpy(numbers, bytes.data(), sizeof numbers);
    if (stride_w() < 1 || stride_h() < 1) op.fail(Code::bad_model, "its strides are not positive");
  }
  bool is_same() const { return numbers[0] == 1; }
  std::int64_t stride_w() const { return numbers[1]; }
  std::int64_t stride_h() const { return numbers[2]; }
  Ints strides() const { return {1, stride_h(), stride_w(), 1}; }
  std::string padding() const { return is_same() ? "SAME" : "VALID"; }
  std::int32_t numbers[3];
};

struct Pool : Window {
  explicit Pool(const Op& op) : Window(op) {
    const auto bytes = items(op.raw().custom_options());
    if (bytes.size() < 24) op.fail(Code::bad_model, "its options are too short");
    std::memcpy(size, bytes.data() + 12, 8);
    std::memcpy(&activation, bytes.data() + 20, 4);
    if (size[0] < 1 || size[1] < 1) op.fail(Code::bad_model, "its windows have no size");
  }
  std::int64_t width() const { return size[0]; }
  std::int64_t height() const { return size[1]; }
  std::int32_t size[2], activation;
};

// Elements in front of the first window.
std::int64_t pad_before(std::int64_t stride, std::int64_t in, std::int64_t window, std::int64_t out) {
  return std::max<std::int64_t>(0, (out - 1) * stride + window - in) / 2;
}

constexpr std::int64_t kMostPlaces = std::int64_t{1} << 24;

Ints known_dims(const Op& op, const schema::Tensor& t, std::size_t rank) {
  const Shape s = op.shape(t);
  if (!s.is_static()) op.fail(Code::not_yet, "the sizes of its tensors are not known");
  if (static_cast<std::size_t>(s.rank()) != rank)
    op.fail(Code::bad_model, "a tensor has " + std::to_string(s.rank()) + " axes");
  std::int64_t places = 1;  // each becomes a number in a constant
  for (const Dim d : s.dims())
    if (d < 0 || (places *= std::max<Dim>(d, 1)) > kMostPlaces)
      op.fail(Code::unsupported_attr, "its tensors are too large");
  return s.dims();
}

Value* grid(Op& op, std::int64_t n, std::int64_t step, std::int64_t from, const Ints& dims) {
  std::vector<std::int32_t> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(static_cast<std::int32_t>(i * step + from));
  return op.constant(t2o::Tensor::of<std::int32_t>(dims, all));
}

Value* to_int(Op& op, Value* v) { return op.make("Cast", {v}, {{"DstT", DType::i32}}); }
Value* number(Op& op, std::int64_t n) { return op.scalar(DType::i32, static_cast<double>(n)); }

// numbers as rows [n, 2] or [n, 3]
Value* rows(Op& op, Value* x, std::int64_t columns) { return op.reshape(x, {-1, columns}); }
Value* part(Op& op, Value* x, const Ints& from, const Ints& size) {
  return op.make("Slice", {x, op.ints(from), op.ints(size)});
}

}  // namespace

// The highest value of each window, and its place in the window: y * width + x + 0.1.
Values max_pooling_with_argmax(Op& op) {
  const Pool p(op);
  if (p.activation != 0) op.fail(Code::unsupported_attr, "a fused activation is not supported");
  const Ints in = known_dims(op, op.input(0), 4), out = known_dims(op, op.output(), 4);
  const Values found = op.make_all("MaxPoolWithArgmax", {op.in(0)},
                                   {{"ksize", Ints{1, p.height(), p.width(), 1}},
                                    {"strides", p.strides()},
                                    {"padding", p.padding()},
                                    {"Targmax", DType::i32}});
  Value* place = op.make("FloorDiv", {found[1], number(op, in[3])});  // y * width + x in the image
  Value* y = op.make("FloorDiv", {place, number(op, in[2])});
  Value* x = op.make("FloorMod", {place, number(op, in[2])});
  Value* top =
      grid(op, out[1], p.stride_h(), -pad_before(p.stride_h(), in[1], p.height(), out[1]), {out[1], 1, 1});
  Value* left =
      grid(op, out[2], p.stride_w(), -pad_before(p.stride_w(), in[2], p.width(), out[2]), {out[2], 1});
  Value* line = op.make("Mul", {op.make("Sub", {y, top}), number(op, p.width())});
  Value* at = op.make("AddV2", {line, op.make("Sub", {x, left})});
  Value* as_float = op.make("Cast", {at}, {{"DstT", DType::f32}});
  return {found[0], op.make("AddV2", {as_float, op.scalar(DType::f32, static_cast<double>(0.1F))})};
}

// Each value goes to its place in its window; zeros elsewhere.
Values max_unpooling(Op& op) {
  const Pool p(op);
  const Ints in = known_dims(op, op.input(0), 4);
  if (p.stride_h() < p.height() || p.stride_w() < p.width())
    op.fail(Code::unsupported_attr, "windows that overlap are not supported");
  const std::int64_t h = in[1] * p.height(), w = in[2] * p.width();
  Value* place = to_int(op, op.in(1));
  Value* y = op.make("FloorDiv", {place, number(op, p.width())});
  Value* x = op.make("FloorMod", {place, number(op, p.width())});
  Value* top = grid(op, in[1], p.stride_h(), -pad_before(p.stride_h(), h, p.height(), in[1]), {in[1], 1, 1});
  Value* left = grid(op, in[2], p.stride_w(), -pad_before(p.stride_w(), w, p.width(), in[2]), {in[2], 1});
  Value* batch = grid(op, in[0], h, 0, {in[0], 1, 1, 1});
  Value* line = op.make("AddV2", {op.make("AddV2", {y, top}), batch});
  Value* pixel = op.make("AddV2", {op.make("Mul", {line, number(op, w)}), op.make("AddV2", {x, left})});
  Value* at = op.make("AddV2", {op.make("Mul", {pixel, number(op, in[3])}), grid(op, in[3], 1, 0, {in[3]})});
  Value* flat = op.make(
      "ScatterNd", {op.reshape(at, {-1, 1}), op.reshape(op.in(0), {-1}), op.ints({in[0] * h * w * in[3]})});
  return {op.reshape(flat, {in[0], h, w, in[3]})};
}

// x, filter [out, h, w, in], bias
Values transpose_conv_with_bias(Op& op) {
  const Window w(op);
  const Ints out = known_dims(op, op.output(), 4);
  Value* filter = op.transpose(op.weights(1), {1, 2, 0, 3});
  Value* y = op.make("Conv2DBackpropInput", {op.ints(out), filter, op.in(0)},
                     {{"strides", w.strides()}, {"padding", w.padding()}});
  return {op.has(2) ? op.make("BiasAdd", {y, op.weights(2)}) : y};
}

// Points of 2 or 3 coordinates; the matrix [4, 4] moves the first two.
Values transform_landmarks(Op& op) {
  const auto* dims = op.input(0).shape();
  if (count(dims) != 3 && count(dims) != 4)
    op.fail(Code::bad_model, "its points have " + std::to_string(count(dims)) + " axes");
  std::int64_t coordinates = items(dims).back();
  double scale = 1;
  if (count(dims) == 4) {  // of version 1
    const CustomOptions o(op);
    coordinates = o.number("dimensions");
    scale = o.real("scale");
  }
  if (coordinates != 2 && coordinates != 3)
    op.fail(Code::bad_model, "its points have " + std::to_string(coordinates) + " coordinates");
  Value* points = rows(op, op.in(0), coordinates);
  Value* matrix = op.reshape(op.in(1), {4, 4});
  Value* moved = op.make("MatMul", {part(op, points, {0, 0}, {-1, 2}), part(op, matrix, {0, 0}, {2, 2})},
                         {{"transpose_b", std::int64_t{1}}});
  Value* shift = op.reshape(part(op, matrix, {0, 3}, {2, 1}), {1, 2});
  if (scale != 1) shift = op.make("Mul", {shift, op.scalar_like(shift, scale)});
  Value* all = op.make("AddV2", {moved, shift});
  if (coordinates == 3) all = op.make("ConcatV2", {all, part(op, points, {0, 2}, {-1, 1}), number(op, 1)});
  return {op.make("Reshape", {all, op.make("Shape", {op.in(0)})})};
}

// The matrix that takes pixels of a crop to the image: the crop holds the points of a subset, turned so that
// the line from one point to another has a given direction.
Values landmarks_to_transform_matrix(Op& op) {
  if (op.rank(0) != 3) op.fail(Code::not_yet, "version 1 of this operator is not supported");
  const CustomOptions o(op);
  const Ints subset = o.list("subset_idxs");
  if (subset.empty()) op.fail(Code::bad_model, "its subset is empty");
  const double width = static_cast<double>(o.number("output_width")),
               height = static_cast<double>(o.number("output_height"));
  if (width <= 0 || height <= 0) op.fail(Code::bad_model, "its crop has no size");
  Value* points = part(op, rows(op, op.in(0), 3), {0, 0}, {-1, 2});
  Value* axis = number(op, 0);
  const auto pick = [&](const char* key) {
    return op.make("GatherV2", {points, op.ints({o.number(key)}), axis});
  };
  const auto columns = [&](Value* v) {
    return op.make_all("Split", {number(op, 1), v}, {{"num_split", std::int64_t{2}}});
  };
  Value* left = pick("left_rotation_idx");
  const Values line = columns(op.make("Sub", {pick("right_rotation_idx"), left}));  // [1, 1] each
  Value* angle = op.make("Atan2", {line[1], line[0]});
  Value* turn = op.make("Sub", {op.scalar_like(angle, o.real("target_rotation_radians")), angle});
  Value *c = op.make("Cos", {turn}), *s = op.make("Sin", {turn});
  const auto matrix = [&](Value* a, Value* b, Value* d, Value* e) {
    Value* first = op.make("ConcatV2", {a, b, number(op, 1)});
    Value* second = op.make("ConcatV2", {d, e, number(op, 1)});
    return op.make("ConcatV2", {first, second, number(op, 0)});
  };
  Value* back = matrix(c, s, op.make("Neg", {s}), c);  // the inverse of the turn
  Value* turned = op.make("MatMul", {op.make("GatherV2", {points, op.ints(subset), axis}), back});
  const Attrs keep{{"keep_dims", std::int64_t{1}}};
  Value* highest = op.make("Max", {turned, op.ints({0})}, keep);
  Value* lowest = op.make("Min", {turned, op.ints({0})}, keep);
  Value* sum = op.make("AddV2", {highest, lowest});
  Value* middle = op.make("Mul", {sum, op.scalar_like(sum, 0.5)});
  const Attrs transposed{{"transpose_b", std::int64_t{1}}};
  Value* center = op.make("MatMul", {middle, back}, transposed);  // [1, 2]
  const auto pair = [&](double a, double b) {
    return op.constant(t2o::Tensor::of<float>({1, 2}, Floats{static_cast<float>(a), static_cast<float>(b)}));
  };
  Value* size = op.make("Mul", {op.make("Sub", {highest, lowest}),
                                pair(o.real("scale_x") / width, o.real("scale_y") / height)});
  Value* scaled = op.make("Mul", {back, size});
  Value* corner = op.make("MatMul", {pair(-width / 2, -height / 2), scaled}, transposed);
  Value* shift = op.reshape(op.make("AddV2", {center, corner}), {2, 1});
  Value* none = op.constant(t2o::Tensor::of<float>({2, 1}, Floats{0, 0}));
  Value* upper = op.make("ConcatV2", {scaled, none, shift, number(op, 1)});
  Value* lower = op.constant(t2o::Tensor::of<float>({2, 4}, Floats{0, 0, 1, 0, 0, 0, 0, 1}));
  return {op.reshape(op.make("ConcatV2", {upper, lower, number(op, 0)}), {1, 4, 4})};
}

// The image at the places to which the matrix takes the pixels of the result, by linear interpolation; 0
// beyond its edge.
Values transform_tensor_bilinear(Op& op) {
  const Ints in = known_dims(op, op.input(0), 4), out = known_dims(op, op.output(), 4);
  const bool at_centers = !CustomOptions(op).has("output_size");  // of pixels: version 2
  if (in[0] != 1) op.fail(Code::not_yet, "several images at once are not supported");
  const float half = at_centers ? 0.5F : 0;
  Floats places;
  for (std::int64_t y = 0; y < out[1]; ++y)
    for (std::int64_t x = 0; x < out[2]; ++x)
      places.insert(places.end(), {static_cast<float>(x) + half, static_cast<float>(y) + half, 0, 1});
  Value* all = op.constant(t2o::Tensor::of<float>({out[1] * out[2], 4}, places));
  Value* matrix = part(op, op.reshape(op.in(1), {4, 4}), {0, 0}, {2, 4});
  Value* at = op.make("MatMul", {all, matrix}, {{"transpose_b", std::int64_t{1}}});  // x, y
  if (at_centers) at = op.make("Sub", {at, op.scalar_like(at, 0.5)});
  Value* highest = op.constant(
      t2o::Tensor::of<float>({2}, Floats{static_cast<float>(in[2] - 1), static_cast<float>(in[1] - 1)}));
  Value* inside = op.make("LogicalAnd", {op.make("GreaterEqual", {at, op.scalar_like(at, 0)}),
                                         op.make("LessEqual", {at, highest})});
  inside = op.make("All", {inside, op.ints({1})}, {{"keep_dims", std::int64_t{1}}});
  at = op.make("Minimum", {op.make("Maximum", {at, op.scalar_like(at, 0)}), highest});
  Value* low = op.make("Floor", {at});
  Value* high = op.make("Minimum", {op.make("AddV2", {low, op.scalar_like(low, 1)}), highest});
  const auto columns = [&](Value* v) {
    return op.make_all("Split", {number(op, 1), v}, {{"num_split", std::int64_t{2}}});
  };
  const Values far = columns(op.make("Sub", {at, low})), from = columns(to_int(op, low)),
               to = columns(to_int(op, high));
  Value* pixels = op.reshape(op.in(0), {in[1] * in[2], in[3]});
  const auto pixel = [&](Value* y, Value* x) {
    Value* place = op.make("AddV2", {op.make("Mul", {y, number(op, in[2])}), x});
    return op.make("GatherV2", {pixels, op.reshape(place, {-1}), number(op, 0)});
  };
  const auto between = [&](Value* a, Value* b, Value* by) {
    Value* rest = op.make("Sub", {op.scalar_like(by, 1), by});
    Value* first = op.make("Mul", {a, rest});
    return op.make("AddV2", {first, op.make("Mul", {b, by})});
  };
  Value *upper_left = pixel(from[1], from[0]), *upper_right = pixel(from[1], to[0]);
  Value *lower_left = pixel(to[1], from[0]), *lower_right = pixel(to[1], to[0]);
  Value* upper = between(upper_left, upper_right, far[0]);
  Value* y = between(upper, between(lower_left, lower_right, far[0]), far[1]);
  return {op.reshape(op.make("SelectV2", {inside, y, op.scalar_like(y, 0)}), {1, out[1], out[2], in[3]})};
}

}  // namespace t2o::tflite
