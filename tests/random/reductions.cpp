#include <map>

#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

Ref axes_of(Drawer& d, Ref x) {  // any of them, some negative, in any order
  const std::int64_t rank = d.rank(x);
  Ints axes;
  for (std::int64_t a = 0; a < rank; ++a)
    if (d.chance(0.5)) axes.push_back(d.chance(0.4) ? a - rank : a);
  if (axes.empty() && rank > 0 && d.chance(0.8)) axes.push_back(d.axis(x));
  if (axes.size() > 1 && d.chance(0.3)) std::swap(axes.front(), axes.back());
  if (axes.size() == 1 && d.chance(0.4)) return d.index({}, axes, 0.05);
  return d.index({static_cast<std::int64_t>(axes.size())}, axes, 0.05);
}

void draw_reduction(Drawer& d) {
  static const std::vector<std::pair<const char*, Rounding>> ops = {
      {"Sum", Rounding::once}, {"Sum", Rounding::once}, {"Mean", Rounding::once}, {"Mean", Rounding::once},
      {"Max", Rounding::moves}, {"Max", Rounding::moves}, {"Min", Rounding::moves}, {"Prod", Rounding::once},
      {"EuclideanNorm", Rounding::many}};
  const auto& [op, rounding] = d.one_of(ops);
  const Ref x = d.pick(kReals, 0, 5);
  if (std::string_view(op) == "EuclideanNorm" && is_int(d.dtype(x)))
    for (const std::int64_t v : d.tensor(x).to_ints())
      if (v < -1000 || v > 1000) d.only_special();  // the root of a sum of squares that wraps around
  d.op(op, {x, axes_of(d, x)}, {{"keep_dims", d.chance(0.5)}}, rounding);
}

void draw_logical(Drawer& d) {
  const Ref x = d.pick({boolean});
  d.op(d.chance(0.5) ? "All" : "Any", {x, axes_of(d, x)}, {{"keep_dims", d.chance(0.5)}});
}

void draw_arg(Drawer& d) {
  const Ref x = d.pick(kReals, 1);
  d.op(d.chance(0.5) ? "ArgMax" : "ArgMin", {x, d.index({}, {d.axis(x)}, 0.05)},
       {{"output_type", d.chance(0.5) ? i32 : i64}});
}

void draw_scan(Drawer& d) {
  const double kind = d.random().uniform();
  const bool logs = kind > 0.9;
  const Ref x = d.pick(logs ? kFloats : kReals, 1);
  d.op(logs ? "CumulativeLogsumexp" : kind < 0.65 ? "Cumsum" : "Cumprod", {x, d.index({}, {d.axis(x)}, 0.1)},
       {{"exclusive", d.chance(0.4)}, {"reverse", d.chance(0.4)}}, logs ? Rounding::many : Rounding::once);
}

void draw_top_k(Drawer& d) {
  const Ref x = d.pick(kReals, 1, 4);
  const std::int64_t n = d.dims(x).back();
  const Ref k = d.leaf(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(d.between(std::min<std::int64_t>(1, n), n))));
  d.op("TopKV2", {x, k}, {{"sorted", true}});
}

void draw_l2(Drawer& d) { d.op("L2Loss", {d.pick(kFloats)}, {}, Rounding::once); }

Ref segment_ids(Drawer& d, std::int64_t count, std::int64_t segments, bool sorted) {
  Ints ids;
  std::int64_t id = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!sorted) id = d.between(d.chance(0.1) ? -1 : 0, segments - 1);
    else if (d.chance(0.5) && i > 0) id += d.chance(0.2) ? 2 : 1;
    ids.push_back(id);
  }
  return d.index({count}, ids, 0.4);
}

void draw_segments(Drawer& d) {
  static const std::vector<std::pair<const char*, Rounding>> ops = {{"Sum", Rounding::once}, {"Prod", Rounding::once},
                                                                    {"Max", Rounding::moves}, {"Min", Rounding::moves}};
  const auto& [op, rounding] = d.one_of(ops);
  const Ref x = d.pick(kReals, 1, 4);
  const std::int64_t rows = d.dims(x)[0];
  if (d.chance(0.5)) {
    const bool mean = d.chance(0.15);
    d.op(mean ? "SegmentMean" : std::string("Segment") + op, {x, segment_ids(d, rows, 0, true)}, {}, mean ? Rounding::once : rounding);
  } else {
    const std::int64_t segments = d.between(1, 5);
    const Ref n = d.leaf(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(segments)));
    d.op(std::string("UnsortedSegment") + op, {x, segment_ids(d, rows, segments, false), n}, {}, rounding);
  }
}

