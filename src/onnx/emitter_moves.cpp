// The Emitter's operators that move elements: their forms at each opset, and what runtimes want of them.
#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/facts.h"
#include "onnx/raise_opset.h"
#include "onnx/reshape.h"

namespace t2o {

Value* Emitter::transpose(Value* x, Ints perm) {
  if (std::ranges::is_sorted(perm)) return x;
  return emit("Transpose", {x}, {{"perm", std::move(perm)}});
}

namespace {

// A Reshape to what x is already.
Value* unless_same(Value* x, Value* reshaped) {
  const bool known = x->shape().ranked() && !contains(x->shape().dims(), kUnknownDim);
  return known && reshaped->shape() == x->shape() ? x : reshaped;
}

// A size of 0 stands for the size that x has there, which is right where that is the size asked for.
bool keeps_unknown_dims(const Value* x, const Ints& known) {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] <= 0 &&
        (!is_symbol(known[i]) || !x->shape().ranked() || static_cast<int>(i) >= x->shape().rank() ||
         x->shape()[static_cast<int>(i)] != known[i]))
      return false;
  return true;
}

// One size that is not known beside others that are not 0 can be inferred.
std::optional<Ints> with_inferred(const Ints& known) {
  Ints dims = known;
  if (std::ranges::count_if(dims, [](Dim d) { return d < 0; }) != 1 || std::ranges::count(dims, 0) > 0)
    return std::nullopt;
  std::ranges::replace_if(
      dims, [](Dim d) { return d < 0; }, std::int64_t{-1});
  return dims;
}

// Some of its numbers are computed from others than sizes.
bool is_computed_in_part(const Value* dims) {
  const ir::Node* n = dims->producer();
  return n && n->op() == "Concat" && std::ranges::any_of(n->inputs(), [](const Value* v) {
           return !v->constant() && !v->known_elements();
         });
}

// Below opset 14 a size of 0 cannot be said. An empty x is made one element, reshaped to ones, and spread to
// nothing.
Value* spread_from_one(Emitter& e, Value* x, Value* dims) {
  const Ints* known = dims->known_elements().get();
  Value* one = e.i64(1);
  Value* zero = e.i64(0);
  Value* is_empty = e.equal(e.size_of(x), zero);
  Value* missing = e.unsqueeze(e.cast(is_empty, DType::i64), {0});
  Value* element = x->dtype() == DType::string ? e.constant(std::make_shared<Tensor>(Ints{}, Strings{""}))
                                               : e.scalar_like(x, 0);
  Value* filler = e.expand(element, missing);
  Value* full = e.concat({e.reshape(x, {-1}), filler}, 0);
  Value* shaped = e.emit("Reshape", {full, e.where(is_empty, one, dims)});
  Value* sizes = e.where(is_empty, e.maximum(dims, zero), one);
  Value* result = e.expand(shaped, sizes);
  if (known) e.graph().set_type(result, x->dtype(), Shape(*known));
  if (!result->shape().ranked() && dims->shape().is_static())
    e.graph().set_type(result, x->dtype(), Shape::unknown_dims(static_cast<int>(dims->shape()[0])));
  return result;
}

// Not where the dims are those of other tensors: that an empty batch is not reshaped costs less than ten
// nodes for each of a transformer's.
Value* reshape_of_maybe_empty(Emitter& e, Value* x, Value* dims) {
  const Ints* known = dims->known_elements().get();
  const bool of_tensors =
      known && !is_computed_in_part(dims) && !contains(*known, 0) && std::ranges::any_of(*known, is_known);
  if (const auto inferred =
          of_tensors && !keeps_unknown_dims(x, *known) ? with_inferred(*known) : std::nullopt) {
    Value* sizes = e.ints(*inferred);
    Value* y = e.emit("Reshape", {x, sizes});
    e.graph().set_type(y, x->dtype(), Shape(*known));
    return y;
  }
  if (!onnx::may_be_empty(x, e.strict()) || of_tensors || (known && keeps_unknown_dims(x, *known)))
    return e.emit("Reshape", {x, dims});
  return spread_from_one(e, x, dims);
}

}  // namespace

Value* reshape_even_if_empty(Emitter& e, Value* x, Value* dims) {
  const Ints* known = dims->known_elements().get();
  const bool is_plain = e.opset() >= 14 || constant_ints(dims) || !onnx::may_be_empty(x, e.strict()) ||
                        (known && keeps_unknown_dims(x, *known));
  return is_plain ? e.reshape_to(x, dims) : spread_from_one(e, x, dims);
}

