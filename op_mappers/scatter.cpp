#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "op_mappers/all.h"
#include "op_mappers/generate.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kMaxIndices = 1 << 20;  // looked at for duplicates

void check_policy(MapperContext& c) {
  const auto policy = c.attr_or<std::string>("bad_indices_policy", "");
  if (policy == "IGNORE") c.fail(Code::unsupported_attr, "bad_indices_policy \"IGNORE\" has no ONNX form");
}

bool are_unique(const Value* indices) {
  const TensorPtr& t = indices->constant();
  if (!t || t->rank() == 0 || t->elements() > kMaxIndices) return false;
  const auto depth = static_cast<std::size_t>(t->dims().back());
  const Ints all = t->to_ints();
  std::set<Ints> seen;
  for (std::size_t i = 0; depth != 0 && i < all.size(); i += depth) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
    if (!seen.emplace(first, first + static_cast<std::ptrdiff_t>(depth)).second) return false;
  }
  return depth != 0;
}

// ONNX Runtime's ScatterND adds no halves.
bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

Value* scatter(MapperContext& c, Value* data, Value* indices, Value* updates, const std::string& reduction) {
  const DType type = data->dtype();
  const DType work = reduction != "none" && is_half(type) ? DType::f32 : type;
  Attrs attrs;
  if (reduction != "none") attrs.push_back({"reduction", reduction});
  Value* to = c.cast(data, work);
  Value* from = c.cast(updates, work);
  return c.cast(c.emit("ScatterND", {to, c.cast(indices, DType::i64), from}, attrs), type);
}

struct Combination {
  std::string reduction, op;  // ONNX ScatterND's, and the operator that does the same for one element
};
Combination combination(const std::string& tf_op) {
  if (tf_op == "TensorScatterMax") return {"max", "Max"};
  if (tf_op == "TensorScatterMin") return {"min", "Min"};
  return {"add", "Add"};
}

Value* negated_for_sub(MapperContext& c, Value* updates) {
  if (c.node().op() != "TensorScatterSub") return updates;
  return is_unsigned_int(updates->dtype()) ? c.sub(c.scalar_like(updates, 0), updates) : c.neg(updates);
}

Values map_update(MapperContext& c) {
  check_policy(c);
  return {scatter(c, c.in(0), c.in(1), c.in(2), "none")};
}

// Without a reduction in ONNX: read, combine, write back; right only where no place is hit twice.
Values map_combine_unique(MapperContext& c) {
  check_policy(c);
  if (!are_unique(c.in(1)))
    c.fail(Code::opset_too_low,
           "indices that may repeat need a reduction in ONNX ScatterND: add since opset 16, max and min "
           "since 18",
           "convert with --opset 18 or higher");
  Value* indices = c.cast(c.in(1), DType::i64);
  Value* old = c.emit("GatherND", {c.in(0), indices});
  Value* combined = c.emit(combination(c.node().op()).op, {old, negated_for_sub(c, c.in(2))});
  return {scatter(c, c.in(0), indices, combined, "none")};
}

Values map_combine(MapperContext& c) {
  check_policy(c);
  const Combination how = combination(c.node().op());
  return {scatter(c, c.in(0), c.in(1), negated_for_sub(c, c.in(2)), how.reduction)};
}

Value* zeros(MapperContext& c, DType type, Value* dims) {
  return c.expand(zero_of(c, type), c.cast(dims, DType::i64));
}

Values map_scatter_nd_unique(MapperContext& c) {
  check_policy(c);
  if (!are_unique(c.in(0)))
    c.fail(Code::opset_too_low, "indices that may repeat add up, which ONNX ScatterND does since opset 16",
           "convert with --opset 16 or higher");
  return {scatter(c, zeros(c, c.in(1)->dtype(), c.in(2)), c.in(0), c.in(1), "none")};
}

Values map_scatter_nd(MapperContext& c) {
  if (are_unique(c.in(0))) return map_scatter_nd_unique(c);
  check_policy(c);
  const DType type = c.in(1)->dtype();
  if (type != DType::boolean) return {scatter(c, zeros(c, type, c.in(2)), c.in(0), c.in(1), "add")};
  Value* counts = scatter(c, zeros(c, DType::i32, c.in(2)), c.in(0), c.cast(c.in(1), DType::i32), "add");
  return {c.cast(counts, DType::boolean)};
}

// ---- DynamicStitch: merged[indices[m][i], ...] = data[m][i, ...], the later one wins

