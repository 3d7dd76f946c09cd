// Arithmetic with shapes, as models do it that do not know their batch.
#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

TensorPtr list_of(DType t, const Ints& v) {
  return verify::tensor_of(t, {static_cast<std::int64_t>(v.size())}, std::vector<double>(v.begin(), v.end()));
}
TensorPtr number_of(DType t, std::int64_t v) { return verify::tensor_of(t, {}, {static_cast<double>(v)}); }

Ref shape_of(Drawer& d, Ref x, DType t) { return d.op("Shape", {x}, {{"out_type", t}}); }

Ref dim_of(Drawer& d, Ref shape, std::int64_t at) {  // a scalar
  const Ref begin = d.constant(list_of(i32, {at})), end = d.constant(list_of(i32, {at + 1})), one = d.constant(list_of(i32, {1}));
  if (d.chance(0.25)) {
    const Ref i = d.constant(number_of(i32, at)), axis = d.constant(number_of(i32, 0));
    return d.op("GatherV2", {shape, i, axis});
  }
  return d.op("StridedSlice", {shape, begin, end, one}, {{"shrink_axis_mask", std::int64_t{1}}});
}

void draw_shape(Drawer& d) {
  const DType t = d.dtype(kIndices);
  const double kind = d.random().uniform();
  const Ref x = d.pick(kAll, 0, 5);
  if (kind < 0.4) shape_of(d, x, t);
  else if (kind < 0.7) d.op("Size", {x}, {{"out_type", t}});
  else if (kind < 0.85) d.op("Rank", {x});
  else d.op("ShapeN", {In(std::vector<Ref>{x, d.pick(kAll)})}, {{"out_type", t}});
}

// reshape(x, [shape(x)[i], -1])
void draw_flatten(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 4);
  const DType t = d.dtype(kIndices);
  const Ref first = dim_of(d, shape_of(d, x, t), 0), rest = d.constant(number_of(t, -1));
  const Ref target = d.op("Pack", {In(std::vector<Ref>{first, rest})});
  d.op("Reshape", {x, target});
}

// Sizes that are multiplied and put together again.
void draw_merge_dims(Drawer& d) {
  const Ref x = d.pick(kAll, 2, 4);
  const DType t = d.dtype(kIndices);
  const Ref shape = shape_of(d, x, t);
  std::vector<Ref> sizes = {d.op("Mul", {dim_of(d, shape, 0), dim_of(d, shape, 1)}, {}, Rounding::once)};
  for (std::int64_t i = 2; i < d.rank(x); ++i) sizes.push_back(dim_of(d, shape, i));
  if (d.chance(0.3)) sizes.push_back(d.constant(number_of(t, 1)));
  const Ref merged = d.op("Reshape", {x, d.op("Pack", {In(sizes)})});
  if (d.chance(0.4)) d.op("Reshape", {merged, shape});
}

// Slices of a shape, joined again: [a, b] + shape(x)[k:]
void draw_join_shapes(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 4);
  const DType t = d.dtype(kIndices);
  const Ref shape = shape_of(d, x, t);
  const std::int64_t at = d.between(0, d.rank(x) - 1);
  const Ref from = d.constant(list_of(i32, {at})), zero = d.constant(list_of(i32, {0})), one = d.constant(list_of(i32, {1}));
  const Ref tail = d.op("StridedSlice", {shape, from, zero, one}, {{"end_mask", std::int64_t{1}}});
  std::int64_t front = 1;
  for (std::int64_t i = 0; i < at; ++i) front *= d.dims(x)[static_cast<std::size_t>(i)];
  const Ref head = d.constant(list_of(t, {d.chance(0.5) ? -1 : front})), axis = d.constant(number_of(i32, 0));
  d.op("Reshape", {x, d.op("ConcatV2", {In(std::vector<Ref>{head, tail}), axis})});
}

void draw_broadcast(Drawer& d) {
  const Ref x = d.pick(kAll, 0, 3);
  Ints dims = d.dims(x);
  for (std::int64_t& n : dims)
    if (n == 1 && d.chance(0.7)) n = d.between(1, 4);
  if (d.chance(0.4)) dims.insert(dims.begin(), d.between(1, 3));
  const DType t = d.dtype(kIndices);
  if (d.chance(0.5)) {
    const Ref other = d.leaf(d.dtype(kAll), dims);
    d.op("BroadcastTo", {x, shape_of(d, other, t)});
  } else {
    d.op("BroadcastTo", {x, d.chance(0.2) ? d.leaf(list_of(t, dims)) : d.constant(list_of(t, dims))});
  }
}

