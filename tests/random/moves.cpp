#include <algorithm>

#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

Ints permutation(Drawer& d, std::int64_t n) {
  Ints p(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = i;
  for (std::int64_t i = n - 1; i > 0; --i) std::swap(p[static_cast<std::size_t>(i)], p[static_cast<std::size_t>(d.below(i + 1))]);
  return p;
}

std::int64_t length(const Ints& v) { return static_cast<std::int64_t>(v.size()); }

void draw_transpose(Drawer& d) {
  const Ref x = d.pick(kAll, 1);
  Ints p = permutation(d, d.rank(x));
  if (d.rank(x) == 4 && d.chance(0.5)) p = d.chance(0.5) ? Ints{0, 3, 1, 2} : Ints{0, 2, 3, 1};
  d.op("Transpose", {x, d.index({length(p)}, p, 0.05)});
}

Ints reshaped(Drawer& d, std::int64_t elements) {  // sizes with this product
  Ints dims;
  for (std::int64_t f = 2; elements > 1 && f <= elements; ++f)
    while (elements % f == 0) {
      elements /= f;
      if (!dims.empty() && d.chance(0.4)) dims[static_cast<std::size_t>(d.below(length(dims)))] *= f;
      else dims.insert(dims.begin() + d.below(length(dims) + 1), f);
    }
  if (elements == 0) dims.push_back(0);
  if (dims.empty() || (dims.size() < 5 && d.chance(0.3))) dims.insert(dims.begin() + d.below(length(dims) + 1), 1);
  while (dims.size() > 5) {
    dims[dims.size() - 2] *= dims.back();
    dims.pop_back();
  }
  return dims;
}

void draw_reshape(Drawer& d) {
  const Ref x = d.pick(kAll);
  Ints dims = reshaped(d, d.tensor(x).elements());
  if (d.chance(0.5) && d.tensor(x).elements() > 0) dims[static_cast<std::size_t>(d.below(length(dims)))] = -1;
  d.op("Reshape", {x, d.index({length(dims)}, dims, 0.2)});
}

void draw_squeeze(Drawer& d) {
  const Ref x = d.pick(kAll);
  if (d.chance(0.6)) {
    const std::int64_t rank = d.rank(x);
    if (rank > 4) throw Dropped();
    const Ints at = {d.between(-rank - 1, rank)};
    d.op("ExpandDims", {x, d.chance(0.8) ? d.index({}, at, 0.05) : d.index({1}, at, 0.05)});
    return;
  }
  Ints axes;
  for (std::int64_t a = 0; a < d.rank(x); ++a)
    if (d.dims(x)[static_cast<std::size_t>(a)] == 1 && d.chance(0.7)) axes.push_back(d.chance(0.3) ? a - d.rank(x) : a);
  d.op("Squeeze", {x}, {{"squeeze_dims", d.chance(0.2) ? Ints{} : axes}});
}

void draw_concat(Drawer& d) {
  const Ref x = d.pick(kAll, 1);
  const std::int64_t axis = d.axis(x), at = axis < 0 ? axis + d.rank(x) : axis;
  std::vector<Ref> list = {x};
  for (std::int64_t n = d.between(1, 2); n > 0; --n) {
    const auto fits = [&](const Tensor& t) {
      Ints dims = t.dims();
      if (t.dtype() != d.dtype(x) || t.rank() != d.rank(x)) return false;
      dims[static_cast<std::size_t>(at)] = d.dims(x)[static_cast<std::size_t>(at)];
      return dims == d.dims(x);
    };
    list.push_back(d.pick_if(fits, [&] {
      Ints dims = d.dims(x);
      if (d.chance(0.5)) dims[static_cast<std::size_t>(at)] = d.between(1, 4);
      return d.leaf(d.dtype(x), dims);
    }));
  }
  if (d.chance(0.5)) std::swap(list.front(), list.back());
  d.op("ConcatV2", {In(list), d.index({}, {axis}, 0)});
}

void draw_pack(Drawer& d) {
  const Ref x = d.pick(kAll, 0, 4);
  if (d.chance(0.4) && d.rank(x) > 0) {
    const std::int64_t axis = d.axis(x);
    const std::int64_t n = d.dims(x)[static_cast<std::size_t>(axis < 0 ? axis + d.rank(x) : axis)];
    d.op("Unpack", {x}, {{"num", n}, {"axis", axis}});
    return;
  }
  std::vector<Ref> list = {x};
  const auto same = [&](const Tensor& t) { return t.dtype() == d.dtype(x) && t.dims() == d.dims(x); };
  for (std::int64_t n = d.below(3); n > 0; --n) list.push_back(d.pick_if(same, [&] { return d.like(x); }));
  d.op("Pack", {In(list)}, {{"axis", d.between(-d.rank(x) - 1, d.rank(x))}});
}

void draw_split(Drawer& d) {
  const Ref x = d.pick(kAll, 1);
  const std::int64_t axis = d.axis(x), n = d.dims(x)[static_cast<std::size_t>(axis < 0 ? axis + d.rank(x) : axis)];
  if (d.chance(0.5)) {
    Ints parts;
    for (std::int64_t k = 1; k <= n; ++k)
      if (n % k == 0) parts.push_back(k);
    if (parts.empty()) throw Dropped();
    const Ref at = d.constant(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(axis)));
    d.op("Split", {at, x}, {{"num_split", d.one_of(parts)}});
    return;
  }
  const std::int64_t first = d.between(std::min<std::int64_t>(1, n), std::max<std::int64_t>(n - 1, 1));
  Ints sizes = {first, n - first};
  if (d.chance(0.3)) sizes[static_cast<std::size_t>(d.below(2))] = -1;
  const Ref at = d.constant(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(axis)));
  d.op("SplitV", {x, d.index({2}, sizes, 0.1), at}, {{"num_split", std::int64_t{2}}});
}