// data of shape labels' + rest as [elements of labels] + rest
Value* as_rows(MapperContext& c, Value* data, Value* labels, int rank) {
  constexpr int kToEnd = std::numeric_limits<int>::max();
  if (rank == 0) return c.unsqueeze(data, {0});
  if (rank == 1) return data;
  Value* count = c.unsqueeze(c.size_of(labels), {0});
  return c.reshape_to(data, c.concat({count, c.dims(data, rank, kToEnd)}, 0));
}

struct Stitch {
  Value *indices, *rows;  // 1-D, and [as many, ...]
};

Stitch stitch_inputs(MapperContext& c) {
  const std::size_t n = c.input_count() / 2;
  Values indices, rows;
  for (std::size_t i = 0; i < n; ++i) {
    indices.push_back(c.reshape(c.cast(c.in(i), DType::i64), {-1}));
    rows.push_back(as_rows(c, c.in(n + i), c.in(i), c.rank(i)));
  }
  return {c.concat(indices, 0), c.concat(rows, 0)};
}

// Where no index points, TensorFlow leaves zeros; -1 is the last row.
Value* with_zero_row(MapperContext& c, Value* rows) {
  constexpr int kToEnd = std::numeric_limits<int>::max();
  Value* dims = c.concat({c.ints({1}), c.dims(rows, 1, kToEnd)}, 0);
  return c.concat({rows, c.expand(zero_of(c, rows->dtype()), dims)}, 0);
}

Values map_stitch_constant(MapperContext& c) {
  Ints position;
  std::int64_t row = 0;
  for (std::size_t m = 0; m < c.input_count() / 2; ++m) {
    for (const std::int64_t place : c.const_ints(m)) {
      if (place < 0 || place > kMaxIndices)
        c.fail(Code::bad_model, "index " + std::to_string(place) + " is out of range");
      const auto at = static_cast<std::size_t>(place);
      if (at >= position.size()) position.resize(at + 1, -1);
      position[at] = row++;
    }
  }
  Value* rows = stitch_inputs(c).rows;
  if (std::find(position.begin(), position.end(), -1) != position.end()) rows = with_zero_row(c, rows);
  return {c.gather(rows, c.ints(position), 0)};
}

Values map_stitch(MapperContext& c) {
  bool constant = true;
  for (std::size_t m = 0; m < c.input_count() / 2; ++m) constant = constant && c.maybe_ints(m).has_value();
  if (constant) return map_stitch_constant(c);
  const Stitch s = stitch_inputs(c);
  Value* zero = c.constant<std::int64_t>(0);
  Value* one = c.constant<std::int64_t>(1);
  Value* highest = c.reduce("ReduceMax", c.concat({c.ints({-1}), s.indices}, 0), {0}, true);
  Value* blank = c.expand(zero, c.add(highest, one));
  Value* order = c.range(zero, c.dim(s.indices, 0), one);
  Value* last = c.emit("ScatterElements", {blank, s.indices, order},
                       {{"axis", std::int64_t{0}}, {"reduction", std::string("max")}});
  return {c.gather(s.rows, last, 0)};
}

Values map_partition(MapperContext& c) {
  const auto n = c.attr<std::int64_t>("num_partitions");
  if (n < 1 || static_cast<std::size_t>(n) != c.node().outputs().size())
    c.fail(Code::bad_model, "num_partitions is not the number of outputs");
  Value* partitions = c.reshape(c.in(1), {-1});
  Value* data = as_rows(c, c.in(0), c.in(1), c.rank(1));
  Values out;
  for (std::int64_t i = 0; i < n; ++i) {
    Value* chosen = c.equal(partitions, c.scalar_like(partitions, static_cast<double>(i)));
    out.push_back(c.emit("Compress", {data, chosen}, {{"axis", std::int64_t{0}}}));
  }
  return out;
}

}  // namespace

void register_scatter(OpRegistry& r) {
  r.op("TensorScatterUpdate").by(map_update);
  r.op("TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd")
      .note("constant unique indices below opset 16")
      .by(map_combine_unique);
  r.op("TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd").since(16).by(map_combine);
  r.op("TensorScatterMax", "TensorScatterMin")
      .note("constant unique indices below opset 18")
      .by(map_combine_unique);
  r.op("TensorScatterMax", "TensorScatterMin").since(18).by(map_combine);
  r.op("ScatterNd").note("constant unique indices below opset 16").by(map_scatter_nd_unique);
  r.op("ScatterNd").since(16).by(map_scatter_nd);
  r.op("DynamicStitch", "ParallelDynamicStitch")
      .ignores({"N"})
      .note("constant indices below opset 18")
      .by(map_stitch_constant);
  r.op("DynamicStitch", "ParallelDynamicStitch").since(18).ignores({"N"}).by(map_stitch);
  r.op("DynamicPartition").by(map_partition);
}

}  // namespace t2o::op_mappers