Value* Emitter::reshape(Value* x, Ints dims) {
  const bool static_dims = std::ranges::all_of(dims, [](std::int64_t d) { return d > 0; });
  if (static_dims && x->shape() == Shape(dims)) return x;
  Value* sizes = ints(dims);
  return unless_same(x, emit("Reshape", {x, sizes}));
}

Value* Emitter::reshape_to(Value* x, Value* dims) {
  dims = cast(dims, DType::i64);
  const auto may_be_zero = [&] {
    const Ints* known = dims->constant() ? nullptr : dims->known_elements().get();
    if (const auto c = constant_ints(dims)) return contains(*c, 0);
    if (!may_be_empty(x) && !(known && contains(*known, 0))) return false;
    return !known || std::ranges::any_of(*known, [](Dim d) { return d <= 0; });
  };
  if (!may_be_zero()) {
    if (const auto c = constant_ints(dims)) return reshape(x, *c);
    return unless_same(x, emit("Reshape", {x, dims}));
  }
  if (target_->opset >= 14) return unless_same(x, emit("Reshape", {x, dims}, {{"allowzero", 1}}));
  if (const auto c =
          constant_ints(dims)) {  // an empty result: its elements do not matter, only its shape does
    Ints sizes = *c;
    if (contains(sizes, -1))
      fail(Code::opset_too_low, "a reshape to a size of 0 and an inferred size needs opset 14",
           onnx::raise_opset(14, *target_));
    return constant(std::make_shared<Tensor>(x->dtype(), sizes, heap_storage({})));
  }
  return reshape_of_maybe_empty(*this, x, dims);
}

Value* Emitter::squeeze(Value* x, Ints axes) {
  if (axes.empty()) return x;
  if (target_->opset >= 13) {
    Value* a = ints(axes);
    return emit("Squeeze", {x, a});
  }
  return emit("Squeeze", {x}, {{"axes", std::move(axes)}});
}

Value* Emitter::unsqueeze(Value* x, Ints axes) {
  if (axes.empty()) return x;
  if (target_->opset >= 13) {
    Value* a = ints(axes);
    return emit("Unsqueeze", {x, a});
  }
  return emit("Unsqueeze", {x}, {{"axes", std::move(axes)}});
}

Value* Emitter::concat(Values v, std::int64_t axis) {
  if (v.size() == 1) return v[0];
  return emit("Concat", std::move(v), {{"axis", axis}});
}

Values Emitter::split(Value* x, const Ints& sizes, std::int64_t axis) {
  if (sizes.size() == 1) return {x};
  if (target_->opset >= 13) {
    Value* s = ints(sizes);
    return emit_n("Split", {x, s}, {{"axis", axis}}, sizes.size());
  }
  return emit_n("Split", {x}, {{"axis", axis}, {"split", sizes}}, sizes.size());
}

Value* Emitter::slice(Value* x, Ints starts, Ints ends, Ints axes, Ints steps) {
  Value* s = ints(starts);
  Value* e = ints(ends);
  Value* a = ints(axes);
  Value* st = steps.empty() ? nullptr : ints(steps);
  return slice_at(x, s, e, a, st);
}

Value* Emitter::slice_at(Value* x, Value* starts, Value* ends, Value* axes, Value* steps) {
  Values in{x, starts, ends, axes};
  if (steps) in.push_back(steps);
  return emit("Slice", std::move(in));
}

namespace {

bool is_last_axis(const Value* x, std::int64_t axis) {
  return axis == -1 || (x->shape().ranked() && axis == x->shape().rank() - 1);
}

// ONNX Runtime's Gather of strings copies only the first one of each slice.
Value* gather_strings(Emitter& e, Value* x, Value* indices, std::int64_t axis) {
  if (axis == 0) {
    Value* rows = e.cast(e.unsqueeze(indices, {-1}), DType::i64);
    return e.emit("GatherND", {x, rows});
  }
  Value* zero = e.i64(0);
  Value* one = e.i64(1);
  Value* count = e.range(zero, e.size_of(x), one);
  Value* numbers = e.reshape_to(count, e.shape_of(x));
  Value* chosen = e.gather(numbers, indices, axis);
  Value* flat = e.reshape(x, {-1});
  return e.emit("Gather", {flat, chosen}, {{"axis", 0}});
}

}  // namespace

Value* Emitter::gather(Value* x, Value* indices, std::int64_t axis) {
  if (indices->dtype() != DType::i32 && indices->dtype() != DType::i64) indices = cast(indices, DType::i64);
  if (x->dtype() == DType::string && target_->for_ort() && !is_last_axis(x, axis))
    return gather_strings(*this, x, indices, axis);
  return emit("Gather", {x, indices}, {{"axis", axis}});
}

}  // namespace t2o