void draw_fill(Drawer& d) {
  const DType t = d.dtype(kIndices);
  const Ref x = d.pick(kAll, 1, 4);
  const Ref shape = d.chance(0.6) ? shape_of(d, x, t) : d.leaf(list_of(t, d.dims(1, 3)));
  const auto scalar = [](const Tensor& v) { return v.rank() == 0; };
  d.op("Fill", {shape, d.pick_if(scalar, [&] { return d.leaf(d.dtype(kAll), {}); })});
}

void draw_range(Drawer& d) {
  const DType t = d.dtype({i32, i32, i64, f32});
  const std::int64_t start = d.between(-3, 3), count = d.between(1, 6), delta = d.chance(0.2) ? -1 : d.between(1, 2);
  const Ref x = d.pick(kAll, 1, 4);
  if (d.chance(0.4) && t != f32) {
    const Ref zero = d.constant(number_of(t, 0)), limit = dim_of(d, shape_of(d, x, t), 0), one = d.constant(number_of(t, 1));
    d.op("Range", {zero, limit, one});
    return;
  }
  const Ref a = d.leaf(number_of(t, start)), b = d.leaf(number_of(t, start + delta * count)), c = d.leaf(number_of(t, delta));
  d.op("Range", {a, b, c}, {}, Rounding::once);
}

void draw_lin_space(Drawer& d) {
  const DType t = d.dtype({f32, f64});
  const Ref a = d.leaf(t, {}), b = d.leaf(t, {}), n = d.leaf(number_of(i32, d.between(1, 6)));
  d.op("LinSpace", {a, b, n}, {}, Rounding::many);
}

// A mean by hand: sum / float(size of the axes).
void draw_mean(Drawer& d) {
  const Ref x = d.pick({f32, f32, f64, f16}, 1, 4);
  const Ref axis = d.constant(number_of(i32, 0));
  const Ref sum = d.op("Sum", {x, axis}, {{"keep_dims", false}}, Rounding::once);
  const Ref count = dim_of(d, shape_of(d, x, i32), 0);
  d.op("RealDiv", {sum, d.op("Cast", {count}, {{"DstT", d.dtype(x)}})}, {}, Rounding::once);
}

// x[:, :n - 1] with n from the shape
void draw_crop(Drawer& d) {
  const Ref x = d.pick(kAll, 2, 4);
  if (d.dims(x)[1] < 2 && !d.special()) throw Dropped();
  const Ref last = dim_of(d, shape_of(d, x, i32), 1), one = d.constant(number_of(i32, 1));
  const Ref stop = d.op("Sub", {last, one}), zero = d.constant(number_of(i32, 0));
  const Ref begin = d.constant(list_of(i32, {0, 0})), end = d.op("Pack", {In(std::vector<Ref>{zero, stop})});
  d.op("StridedSlice", {x, begin, end, d.constant(list_of(i32, {1, 1}))}, {{"begin_mask", std::int64_t{3}}, {"end_mask", std::int64_t{1}}});
}

// Tile by sizes of another tensor.
void draw_repeat(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 2), other = d.pick(kAll, 1, 3);
  const Ref times = dim_of(d, shape_of(d, other, i32), 0), one = d.constant(number_of(i32, 1));
  const Ref at = d.constant(number_of(i32, d.between(0, d.rank(x))));
  const Ref wide = d.op("ExpandDims", {x, at});
  std::vector<Ref> multiples;
  for (std::int64_t i = 0; i <= d.rank(x); ++i) multiples.push_back(d.tensor(at).int_at(0) == i ? times : one);
  const Ref tiled = d.op("Tile", {wide, d.op("Pack", {In(multiples)})});
  Ints dims = d.dims(x);
  dims.back() = -1;
  d.op("Reshape", {tiled, d.constant(list_of(i32, dims))});
}

}  // namespace

void add_shapes(std::vector<Maker>& m) {
  m.push_back({"shape", 5, draw_shape});
  m.push_back({"flatten", 4, draw_flatten});
  m.push_back({"merge_dims", 3, draw_merge_dims});
  m.push_back({"join_shapes", 3, draw_join_shapes});
  m.push_back({"broadcast", 5, draw_broadcast});
  m.push_back({"fill", 3, draw_fill});
  m.push_back({"range", 3, draw_range});
  m.push_back({"lin_space", 1, draw_lin_space});
  m.push_back({"mean", 2, draw_mean});
  m.push_back({"crop", 2, draw_crop});
  m.push_back({"repeat", 2, draw_repeat});
}

}  // namespace t2o::random_graphs
