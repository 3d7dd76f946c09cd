
#include "onnx/image_layout.h"
#include "op_mappers/all.h"
#include "op_mappers/window.h"

namespace t2o::op_mappers {
namespace {

std::int64_t block_size(MapperContext& c) {
  const auto block = c.attr<std::int64_t>("block_size");
  if (block < 1 || block > 1'000'000) c.fail(Code::bad_model, "block_size " + std::to_string(block));
  return block;
}

// The runtime's kernels compute in floating point, which holds all types but these.
bool needs_reshapes(DType t) { return contains({DType::i64, DType::u64, DType::string}, t) || is_complex(t); }

// [n, h, w, c] with every axis split or merged by reshapes around one transpose.
Value* rearranged(Emitter& e, Value* x, const Values& split, const Ints& perm, const Values& merged) {
  Value* wide = e.reshape_to(x, e.concat(split, 0));
  return e.reshape_to(e.transpose(wide, perm), e.concat(merged, 0));
}

struct Dims4 {
  Value *n, *h, *w, *c;
};
Dims4 dims_nhwc(Emitter& e, Value* x) {
  Value *n = e.dims(x, 0, 1), *h = e.dims(x, 1, 2);
  Value *w = e.dims(x, 2, 3), *c = e.dims(x, 3, 4);
  return {n, h, w, c};
}

// depth = (row in block * block + column in block) * channels + channel
Value* space_to_depth_exact(Emitter& e, Value* x, std::int64_t block) {
  const Dims4 d = dims_nhwc(e, x);
  Value* b = e.ints({block});
  Value *h = e.div(d.h, b), *w = e.div(d.w, b);
  Value* depth = e.mul(d.c, e.ints({block * block}));
  return rearranged(e, x, {d.n, h, b, w, b, d.c}, {0, 1, 3, 2, 4, 5}, {d.n, h, w, depth});
}
Value* depth_to_space_exact(Emitter& e, Value* x, std::int64_t block) {
  const Dims4 d = dims_nhwc(e, x);
  Value* b = e.ints({block});
  Value *h = e.mul(d.h, b), *w = e.mul(d.w, b);
  Value* depth = e.div(d.c, e.ints({block * block}));
  return rearranged(e, x, {d.n, d.h, d.w, b, b, depth}, {0, 1, 3, 2, 4, 5}, {d.n, h, w, depth});
}

using Exact = Value* (*)(Emitter&, Value*, std::int64_t);

Value* space_and_depth(MapperContext& c, const char* op, Exact exact, Attrs attrs) {
  const std::int64_t block = block_size(c);
  const Layout layout = c.layout();
  if (needs_reshapes(c.in(0)->dtype())) {
    Value* x = layout == Layout::channels_first ? c.transpose(c.in(0), onnx::channels_last_perm(4)) : c.in(0);
    Value* y = exact(c, x, block);
    return layout == Layout::channels_first ? c.transpose(y, onnx::channels_first_perm(4)) : y;
  }
  attrs.push_back({"blocksize", block});
  Value* x = to_channels_first(c, c.in(0), layout, 2);
  return from_channels_first(c, c.emit(op, {x}, attrs), layout, 2);
}
Values map_space_to_depth(MapperContext& c) {
  return {space_and_depth(c, "SpaceToDepth", space_to_depth_exact, {})};
}
Values map_depth_to_space(MapperContext& c) {
  return {space_and_depth(c, "DepthToSpace", depth_to_space_exact, {{"mode", std::string("DCR")}})};
}

// Blocks of the first M axes behind the batch. All sizes are 1-D i64 of M elements; padding: [M, 2].
struct Blocks {
  std::int64_t axes;
  Value *sizes, *begins, *ends;
};

Blocks read_blocks(MapperContext& c, Value* sizes, Value* paddings) {
  const Shape &s = sizes->shape(), &p = paddings->shape();
  Dim m = s.ranked() && s.rank() == 1 ? s[0] : kUnknownDim;
  if (!is_known(m) && p.ranked() && p.rank() == 2) m = p[0];
  if (!is_known(m))
    c.fail(Code::not_constant, "the number of blocked axes is not known", "give block_shape a static shape");
  if (m > 16) c.fail(Code::bad_model, "block_shape has " + std::to_string(m) + " elements");
  Value* padding = c.cast(paddings, DType::i64);
  Value* begins = c.reshape(c.slice(padding, {0}, {1}, {1}), {-1});
  Value* ends = c.reshape(c.slice(padding, {1}, {2}, {1}), {-1});
  return {m, c.cast(sizes, DType::i64), begins, ends};
}

// a[0], b[0], a[1], b[1] ...
Value* interleaved(Emitter& e, Value* a, Value* b) {
  Value* left = e.unsqueeze(a, {1});
  Value* right = e.unsqueeze(b, {1});
  return e.reshape(e.concat({left, right}, 1), {-1});
}

// The axes behind the blocked ones are taken as one, which needs no rank.
Value* space_to_batch(MapperContext& c, Value* x, const Blocks& b) {
  const auto m = static_cast<int>(b.axes);
  if (m == 0) return c.identity(x);
  Value* zero = c.ints({0});
  Value* rest_rank = c.reshape(c.sub(c.rank_of(x), c.scalar(DType::i64, m + 1)), {1});
  Value* rest_zeros = c.expand(zero, rest_rank);
  x = c.pad(x, c.concat({zero, b.begins, rest_zeros, zero, b.ends, rest_zeros}, 0), c.scalar_like(x, 0));
  Value* batch = c.dims(x, 0, 1);
  Value* outer = c.div(c.dims(x, 1, m + 1), b.sizes);
  Value* rest = c.dims(x, m + 1, INT32_MAX);
  Value* split = c.concat({batch, interleaved(c, outer, b.sizes), c.product(rest)}, 0);
  Ints perm;
  for (std::int64_t i = 0; i < m; ++i) perm.push_back(2 * i + 2);
  perm.push_back(0);
  for (std::int64_t i = 0; i < m; ++i) perm.push_back(2 * i + 1);
  perm.push_back(2 * m + 1);
  Value* y = c.transpose(c.reshape_to(x, split), perm);
  Value* merged_batch = c.mul(batch, c.product(b.sizes));
  return c.reshape_to(y, c.concat({merged_batch, outer, rest}, 0));
}

Value* batch_to_space(MapperContext& c, Value* x, const Blocks& b) {
  const auto m = static_cast<int>(b.axes);
  if (m == 0) return c.identity(x);
  Value* batch = c.div(c.dims(x, 0, 1), c.product(b.sizes));
  Value* outer = c.dims(x, 1, m + 1);
  Value* rest = c.dims(x, m + 1, INT32_MAX);
  Value* split = c.concat({b.sizes, batch, outer, c.product(rest)}, 0);
  Ints perm{m}, axes;
  for (std::int64_t i = 0; i < m; ++i) {
    perm.push_back(m + 1 + i);
    perm.push_back(i);
    axes.push_back(i + 1);
  }
  perm.push_back(2 * m + 1);
  Value* y = c.transpose(c.reshape_to(x, split), perm);
  Value* full = c.mul(outer, b.sizes);
  y = c.reshape_to(y, c.concat({batch, full, rest}, 0));
  return c.slice(y, b.begins, c.sub(full, b.ends), c.ints(axes));
}

Value* square_blocks(MapperContext& c) {
  const std::int64_t block = block_size(c);
  return c.ints({block, block});
}
Values map_space_to_batch_nd(MapperContext& c) {
  return {space_to_batch(c, c.in(0), read_blocks(c, c.in(1), c.in(2)))};
}
Values map_batch_to_space_nd(MapperContext& c) {
  return {batch_to_space(c, c.in(0), read_blocks(c, c.in(1), c.in(2)))};
}
Values map_space_to_batch(MapperContext& c) {
  return {space_to_batch(c, c.in(0), read_blocks(c, square_blocks(c), c.in(1)))};
}
Values map_batch_to_space(MapperContext& c) {
  return {batch_to_space(c, c.in(0), read_blocks(c, square_blocks(c), c.in(1)))};
}

// The position in the source format of each letter of the destination format.
Ints format_permutation(MapperContext& c, const std::string& from, const std::string& to) {
  Ints perm;
  for (const char letter : to) {
    const std::size_t i = from.find(letter);
    if (i == std::string::npos || from.size() != to.size())
      c.fail(Code::bad_model, "src_format '" + from + "' and dst_format '" + to + "' do not fit");
    perm.push_back(static_cast<std::int64_t>(i));
  }
  return perm;
}

std::string without_batch_and_channel(std::string format) {
  std::erase_if(format, [](char l) { return l == 'N' || l == 'C'; });
  return format;
}

// The one or the other order, by how many rows x turns out to have.
Value* rows_to_take(MapperContext& c, const Ints& all, const Ints& spatial) {
  Ints padded = spatial;
  padded.resize(all.size(), 0);
  Value* rows = c.dims(c.in(0), 0, 1);
  Value* has_all = c.equal(rows, c.ints({static_cast<std::int64_t>(all.size())}));
  Value* full = c.ints(all);
  Value* order = c.where(has_all, full, c.ints(padded));
  Value* first = c.ints({0});
  return c.slice(order, first, rows, first);
}

Values map_vec_permute(MapperContext& c) {
  const auto from = c.attr_or<std::string>("src_format", "NHWC"),
             to = c.attr_or<std::string>("dst_format", "NCHW");
  const Ints all = format_permutation(c, from, to);
  const Ints spatial = format_permutation(c, without_batch_and_channel(from), without_batch_and_channel(to));
  if (!c.has_rank(0) || !is_known(c.in(0)->shape()[0]))
    return {c.gather(c.in(0), rows_to_take(c, all, spatial), 0)};
  const auto rows = static_cast<std::size_t>(c.dim_of(0, 0));
  if (rows != spatial.size() && rows != all.size())
    c.fail(Code::bad_model, "x does not have one row for each letter of src_format");
  return {c.gather(c.in(0), c.ints(rows == all.size() ? all : spatial), 0)};
}

// y = index in dst_format of the letter that stands at x in src_format; x may count from the end
Values map_dim_map(MapperContext& c) {
  const auto from = c.attr_or<std::string>("src_format", "NHWC"),
             to = c.attr_or<std::string>("dst_format", "NCHW");
  Value* table = c.cast(c.ints(format_permutation(c, to, from)), c.in(0)->dtype());
  return {c.gather(table, c.in(0), 0)};
}

}  // namespace

void register_space(OpRegistry& r) {
  r.op("SpaceToDepth").by(map_space_to_depth);
  r.op("DepthToSpace").by(map_depth_to_space);
  r.op("SpaceToBatchND").note("block_shape with a static shape").by(map_space_to_batch_nd);
  r.op("BatchToSpaceND").note("block_shape with a static shape").by(map_batch_to_space_nd);
  r.op("SpaceToBatch").by(map_space_to_batch);
  r.op("BatchToSpace").by(map_batch_to_space);
  r.op("DataFormatVecPermute").by(map_vec_permute);
  r.op("DataFormatDimMap").by(map_dim_map);
}

}  // namespace t2o::op_mappers