void draw_slice(Drawer& d) {
  const Ref x = d.pick(kAll, 1);
  Ints begin, size;
  for (const std::int64_t n : d.dims(x)) {
    begin.push_back(d.chance(0.5) ? 0 : d.below(std::max<std::int64_t>(n, 1)));
    size.push_back(d.chance(0.4) ? -1 : d.between(std::min<std::int64_t>(1, n - begin.back()), n - begin.back()));
  }
  const DType t = d.chance(0.6) ? i32 : i64;
  const auto list = [&](const Ints& v) {
    const TensorPtr made = verify::tensor_of(t, {length(v)}, std::vector<double>(v.begin(), v.end()));
    return d.chance(0.2) ? d.leaf(made) : d.constant(made);
  };
  const Ref first = list(begin);
  d.op("Slice", {x, first, list(size)});
}

struct Strided {
  Ints begin, end, strides;
  std::int64_t begin_mask = 0, end_mask = 0, ellipsis = 0, added = 0, shrunk = 0;
};

Strided strided(Drawer& d, const Ints& dims) {
  Strided s;
  std::int64_t bit = 1;
  const auto entry = [&](std::int64_t b, std::int64_t e, std::int64_t step) {
    s.begin.push_back(b);
    s.end.push_back(e);
    s.strides.push_back(step);
    bit <<= 1;
  };
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t n = dims[i];
    if (d.chance(0.07)) {
      s.added |= bit;
      entry(0, 1, 1);
    }
    if (d.chance(0.1) && s.ellipsis == 0) {
      s.ellipsis |= bit;
      entry(0, 0, 1);
      i += static_cast<std::size_t>(d.below(static_cast<std::int64_t>(dims.size() - i)));
      continue;
    }
    if (d.chance(0.15)) break;
    if (d.chance(0.25)) {
      s.shrunk |= bit;
      const std::int64_t at = d.between(-n, std::max<std::int64_t>(n - 1, 0));
      entry(at, at + 1, 1);
      continue;
    }
    const bool back = d.chance(0.25);
    if (d.chance(0.35)) s.begin_mask |= bit;
    if (d.chance(0.35)) s.end_mask |= bit;
    const std::int64_t a = d.between(-n - 1, n), b = d.between(-n - 1, n + 2);
    entry(a, b, (back ? -1 : 1) * d.between(1, 2));
  }
  if (s.begin.empty()) throw Dropped();
  return s;
}

