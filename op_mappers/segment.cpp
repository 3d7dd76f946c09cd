#include <algorithm>
#include <limits>
#include <string>

#include "op_mappers/all.h"
#include "op_mappers/segments.h"

namespace t2o::op_mappers {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Reduction reduction_of(const std::string& op) {
  const auto says = [&](const char* word) { return op.find(word) != std::string::npos; };
  if (says("Prod")) return Reduction::mul;
  if (says("Max")) return Reduction::max;
  return says("Min") ? Reduction::min : Reduction::add;
}

// What a segment without rows is.
Value* unit(MapperContext& c, Reduction how, DType t) {
  switch (how) {
    case Reduction::add:
      return c.scalar(t, 0);
    case Reduction::mul:
      return c.scalar(t, 1);
    case Reduction::max:
      return lowest(c, t);
    case Reduction::min:
      break;
  }
  return highest(c, t);
}

// ---- UnsortedSegment*: ids of any rank, the first axes of data; rows of a negative id are left out

Value* rows_of(MapperContext& c, Value* data, Value* ids) {
  const Shape& s = ids->shape();
  if (s.ranked() && s.rank() == 1) return data;
  if (s.ranked() && s.rank() == 0) return c.unsqueeze(data, {0});
  Value* count = c.unsqueeze(c.size_of(ids), {0});
  if (s.ranked()) return c.reshape_to(data, c.concat({count, c.dims(data, s.rank(), onnx::kToEnd)}, 0));
  Value* shape = c.shape_of(data);
  Value* first = c.unsqueeze(c.rank_of(ids), {0});
  Value* rest = after(c, shape, first, 0);
  return c.reshape_to(data, c.concat({count, rest}, 0));
}

Value* flat_ids(MapperContext& c, Value* ids) {
  ids = c.cast(ids, DType::i64);
  return ids->shape().ranked() && ids->shape().rank() == 1 ? ids : c.reshape(ids, {-1});
}

bool none_is_negative(const Value* ids) {
  const auto known = constant_ints(ids);
  return known && std::ranges::all_of(*known, [](std::int64_t i) { return i >= 0; });
}

template <By by>
Values map_unsorted(MapperContext& c) {
  const Reduction how = reduction_of(c.node().op());
  Value* rows = rows_of(c, c.in(0), c.in(1));
  Value* ids = flat_ids(c, c.in(1));
  Value* count = as_vector(c, c.in(2));
  Value* init = unit(c, how, rows->dtype());
  const bool arithmetic = how == Reduction::add || how == Reduction::mul;
  const auto reduced_rows = [&](Value* places, Value* segments) {
    const auto reduce = arithmetic ? segment_reduce : segment_extremum;
    return reduce(c, by, how, rows, places, segments, init);
  };
  if (by == By::compare || none_is_negative(ids))  // a negative id is equal to none
    return {reduced_rows(ids, count)};
  Value* dropped = c.less(ids, c.i64(0));
  Value* places = c.where(dropped, count, ids);  // one segment more, for these
  Value* more = c.add(count, c.ints({1}));
  return {head(c, reduced_rows(places, more), count)};
}

// ---- Segment*, SparseSegment*: ids ascend

struct Rows {
  Value *data, *ids, *count;
};

Value* last_plus_one(MapperContext& c, Value* ids) {
  Value* one = c.ints({1});
  Value* next = c.add(c.slice(ids, {-1}, {onnx::kToEnd}, {0}), one);
  const Shape& s = next->shape();
  if (s.ranked() && s.rank() == 1 && s[0] == 1) return next;
  return c.reduce("ReduceSum", next, Ints{0}, true);  // 0 of no ids
}

Rows sorted_rows(MapperContext& c) {
  const bool sparse = c.node().op().starts_with("Sparse");
  Value* data = sparse ? c.gather(c.in(0), c.in(1), 0) : c.in(0);
  const std::size_t next = sparse ? 2 : 1;
  Value* ids = c.cast(c.in(next), DType::i64);
  if (!ids->shape().ranked()) ids = c.reshape(ids, {-1});
  Value* count = c.input_count() > next + 1 ? as_vector(c, c.in(next + 1)) : last_plus_one(c, ids);
  return {data, ids, count};
}

template <By by>
Values map_sum_or_product(MapperContext& c) {
  const Rows r = sorted_rows(c);
  const Reduction how = reduction_of(c.node().op());
  return {segment_reduce(c, by, how, r.data, r.ids, r.count, unit(c, how, r.data->dtype()))};
}

// The sum over the number of rows, or over its root; 0 where there are none.
template <By by>
Values map_mean(MapperContext& c) {
  const Rows r = sorted_rows(c);
  const DType type = r.data->dtype();
  const DType work = is_half(type) ? DType::f32 : type;
  Value* sum = segment_sum(c, by, c.cast(r.data, work), r.ids, r.count);
  Value* sizes = segment_sizes(c, by, r.ids, r.count);
  Value* some = c.cast(c.maximum(sizes, c.i64(1)), work);
  const bool by_root = c.node().op().find("SqrtN") != std::string::npos;
  Value* divisor = by_root ? c.sqrt(some) : some;
  return {c.cast(c.div(sum, with_tail(c, divisor, r.data)), type)};
}

// 0 where there are no rows. One of the segment's rows, whichever, is as good a beginning as the lowest
// number.
Values map_extremum(MapperContext& c) {
  const Rows r = sorted_rows(c);
  const DType type = r.data->dtype();
  const DType work = is_half(type) ? DType::f32 : type;
  Value* rows = c.cast(r.data, work);
  Value* zeros = segment_blank(c, rows, r.count, c.scalar(work, 0));
  Value* some = scatter_rows(c, zeros, r.ids, rows);
  const std::string reduction = reduction_of(c.node().op()) == Reduction::max ? "max" : "min";
  Value* most = scatter_rows(c, some, r.ids, rows, reduction);
  return {c.cast(most, type)};
}

Values map_extremum_by_compare(MapperContext& c) {
  const Rows r = sorted_rows(c);
  const Reduction how = reduction_of(c.node().op());
  const double sign = how == Reduction::max ? -1 : 1;
  Value* init =
      is_float(r.data->dtype()) ? c.scalar(r.data->dtype(), sign * kInfinity) : unit(c, how, r.data->dtype());
  Value* most = segment_extremum(c, By::compare, how, r.data, r.ids, r.count, init);
  Value* sizes = segment_sizes(c, By::compare, r.ids, r.count);
  Value* none = c.equal(sizes, c.i64(0));
  Value* zero = c.scalar_like(most, 0);
  return {c.where(with_tail(c, none, r.data), zero, most)};
}

// ---- gradients of the sparse ones: each row of the data gets the gradients of the segments that read it;
// for a mean, divided by their numbers of rows. The second version gives only the rows that were read, and
// which they are.

template <By by>
Value* gradient_rows(MapperContext& c) {
  Value* ids = c.cast(c.in(2), DType::i64);
  Value* rows = c.gather(c.in(0), ids, 0);
  const std::string& op = c.node().op();
  if (op.starts_with("SparseSegmentSum")) return rows;
  Value* one = c.i64(1);
  Value* sizes = c.maximum(segment_sizes(c, by, ids, c.dims(c.in(0), 0, 1)), one);
  const DType work = is_half(rows->dtype()) ? DType::f32 : rows->dtype();
  Value* count = c.cast(c.gather(sizes, ids, 0), work);
  if (op.starts_with("SparseSegmentSqrtN")) count = c.sqrt(count);
  return c.cast(c.div(c.cast(rows, work), with_tail(c, count, rows)), rows->dtype());
}

template <By by>
Values map_sparse_gradient(MapperContext& c) {
  Value* rows = gradient_rows<by>(c);
  return {segment_sum(c, by, rows, c.cast(c.in(1), DType::i64), as_vector(c, c.in(3)))};
}
template <By by>
Values map_sparse_gradient_v2(MapperContext& c) {
  Value* rows = gradient_rows<by>(c);
  const Values u = c.emit_n("Unique", {c.in(1)}, {{"sorted", 1}}, 4);
  return {segment_sum(c, by, rows, u[2], c.dims(u[0], 0, 1)), u[0]};
}

}  // namespace

