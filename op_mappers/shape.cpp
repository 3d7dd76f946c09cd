#include <algorithm>
#include <limits>

#include "onnx/elements.h"
#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"
#include "op_mappers/source_patterns.h"

namespace t2o::op_mappers {
namespace {

Values map_identity(MapperContext& c) { return c.inputs(); }
Values map_first(MapperContext& c) { return {c.in(0)}; }

Values map_shape(MapperContext& c) {
  Values out;
  for (std::size_t i = 0; i < c.input_count(); ++i)
    out.push_back(c.cast(c.shape_of(c.in(i)), c.output_dtype(i)));
  return out;
}
Values map_size(MapperContext& c) { return {c.cast(c.size_of(c.in(0)), c.output_dtype())}; }
Values map_rank(MapperContext& c) { return {c.cast(c.rank_of(c.in(0)), DType::i32)}; }

// The constant dims of a Reshape, if all sizes are known but one, which is inferred; or but some that x has
// at the same place, which are copied. Not both: nothing can be inferred beside a size that may turn out to
// be 0.
std::optional<Ints> dims_to_infer(const Value* x, const Value* shape) {
  const auto& known = shape->known_elements();
  if (shape->constant() || !known) return std::nullopt;
  const auto is_copied = [&](std::size_t i) {
    const int axis = static_cast<int>(i);
    return is_symbol((*known)[i]) && x->shape().ranked() && axis < x->shape().rank() &&
           x->shape()[axis] == (*known)[i];
  };
  Ints dims = *known;
  int unknown = 0, copied = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return std::nullopt;
    if (dims[i] > 0) continue;
    ++unknown;
    if (is_copied(i)) ++copied;
    dims[i] = is_copied(i) ? 0 : -1;
  }
  if (unknown == 1) std::ranges::replace(dims, std::int64_t{0}, std::int64_t{-1});
  return unknown <= 1 || copied == unknown ? std::optional(dims) : std::nullopt;
}

// The constant dims of a Reshape whose result turns out to have, at each place, a known size or that of x.
std::optional<Ints> copied_dims(const Shape& x, const Shape& y) {
  if (!x.ranked() || !y.ranked()) return std::nullopt;
  Ints dims = y.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] > 0) continue;
    if (!is_symbol(dims[i]) || static_cast<int>(i) >= x.rank() || x[static_cast<int>(i)] != dims[i])
      return std::nullopt;
    dims[i] = 0;
  }
  return dims;
}

// The same before anything is written: the size that is left is what the symbols leave of x.
std::optional<Ints> dims_left_over(MapperContext& c) {
  const auto& known = c.in(1)->known_elements();
  if (c.in(1)->constant() || !known || contains(*known, 0)) return std::nullopt;
  const Shape y = onnx::refined_shape("Reshape", {c.in(0), c.in(1)}, {}, Shape(*known), c.graph().symbols());
  return copied_dims(c.in(0)->shape(), y);
}

// If the tensor is empty, the size inferred beside a size of 0 is what the other sizes, those that are not 0,
// leave. ONNX does not infer that. There are no elements to keep: a scalar expands to none.
Value* empty_reshape(MapperContext& c, const Ints& dims) {
  Value* x = c.in(0);
  std::int64_t product = 1;
  for (const std::int64_t d : dims)
    if (d > 0 && __builtin_mul_overflow(product, d, &product))
      c.fail(Code::bad_model, "the shape of Reshape is too large");
  Value* one = c.i64(1);
  Value* sizes = c.shape_of(x);
  Value* is_empty = c.equal(sizes, c.i64(0));
  Value* count = c.product(c.where(is_empty, one, sizes));
  Value* inferred = c.div(count, c.constant(product));
  Values parts;
  for (const std::int64_t d : dims) parts.push_back(d < 0 ? inferred : c.ints({d}));
  Value* filler = zero_of(c, x->dtype());
  return c.expand(filler, c.concat(parts, 0));
}

bool infers_beside_nothing(const Ints& dims) {
  return std::ranges::count(dims, 0) > 0 && std::ranges::count(dims, -1) == 1;
}

// What cannot run at all, as after an input's shape was given that the model is not made for. What a branch
// holds may never run.
void check_elements(MapperContext& c, const Ints& dims) {
  const auto elements = c.in(0)->shape().elements();
  if (!elements || c.graph().parent()) return;
  std::int64_t product = 1;
  for (const std::int64_t d : dims)
    if (d >= 0 && __builtin_mul_overflow(product, d, &product)) return;
  const bool inferred = std::ranges::count(dims, -1) == 1;
  if (inferred ? product == 0 || *elements % product == 0 : product == *elements) return;
  std::string sizes;
  for (const std::int64_t d : dims) sizes += (sizes.empty() ? "" : ",") + std::to_string(d);
  c.fail(Code::bad_model, std::to_string(*elements) + " elements do not fit the shape [" + sizes + "]",
         "check the shapes of the inputs");
}

