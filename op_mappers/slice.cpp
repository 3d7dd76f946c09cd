#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "op_mappers/all.h"
#include "op_mappers/three_axes.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

Value* constant_slice(MapperContext& c, const Ints& begin, const Ints& size) {
  if (begin.size() != size.size()) c.fail(Code::bad_model, "begin and size have different lengths");
  Ints starts, ends, axes;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] == 0 && size[i] == -1) continue;
    if (begin[i] < 0 || size[i] < -1 || size[i] > kEnd - begin[i])
      c.fail(Code::bad_model, "it takes " + std::to_string(size[i]) + " elements from number " +
                                  std::to_string(begin[i]) + " on, which no tensor has");
    axes.push_back(static_cast<std::int64_t>(i));
    starts.push_back(begin[i]);
    ends.push_back(size[i] == -1 ? kEnd : begin[i] + size[i]);
  }
  return axes.empty() ? c.in(0) : c.slice(c.in(0), starts, ends, axes);
}

std::optional<std::int64_t> vector_size(const Value* v) {
  const Shape& s = v->shape();
  if (!s.ranked() || s.rank() != 1 || !is_known(s[0])) return std::nullopt;
  return s[0];
}

Values map_slice(MapperContext& c) {
  const auto begin = c.maybe_ints(1), size = c.maybe_ints(2);
  if (begin && size) return {constant_slice(c, *begin, *size)};
  std::optional<std::int64_t> rank =
      c.has_rank(0) ? std::optional<std::int64_t>(c.rank(0)) : vector_size(c.in(1));
  if (!rank) rank = vector_size(c.in(2));
  if (rank && *rank == 0) return {c.in(0)};
  Value* starts = c.cast(c.in(1), DType::i64);
  Value* sizes = c.cast(c.in(2), DType::i64);
  Value* to_end = c.equal(sizes, c.i64(-1));
  Value* ends = c.where(to_end, c.constant(kEnd), c.add(starts, sizes));
  if (rank) return {c.slice(c.in(0), starts, ends, c.ints(ints_from(0, *rank)))};
  return {c.emit("Slice", {c.in(0), starts, ends})};  // of all axes
}

std::size_t parts(MapperContext& c, const char* attr) {
  const auto n = c.attr<std::int64_t>(attr);
  if (n < 0 || static_cast<std::size_t>(n) != c.node().outputs().size())
    c.fail(Code::bad_model, std::string(attr) + " is not the number of outputs");
  return static_cast<std::size_t>(n);
}

Dim dim_if_known(const Value* v, std::int64_t axis) {
  const Shape& s = v->shape();
  if (!s.ranked() || axis >= s.rank() || axis < -s.rank()) return kUnknownDim;
  return s[static_cast<int>(axis)];
}

// The pieces of a known size, or none where the size is known at run time only.
Values known_split(MapperContext& c, Value* x, std::size_t n, std::int64_t axis) {
  const auto count = static_cast<std::int64_t>(n);
  const Dim size = dim_if_known(x, axis);
  if (!is_known(size)) return {};
  if (size % count != 0) c.fail(Code::bad_model, "the axis does not divide by num_split");
  return c.split(x, Ints(n, size / count), axis);
}

Values equal_split(MapperContext& c, Value* x, std::size_t n, std::int64_t axis) {
  return c.emit_n("Split", {x}, {{"axis", axis}}, n);
}
Values equal_split_18(MapperContext& c, Value* x, std::size_t n, std::int64_t axis) {
  const auto count = static_cast<std::int64_t>(n);
  return c.emit_n("Split", {x}, {{"axis", axis}, {"num_outputs", count}}, n);
}

// An axis that is known at run time only is the middle one of three.
using Pieces = std::function<Values(Value* x, std::int64_t axis)>;
Values split_along(MapperContext& c, Value* x, std::size_t axis_input, const Pieces& pieces) {
  if (const auto axis = c.maybe_ints(axis_input); axis && axis->size() == 1) return pieces(x, axis->front());
  const Sides s = sides(c, x, counted_from_front(c, c.in(axis_input), x));
  Values out = pieces(as_three(c, x, s), 1);
  for (Value*& piece : out) piece = from_three(c, piece, s);
  return out;
}

template <Values (*equal)(MapperContext&, Value*, std::size_t, std::int64_t)>
Values map_split(MapperContext& c) {
  const std::size_t n = parts(c, "num_split");
  if (n == 1) return {c.in(1)};
  return split_along(c, c.in(1), 0, [&](Value* x, std::int64_t axis) {
    Values known = known_split(c, x, n, axis);
    return known.empty() ? equal(c, x, n, axis) : known;
  });
}