void register_segment(OpRegistry& r) {
  const std::string memory = "below opset 16 memory of data times segments";
  const std::string extremum =
      "below opset 18 memory of data times segments; in a segment with NaN only the rows after the last NaN "
      "count";
  const auto sums = [&](std::vector<std::string> names, Mapper low, Mapper high) {
    r.ops(names).note(memory).ignores({"sparse_gradient"}).by(std::move(low));
    r.ops(names).since(16).ignores({"sparse_gradient"}).by(std::move(high));
  };
  const auto extrema = [&](std::vector<std::string> names, Mapper low, Mapper high) {
    r.ops(names).note(extremum).by(std::move(low));
    r.ops(names).since(18).note(extremum).by(std::move(high));
  };
  sums({"UnsortedSegmentSum", "UnsortedSegmentProd"}, map_unsorted<By::compare>, map_unsorted<By::scatter>);
  extrema({"UnsortedSegmentMax", "UnsortedSegmentMin"}, map_unsorted<By::compare>, map_unsorted<By::scatter>);
  sums({"SegmentSum", "SegmentProd", "SparseSegmentSum", "SparseSegmentSumWithNumSegments"},
       map_sum_or_product<By::compare>, map_sum_or_product<By::scatter>);
  sums({"SegmentMean", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentMeanWithNumSegments",
        "SparseSegmentSqrtNWithNumSegments"},
       map_mean<By::compare>, map_mean<By::scatter>);
  extrema({"SegmentMax", "SegmentMin"}, map_extremum_by_compare, map_extremum);
  sums({"SegmentSumV2", "SegmentProdV2"}, map_unsorted<By::compare>, map_unsorted<By::scatter>);
  sums({"SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"},
       map_sparse_gradient<By::compare>, map_sparse_gradient<By::scatter>);
  sums({"SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"},
       map_sparse_gradient_v2<By::compare>, map_sparse_gradient_v2<By::scatter>);
  extrema({"SegmentMaxV2", "SegmentMinV2"}, map_unsorted<By::compare>, map_unsorted<By::scatter>);
}

}  // namespace t2o::op_mappers