Values map_reshape(MapperContext& c) {
  if (const auto dims = c.maybe_ints(1)) check_elements(c, *dims);
  if (const auto dims = c.maybe_ints(1); dims && infers_beside_nothing(*dims))
    return {empty_reshape(c, *dims)};
  if (const auto dims = dims_to_infer(c.in(0), c.in(1))) return {c.reshape(c.in(0), *dims)};
  if (const auto dims = dims_left_over(c)) return {c.reshape(c.in(0), *dims)};
  Value* y = c.reshape_to(c.in(0), c.in(1));
  if (const auto dims = c.in(1)->constant() ? std::nullopt : copied_dims(c.in(0)->shape(), y->shape()))
    return {c.reshape(c.in(0), *dims)};
  return {y};
}

// Axes are an attribute: one that is known at run time only is said by the shape.
Values map_expand_dims(MapperContext& c) {
  if (const auto axis = c.maybe_ints(1); axis && axis->size() == 1) return {c.unsqueeze(c.in(0), *axis)};
  Value* dims = c.shape_of(c.in(0));
  Value* places = c.add(c.rank_of(c.in(0)), c.i64(1));
  Value* axis = c.mod(c.reshape(c.cast(c.in(1), DType::i64), {-1}), places);
  Value* first = c.ints({0});
  Value* end = c.ints({std::numeric_limits<std::int64_t>::max()});
  Value* before = c.slice(dims, first, axis, first);
  Value* behind = c.slice(dims, axis, end, first);
  return {c.reshape_to(c.in(0), c.concat({before, c.ints({1}), behind}, 0))};
}

Values map_expand_dims_runtime(MapperContext& c) {
  if (c.maybe_ints(1)) return map_expand_dims(c);
  Value* axis = c.reshape(c.cast(c.in(1), DType::i64), {1});
  return {c.emit("Unsqueeze", {c.in(0), axis})};
}

Values map_squeeze(MapperContext& c) {
  Value* x = c.in(0);
  Ints axes = c.attr_or<Ints>("squeeze_dims", {});
  if (!axes.empty()) return {c.squeeze(x, axes)};
  const Shape& s = x->shape();
  if (!s.is_static()) return {c.emit("Squeeze", {x})};  // every axis that turns out to be 1
  for (int i = 0; i < s.rank(); ++i)
    if (s[i] == 1) axes.push_back(i);
  return {axes.empty() ? x : c.squeeze(x, axes)};
}

Value* element(MapperContext& c, Value* vector, std::int64_t i) { return c.gather(vector, c.constant(i), 0); }

// y[i0, i1 ...] = flat(x)[sum of i_k * stride(perm[k])]: a Transpose whose perm is known at run time only.
Value* gathered_transpose(MapperContext& c, Value* x, Value* perm) {
  const int rank = c.rank(0);
  Value* shape = c.shape_of(x);
  Value* stride = c.i64(1);
  Values strides;
  for (int i = rank - 1; i >= 0; --i) {
    strides.insert(strides.begin(), c.unsqueeze(stride, {0}));
    stride = c.mul(stride, element(c, shape, i));
  }
  Value* sizes = c.gather(shape, perm, 0);
  Value* steps = c.gather(c.concat(strides, 0), perm, 0);
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* index = zero;
  for (int i = 0; i < rank; ++i) {
    Value* along = c.mul(c.range(zero, element(c, sizes, i), one), element(c, steps, i));
    Ints behind;
    for (int k = 1; k < rank - i; ++k) behind.push_back(k);
    index = c.add(index, c.unsqueeze(along, behind));
  }
  return c.gather(c.reshape(x, {-1}), index, 0);
}

// The same without a rank: a Loop over the axes makes the index, flat.
Value* gathered_transpose_of_any_rank(MapperContext& c, Value* x, Value* perm) {
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* shape = c.shape_of(x);
  perm = c.mod(perm, c.maximum(c.rank_of(x), one));
  Value* sizes = c.gather(shape, perm, 0);
  Value* axes = c.range(zero, c.rank_of(x), one);
  Value* is_behind = c.less(c.unsqueeze(perm, {1}), axes);  // [axis of y, axis of x]
  Value* strides = c.reduce("ReduceProd", c.where(is_behind, shape, one), Ints{1}, false);
  Value* start = c.ints({0});
  Value* index = counted_loop_of_any_size(c, c.rank_of(x), {start},
                                          [&](Emitter& e, Value* k, const Values& state) -> Values {
                                            Value* size = e.squeeze(e.gather(sizes, k, 0), {0});
                                            Value* places = e.range(e.i64(0), size, e.i64(1));
                                            Value* along = e.mul(places, e.gather(strides, k, 0));
                                            Value* all = e.add(e.unsqueeze(state[0], {1}), along);
                                            return {e.reshape(all, {-1})};
                                          })[0];
  return c.reshape_to(c.gather(c.reshape(x, {-1}), index, 0), sizes);
}

