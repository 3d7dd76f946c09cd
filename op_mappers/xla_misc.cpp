#include <algorithm>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/xla.h"

// What else TensorFlow has of XLA's operators.
namespace t2o::op_mappers {
namespace {

// ---- XlaPad: first between the elements, then at the ends, where a negative padding takes away

Value* padded_at_ends(MapperContext& c, Value* x, const Ints& low, const Ints& high, Value* fill) {
  Ints begins, ends, starts, stops, axes;
  for (std::size_t i = 0; i < low.size(); ++i) {
    begins.push_back(std::max<std::int64_t>(low[i], 0));
    ends.push_back(std::max<std::int64_t>(high[i], 0));
    if (low[i] >= 0 && high[i] >= 0) continue;
    axes.push_back(static_cast<std::int64_t>(i));
    starts.push_back(std::max<std::int64_t>(-low[i], 0));
    stops.push_back(high[i] < 0 ? high[i] : onnx::kToEnd);
  }
  Value* y = c.pad(x, c.ints(joined(begins, ends)), fill);
  return axes.empty() ? y : c.slice(y, starts, stops, axes);
}

Value* padded_at_runtime(MapperContext& c, Value* x, Value* low, Value* high, std::size_t rank, Value* fill) {
  Value* zero = c.i64(0);
  Value* begins = c.maximum(low, zero);
  Value* ends = c.maximum(high, zero);
  Value* y = c.pad(x, c.concat({begins, ends}, 0), fill);
  const Ints axes = ints_from(0, static_cast<std::int64_t>(rank));
  Value* starts = c.sub(begins, low);
  Value* cut = c.sub(ends, high);
  Value* stops = c.sub(c.shape_of(y), cut);
  return c.slice(y, starts, stops, c.ints(axes));
}

Values map_pad(MapperContext& c) {
  Value *x = c.in(0), *fill = c.in(1);
  const std::size_t entries = c.const_ints(4).size();
  const Ints between = const_entries(c, 4, c.has_rank(0) ? static_cast<std::size_t>(c.rank(0)) : entries, 0,
                                     "padding_interior");
  for (std::size_t i = 0; i < between.size(); ++i)
    x = spread_apart(c, x, between.size(), static_cast<int>(i), between[i], fill);
  if (between.empty()) return {c.identity(x)};
  if (c.maybe_ints(2) && c.maybe_ints(3)) {
    constexpr std::int64_t kLowest = std::numeric_limits<std::int32_t>::min();
    const Ints low = const_entries(c, 2, between.size(), kLowest, "padding_low"),
               high = const_entries(c, 3, between.size(), kLowest, "padding_high");
    return {padded_at_ends(c, x, low, high, fill)};
  }
  Value* begins = c.cast(c.in(2), DType::i64);
  return {padded_at_runtime(c, x, begins, c.cast(c.in(3), DType::i64), between.size(), fill)};
}

// ---- XlaBroadcastHelper: the operand of fewer axes gets axes of 1 where broadcast_dims does not name one

Values map_broadcast_helper(MapperContext& c) {
  const Ints dims = c.const_ints(2);
  const int left = c.rank(0), right = c.rank(1);
  if (left == right || left == 0 || right == 0) {  // nothing to do for a scalar either
    if (!dims.empty()) c.fail(Code::bad_model, "broadcast_dims is given for operands that need none");
    return {c.identity(c.in(0)), c.identity(c.in(1))};
  }
  const int most = std::max(left, right), fewest = std::min(left, right);
  check_axes(c, dims, most, "broadcast_dims");
  if (dims.size() != static_cast<std::size_t>(fewest))
    c.fail(Code::bad_model, "broadcast_dims needs one entry for each axis of the operand of lower rank");
  if (!std::ranges::is_sorted(dims)) c.fail(Code::unsupported_attr, "broadcast_dims that are not in order");
  Ints fresh;
  for (int a = 0; a < most; ++a)
    if (!has_axis(dims, a)) fresh.push_back(a);
  Value* lower = c.unsqueeze(c.in(left < right ? 0 : 1), fresh);
  Value* other = c.identity(c.in(left < right ? 1 : 0));
  return left < right ? Values{lower, other} : Values{other, lower};
}

// ---- XlaConcatND, XlaSplitND: blocks of a tensor, in row-major order

struct Grid {
  Ints counts, paddings;
  std::int64_t blocks = 1;
};

Grid read_grid(MapperContext& c, const char* counts, std::size_t blocks) {
  Grid g;
  g.counts = c.attr<Ints>(counts);
  g.paddings = c.attr_or("paddings", Ints{});
  if (g.paddings.empty()) g.paddings = Ints(g.counts.size(), 0);
  for (const std::int64_t n : g.counts)
    if (n < 1 || __builtin_mul_overflow(g.blocks, n, &g.blocks))
      c.fail(Code::bad_model, std::string(counts) + " has an entry that is not positive");
  if (g.counts.empty() || g.paddings.size() != g.counts.size() ||
      g.blocks != static_cast<std::int64_t>(blocks))
    c.fail(Code::bad_model, std::string(counts) + " does not fit its tensors");
  return g;
}

Values map_concat_nd(MapperContext& c) {
  const Grid g = read_grid(c, "num_concats", c.input_count());
  Values blocks = c.inputs();
  for (std::size_t axis = g.counts.size(); axis-- > 0;) {
    const auto n = static_cast<std::size_t>(g.counts[axis]);
    Values rows;
    for (std::size_t i = 0; i < blocks.size(); i += n) {
      const auto first = blocks.begin() + static_cast<std::ptrdiff_t>(i);
      rows.push_back(n == 1 ? *first
                            : c.concat(Values(first, first + static_cast<std::ptrdiff_t>(n)),
                                       static_cast<std::int64_t>(axis)));
    }
    blocks = rows;
  }
  Ints axes, ends;
  for (std::size_t a = 0; a < g.paddings.size(); ++a)
    if (g.paddings[a] != 0) axes.push_back(static_cast<std::int64_t>(a)), ends.push_back(-g.paddings[a]);
  return {axes.empty() ? c.identity(blocks[0]) : c.slice(blocks[0], Ints(axes.size(), 0), ends, axes)};
}

Values map_split_nd(MapperContext& c) {
  const Grid g = read_grid(c, "num_splits", c.node().outputs().size());
  if (c.has_rank(0) && static_cast<std::size_t>(c.rank(0)) != g.counts.size())
    c.fail(Code::bad_model, "num_splits needs one entry for each axis");
  Value* zero = zero_of(c, c.in(0)->dtype());
  Values blocks{c.pad(c.in(0), c.ints(joined(Ints(g.counts.size(), 0), g.paddings)), zero)};
  for (std::size_t axis = 0; axis < g.counts.size(); ++axis) {
    if (g.counts[axis] == 1) continue;
    const std::int64_t padded = c.dim_of(0, static_cast<int>(axis)) + g.paddings[axis];
    if (padded % g.counts[axis] != 0) c.fail(Code::bad_model, "num_splits does not divide its padded axes");
    const Ints sizes = repeated(padded / g.counts[axis], g.counts[axis]);
    Values parts;
    for (Value* b : blocks)
      for (Value* part : c.split(b, sizes, static_cast<std::int64_t>(axis))) parts.push_back(part);
    blocks = parts;
  }
  return blocks;
}

// ---- notes to the compiler

Values map_as_is(MapperContext& c) {
  Values same;
  for (Value* v : c.inputs()) same.push_back(c.identity(v));
  return same;
}

// A shard is the whole where the sharding of xla_data.proto's OpSharding puts all of it everywhere, or cuts
// no axis.
Values map_shard(MapperContext& c) {
  const auto sharding = c.attr<std::string>("manual_sharding");
  if (!sharding.empty()) {
    const XlaMessage m(c, "manual_sharding", {1, 3, 4, 6, 8, 9, 10, 11, 12, 13});
    constexpr std::int64_t kReplicated = 0, kTiled = 3;
    const Ints& tiles = m.list(3);
    const bool uncut = !tiles.empty() && std::ranges::all_of(tiles, [](std::int64_t n) { return n == 1; });
    if (m.number(1) != kReplicated && !(m.number(1) == kTiled && uncut))
      c.fail(Code::unsupported_attr, "its sharding cuts the tensor into parts for several devices",
             "export the model for one device");
  }
  return {c.identity(c.in(0))};
}

// To f32's range with fewer digits; no other than bfloat16's has an ONNX form.
Values map_reduce_precision(MapperContext& c) {
  struct Format {
    DType type;
    std::int64_t exponent, mantissa;
  };
  constexpr Format kFormats[] = {
      {DType::f16, 5, 10}, {DType::bf16, 8, 7}, {DType::f32, 8, 23}, {DType::f64, 11, 52}};
  const auto exponent = c.attr<std::int64_t>("exponent_bits"),
             mantissa = c.attr<std::int64_t>("mantissa_bits");
  Value* x = c.in(0);
  for (const Format& f : kFormats)
    if (f.type == x->dtype() && exponent >= f.exponent && mantissa >= f.mantissa) return {c.identity(x)};
  if (x->dtype() == DType::f32 && exponent == 8 && mantissa == 7)
    return {c.cast(c.cast(x, DType::bf16), DType::f32)};
  c.fail(Code::unsupported_attr, std::to_string(exponent) + " bits of exponent and " +
                                     std::to_string(mantissa) + " of mantissa have no ONNX form");
}

Values map_replica(MapperContext& c) { return {c.constant<std::int32_t>(0)}; }

}  // namespace

void register_xla_misc(OpRegistry& r) {
  r.op("XlaPad").note("padding_interior known").by(map_pad);
  r.op("XlaBroadcastHelper").note("ranks known").by(map_broadcast_helper);
  r.op("XlaConcatND").ignores({"N"}).by(map_concat_nd);
  r.op("XlaSplitND").ignores({"N"}).note("sizes of split axes known").by(map_split_nd);
  r.op("XlaOptimizationBarrier").by(map_as_is);
  r.op("XlaSharding").ignores({"sharding", "unspecified_dims"}).by(map_as_is);
  r.op("XlaSpmdFullToShardShape").ignores({"dim", "unspecified_dims"}).note("for one device").by(map_shard);
  r.op("XlaSpmdShardToFullShape")
      .ignores({"dim", "unspecified_dims", "full_shape"})
      .note("for one device")
      .by(map_shard);
  r.op("XlaReducePrecision").note("f32 to bfloat16's digits, or nothing to reduce").by(map_reduce_precision);
  r.op("XlaReplicaId").note("one device").by(map_replica);
}

}  // namespace t2o::op_mappers