void draw_strided_slice(Drawer& d) {
  const Ref x = d.pick(kAll, 1);
  const Strided s = strided(d, d.dims(x));
  const DType t = d.chance(0.7) ? i32 : i64;
  const bool fed = d.chance(0.15);
  const auto list = [&](const Ints& v, bool may_be_fed) {
    const TensorPtr made = verify::tensor_of(t, {length(v)}, std::vector<double>(v.begin(), v.end()));
    return fed && may_be_fed ? d.leaf(made) : d.constant(made);
  };
  const Ref begin = list(s.begin, true), end = list(s.end, true), strides = list(s.strides, d.chance(0.2));
  d.op("StridedSlice", {x, begin, end, strides},
       {{"begin_mask", s.begin_mask}, {"end_mask", s.end_mask}, {"ellipsis_mask", s.ellipsis}, {"new_axis_mask", s.added}, {"shrink_axis_mask", s.shrunk}});
}

void draw_tile(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 4);
  Ints times;
  for (std::size_t i = 0; i < d.dims(x).size(); ++i) times.push_back(d.chance(0.4) ? 1 : d.between(d.special() ? 0 : 1, 3));
  d.op("Tile", {x, d.index({length(times)}, times, 0.2)});
}

void draw_pad(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 4);
  const bool mirror = d.chance(0.3);
  Ints pads;
  for (const std::int64_t n : d.dims(x))
    for (int side = 0; side < 2; ++side) pads.push_back(d.chance(0.3) ? 0 : d.below(mirror ? std::max<std::int64_t>(n, 1) : 3));
  const Ref p = d.index({d.rank(x), 2}, pads, 0.15);
  if (mirror) d.op("MirrorPad", {x, p}, {{"mode", std::string(d.chance(0.5) ? "REFLECT" : "SYMMETRIC")}});
  else if (d.chance(0.4)) d.op("PadV2", {x, p, d.leaf(d.dtype(x), {})});
  else d.op("Pad", {x, p});
}

void draw_reverse(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 4);
  if (d.chance(0.5)) {
    Ints axes;
    for (std::int64_t a = 0; a < d.rank(x); ++a)
      if (d.chance(0.5)) axes.push_back(d.chance(0.4) ? a - d.rank(x) : a);
    if (axes.empty()) axes.push_back(d.axis(x));
    d.op("ReverseV2", {x, d.index({length(axes)}, axes, 0.05)});
  } else if (d.chance(0.7)) {
    const Ref shift = d.index({}, {d.between(-7, 7)}, 0.3);
    d.op("Roll", {x, shift, d.index({}, {d.axis(x)}, 0.05)});
  } else if (d.rank(x) >= 2) {
    Ints lengths;
    for (std::int64_t i = 0; i < d.dims(x)[0]; ++i) lengths.push_back(d.between(0, d.dims(x)[1]));
    d.op("ReverseSequence", {x, d.index({length(lengths)}, lengths, 0.5)}, {{"seq_dim", std::int64_t{1}}, {"batch_dim", std::int64_t{0}}});
  }
}

void draw_diagonals(Drawer& d) {
  const double kind = d.random().uniform();
  const Ref x = d.pick(kAll, kind < 0.6 ? 2 : 1, 3);
  const auto number = [&](std::int64_t v) { return d.constant(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(v))); };
  if (kind < 0.3) {
    const Ref low = number(d.between(-1, 2));
    d.op("MatrixBandPart", {x, low, number(d.between(-1, 2))});
  } else if (kind < 0.6) {
    const Ref k = number(d.between(-1, 1));
    d.op("MatrixDiagPartV3", {x, k, d.leaf(d.dtype(x), {})});
  } else if (kind < 0.8) {
    d.op("MatrixDiag", {x});
  } else {
    d.op("Diag", {x});
  }
}

}  // namespace

void add_moves(std::vector<Maker>& m) {
  m.push_back({"transpose", 8, draw_transpose});
  m.push_back({"reshape", 8, draw_reshape});
  m.push_back({"squeeze", 6, draw_squeeze});
  m.push_back({"concat", 7, draw_concat});
  m.push_back({"pack", 5, draw_pack});
  m.push_back({"split", 5, draw_split});
  m.push_back({"slice", 4, draw_slice});
  m.push_back({"strided_slice", 9, draw_strided_slice});
  m.push_back({"tile", 4, draw_tile});
  m.push_back({"pad", 5, draw_pad});
  m.push_back({"reverse", 4, draw_reverse});
  m.push_back({"diagonals", 2, draw_diagonals});
}

}  // namespace t2o::random_graphs