Ints counted_from_front(MapperContext& c, Ints perm) {
  const auto rank = static_cast<std::int64_t>(perm.size());
  for (std::int64_t& axis : perm) axis = c.front_axis(axis, rank);
  Ints each = perm;
  std::ranges::sort(each);
  if (std::ranges::adjacent_find(each) != each.end()) c.fail(Code::bad_model, "perm names an axis twice");
  if (c.has_rank(0) && c.rank(0) != rank)
    c.fail(Code::bad_model, "perm is for a rank of " + std::to_string(rank));
  return perm;
}

Values map_transpose(MapperContext& c) {
  Value* x = c.in(0);
  if (const auto perm = c.maybe_ints(1)) return {c.transpose(x, counted_from_front(c, *perm))};
  if (is_reversed_axes(c.node().input(1), c.node().input(0))) return {c.emit("Transpose", {x})};
  Value* perm = c.cast(c.in(1), DType::i64);
  if (!c.has_rank(0)) return {gathered_transpose_of_any_rank(c, x, perm)};
  return {c.rank(0) == 0 ? x : gathered_transpose(c, x, perm)};
}

Values map_broadcast_to(MapperContext& c) { return {c.expand(c.in(0), c.cast(c.in(1), DType::i64))}; }

// The shape that two shapes broadcast to: where the first has 1, the other's size.
Values map_broadcast_args(MapperContext& c) {
  Value* a = c.cast(c.in(0), DType::i64);
  Value* b = c.cast(c.in(1), DType::i64);
  Value* size_a = c.size_of(a);
  Value* size = c.maximum(size_a, c.size_of(b));
  a = with_ones_before(c, a, size);
  b = with_ones_before(c, b, size);
  Value* is_one = c.equal(a, c.i64(1));
  return {c.cast(c.where(is_one, b, a), c.output_dtype())};
}

Values map_invert_permutation(MapperContext& c) {  // y[x[i]] = i
  Value* x = c.cast(c.in(0), DType::i64);
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* places = c.range(zero, c.dim(x, 0), one);
  Value* y = c.emit("ScatterElements", {x, x, places}, {{"axis", 0}});
  return {c.cast(y, c.output_dtype())};
}

// output[k] = the coordinates of the flat indices along axis k
Values map_unravel_index(MapperContext& c) {
  Value* dims = c.cast(c.in(1), DType::i64);
  Value* index = c.cast(c.in(0), DType::i64);
  Value* one = c.i64(1);
  Value* zero = c.i64(0);
  Value* axes = c.range(zero, c.dim(dims, 0), one);
  Value* is_behind = c.less(c.unsqueeze(axes, {1}), axes);
  Value* strides = c.reduce("ReduceProd", c.where(is_behind, dims, one), Ints{1}, false);
  Value* flat = c.reshape(index, {-1});
  Value* shape = c.shape_of(index);
  Value* safe = c.maximum(c.unsqueeze(strides, {1}), one);  // a size of 0 has no indices
  Value* along = c.emit("Mod", {c.div(flat, safe), c.maximum(c.unsqueeze(dims, {1}), one)});
  Value* y = c.reshape_to(along, c.concat({c.dims(dims, 0, 1), shape}, 0));
  return {c.cast(y, c.output_dtype())};
}

}  // namespace

void register_shape(OpRegistry& r) {
  r.op("Identity", "IdentityN", "StopGradient", "Snapshot", "DeepCopy", "GuaranteeConst").by(map_identity);
  r.op("PreventGradient").ignores({"message"}).by(map_identity);
  r.op("CheckNumerics", "CheckNumericsV2")
      .ignores({"message"})
      .note("passes its input on without a check")
      .by(map_identity);
  r.op("PlaceholderWithDefault").ignores({"shape"}).by(map_identity);
  r.op("EnsureShape").ignores({"shape"}).note("passes its input on without a check").by(map_identity);
  r.op("Print")
      .ignores({"message", "first_n", "summarize"})
      .note("passes its input on without printing")
      .by(map_first);
  r.op("Shape").by(map_shape);
  r.op("ShapeN").ignores({"N"}).by(map_shape);
  r.op("Size").by(map_size);
  r.op("Rank").by(map_rank);
  r.op("Reshape")
      .note(
          "below opset 14 an empty tensor only where not more than one size is that of another tensor, or "
          "all are")
      .by(map_reshape);
  r.op("ExpandDims").by(map_expand_dims);
  r.op("ExpandDims").since(13).by(map_expand_dims_runtime);
  r.op("Squeeze").by(map_squeeze);
  r.op("Transpose", "ConjugateTranspose").by(map_transpose);
  r.op("BroadcastTo").by(map_broadcast_to);
  r.op("BroadcastArgs").by(map_broadcast_args);
  r.op("InvertPermutation").by(map_invert_permutation);
  r.op("UnravelIndex").by(map_unravel_index);
}

}  // namespace t2o::op_mappers