void draw_sparse_segments(Drawer& d) {
  const Ref x = d.pick({f32, f64, i32}, 1, 3);
  const std::int64_t rows = d.dims(x)[0], n = d.between(1, 6);
  if (rows < 1) throw Dropped();
  Ints taken;
  for (std::int64_t i = 0; i < n; ++i) taken.push_back(d.below(rows));
  const Ref i = d.index({n}, taken, 0.3), ids = segment_ids(d, n, 0, true);
  static const Strings ops = {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"};
  d.op(d.one_of(ops), {x, i, ids}, {}, Rounding::once);
}

void draw_loss(Drawer& d) {
  const Ref x = d.pick({f32, f32, f64, f16}, 2, 2);
  if (d.chance(0.5)) {
    d.op("SoftmaxCrossEntropyWithLogits", {x, d.like(x, Domain::positive)}, {}, Rounding::many);
    return;
  }
  Ints labels;
  for (std::int64_t i = 0; i < d.dims(x)[0]; ++i) labels.push_back(d.below(std::max<std::int64_t>(d.dims(x)[1], 1)));
  d.op("SparseSoftmaxCrossEntropyWithLogits", {x, d.index({d.dims(x)[0]}, labels, 0.5)}, {}, Rounding::many);
}

void draw_bincount(Drawer& d) {
  const Ref x = d.leaf(i32, {d.between(2, 8)}, Domain::positive);
  const Ref size = d.constant(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(d.between(3, 25))));
  d.op("Bincount", {x, size, d.leaf(d.dtype({f32, i32, i64, f64}), d.dims(x))}, {}, Rounding::once);
}

// ---- products

void draw_matmul(Drawer& d) {
  const Ref x = d.pick(kReals, 2, 2);
  const bool ta = d.chance(0.3), tb = d.chance(0.3);
  const std::int64_t inner = d.dims(x)[ta ? 0 : 1], n = d.between(1, 5);
  const Ref y = d.leaf(d.dtype(x), tb ? Ints{n, inner} : Ints{inner, n});
  d.op("MatMul", {x, y}, {{"transpose_a", ta}, {"transpose_b", tb}}, Rounding::once);
}

void draw_batch_matmul(Drawer& d) {
  const Ref x = d.pick(kReals, 2, 4);
  const bool ta = d.chance(0.3), tb = d.chance(0.3);
  Ints other = d.dims(x);
  const std::size_t r = other.size();
  const std::int64_t inner = other[ta ? r - 2 : r - 1], n = d.between(1, 5);
  other[r - 2] = tb ? n : inner;
  other[r - 1] = tb ? inner : n;
  if (r > 2 && d.chance(0.3)) other.erase(other.begin());
  else if (r > 2 && d.chance(0.3)) other[0] = 1;
  d.op("BatchMatMulV2", {x, d.leaf(d.dtype(x), other)}, {{"adj_x", ta}, {"adj_y", tb}}, Rounding::once);
}

void draw_einsum(Drawer& d) {
  static const Strings equations = {"ij,jk->ik", "bij,bjk->bik", "bij,jk->bik", "ij->ji", "ij->i", "ii->i", "bhqd,bhkd->bhqk",
                                    "i,j->ij", "bij,bij->b", "abc,cd->abd", "...ij,...jk->...ik", "ij,kj->ik", "bi,bi->bi", "ijk->kij", "ii->", "bsd,dnh->bsnh"};
  const std::string equation = d.one_of(equations);
  std::map<char, std::int64_t> sizes;
  const DType t = d.dtype({f32, f32, f32, f64, i32, i64, f16, bf16});
  std::vector<Ref> inputs;
  Ints dims;
  const auto finish = [&] {
    const Ref r = d.pick_if([&](const Tensor& p) { return p.dtype() == t && p.dims() == dims; }, [&] { return d.leaf(t, dims); });
    inputs.push_back(r);
    dims.clear();
  };
  for (std::size_t i = 0; i < equation.find("->"); ++i) {
    const char c = equation[i];
    if (c == ',') finish();
    else if (c == '.') dims.insert(dims.end(), i % 3 == 0 || equation[i - 1] != '.' ? 1 : 0, 2);
    else dims.push_back(sizes.try_emplace(c, d.between(1, 4)).first->second);
  }
  finish();
  d.op("Einsum", {In(inputs)}, {{"equation", equation}}, Rounding::once);
}

}  // namespace

void add_reductions(std::vector<Maker>& m) {
  m.push_back({"reduction", 16, draw_reduction});
  m.push_back({"logical", 2, draw_logical});
  m.push_back({"arg", 5, draw_arg});
  m.push_back({"scan", 6, draw_scan});
  m.push_back({"top_k", 4, draw_top_k});
  m.push_back({"l2", 1, draw_l2});
  m.push_back({"segments", 5, draw_segments});
  m.push_back({"bincount", 1, draw_bincount});
  m.push_back({"sparse_segments", 2, draw_sparse_segments});
  m.push_back({"loss", 2, draw_loss});
  m.push_back({"matmul", 5, draw_matmul});
  m.push_back({"batch_matmul", 5, draw_batch_matmul});
  m.push_back({"einsum", 4, draw_einsum});
}

}  // namespace t2o::random_graphs