// Pieces before the -1 are counted from the begin of the axis, those after it from its end.
Values split_around_rest(MapperContext& c, Value* x, const Ints& sizes, std::size_t rest, std::int64_t axis) {
  Values out;
  std::int64_t before = 0, behind = 0;
  for (std::size_t i = rest + 1; i < sizes.size(); ++i) behind += sizes[i];
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t start = before, end = before + sizes[i];
    if (i == rest) end = behind == 0 ? kEnd : -behind;
    if (i > rest && sizes[i] != 0) start = -behind, end = behind == sizes[i] ? kEnd : sizes[i] - behind;
    if (i > rest) behind -= sizes[i];
    if (i < rest) before = end;
    const bool nothing = i != rest && sizes[i] == 0;
    out.push_back(c.slice(x, {nothing ? 0 : start}, {nothing ? 0 : end}, {axis}));
  }
  return out;
}

Values constant_split(MapperContext& c, Value* x, Ints sizes, std::int64_t axis) {
  const auto rest = std::ranges::find(sizes, -1);
  if (rest == sizes.end()) return c.split(x, sizes, axis);
  const Dim size = dim_if_known(x, axis);
  if (!is_known(size))
    return split_around_rest(c, x, sizes, static_cast<std::size_t>(rest - sizes.begin()), axis);
  *rest = size - (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) + 1);
  if (*rest < 0) c.fail(Code::bad_model, "size_splits are more than the axis has");
  return c.split(x, sizes, axis);
}

// The sizes as they are when the model runs: what is left stands for the -1.
Value* runtime_sizes(MapperContext& c, Value* x, std::int64_t axis) {
  Value* sizes = c.cast(c.in(1), DType::i64);
  Value* minus_one = c.i64(-1);
  Value* others = c.sub(c.reduce("ReduceSum", sizes, {0}, true), minus_one);
  Value* size = c.gather(c.shape_of(x), c.ints({axis}), 0);
  Value* is_rest = c.equal(sizes, minus_one);
  return c.where(is_rest, c.sub(size, others), sizes);
}

Values split_by_input(MapperContext& c, Value* x, std::size_t n, std::int64_t axis) {
  return c.emit_n("Split", {x, runtime_sizes(c, x, axis)}, {{"axis", axis}}, n);
}

// Below opset 13 sizes are attributes: slices between the sums of the sizes.
Values split_by_slices(MapperContext& c, Value* x, std::size_t n, std::int64_t axis) {
  Value* sizes = runtime_sizes(c, x, axis);
  Value* ends = c.cumsum(sizes, c.i64(0), false, false);
  Value* starts = c.sub(ends, sizes);
  Value* along = c.ints({axis});
  Values out;
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    Value* start = c.slice(starts, {at}, {at + 1}, {0});
    out.push_back(c.slice(x, start, c.slice(ends, {at}, {at + 1}, {0}), along));
  }
  return out;
}

template <Values (*split)(MapperContext&, Value*, std::size_t, std::int64_t)>
Values map_split_v(MapperContext& c) {
  const std::size_t n = parts(c, "num_split");
  const auto sizes = c.maybe_ints(1);
  if (sizes && sizes->size() != n) c.fail(Code::bad_model, "size_splits has not num_split elements");
  if (n == 1) return {c.in(0)};
  return split_along(c, c.in(0), 2, [&](Value* x, std::int64_t axis) {
    return sizes ? constant_split(c, x, *sizes, axis) : split(c, x, n, axis);
  });
}

Values map_unpack(MapperContext& c) {
  const std::size_t n = parts(c, "num");
  const auto axis = c.attr<std::int64_t>("axis");
  if (c.has_rank(0)) {
    const Dim size = c.in(0)->shape()[static_cast<int>(c.front_axis(axis, c.rank(0)))];
    if (is_known(size) && size != static_cast<Dim>(n))
      c.fail(Code::bad_model,
             "there are " + std::to_string(size) + " along its axis, not " + std::to_string(n));
  }
  Values out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(c.gather(c.in(0), c.i64(static_cast<std::int64_t>(i)), axis));
  return out;
}

}  // namespace

void register_slice(OpRegistry& r) {
  r.op("Slice").by(map_slice);
  r.op("Split").by(map_split<equal_split>);
  r.op("Split").since(18).by(map_split<equal_split_18>);
  r.op("SplitV").by(map_split_v<split_by_slices>);
  r.op("SplitV").since(13).by(map_split_v<split_by_input>);
  r.op("Unpack").by(map_unpack);
}

}  // namespace t2o::op_mappers
