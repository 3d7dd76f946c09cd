#include <algorithm>
#include <limits>

#include "onnx/emitter.h"
#include "onnx/facts.h"
#include "onnx/loop.h"
#include "onnx/meaning.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/reductions.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime's kernels of 64-bit integers. Max, Min, Sign, ReduceMax and ReduceMin compare the lower
// 32 bits alone on some CPUs; ReduceSum and ReduceProd compute in doubles. Comparisons, ArgMax and ArgMin
// look at all bits.
namespace t2o::rewriters {
namespace {

using onnx::fits_i32;

constexpr int kReducingScatter = 16;  // the opset from which on ScatterElements combines numbers
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min(),
                       kHighest = std::numeric_limits<std::int64_t>::max();

bool is_wide(const Value* v) { return v && v->dtype() == DType::i64 && !fits_i32(v); }

// Replaces a node of which all bits count by what `make` emits; null: it stays.
template <Value* (*make)(Emitter&, const ir::Node&)>
Rewriter each(std::string name, std::vector<std::string> ops, const onnx::Target& target) {
  return replace_each(std::move(name), std::move(ops), target, [](Emitter& e, ir::Node& n) {
    return onnx::take_meaning(e.graph(), n, onnx::kBits, onnx::kAll) ? make(e, n) : nullptr;
  });
}

Value* larger(Emitter& e, Value* a, Value* b) { return e.where(e.greater(a, b), a, b); }
Value* smaller(Emitter& e, Value* a, Value* b) { return e.where(e.less(a, b), a, b); }

Value* extremum(Emitter& e, const ir::Node& n) {
  if (n.input_count() < 2 || std::ranges::none_of(n.inputs(), is_wide)) return nullptr;
  Value* y = n.input(0);
  for (std::size_t i = 1; i < n.input_count(); ++i)
    y = n.op() == "Max" ? larger(e, y, n.input(i)) : smaller(e, y, n.input(i));
  return y;
}

Value* sign(Emitter& e, const ir::Node& n) {
  if (!is_wide(n.input(0))) return nullptr;
  return e.cast(e.sign(e.cast(n.input(0), DType::f32)), DType::i64);
}

// With the least number behind it, which is what TensorFlow gives of no numbers.
Value* not_empty(Emitter& e, Value* x, std::int64_t axis, bool of_max) {
  if (!x->shape().ranked() || x->shape()[static_cast<int>(axis)] > 0) return x;
  if (!may_be_empty(e.target(), x)) return x;
  Ints pads = repeated(0, 2 * x->shape().rank());
  nth(pads, x->shape().rank() + axis) = 1;
  return e.pad(x, e.ints(pads), e.i64(of_max ? kLowest : kHighest));
}

// By the places of the extrema, axis by axis.
Value* picked(Emitter& e, Value* x, const Ints& axes, bool of_max, bool keeps) {
  for (const std::int64_t axis : axes) {
    x = not_empty(e, x, axis, of_max);
    Value* place = e.emit(of_max ? "ArgMax" : "ArgMin", {x}, {{"axis", axis}, {"keepdims", 1}});
    x = e.emit("GatherElements", {x, place}, {{"axis", axis}});
  }
  return keeps || axes.empty() ? x : e.squeeze(x, axes);
}

// Numbers of 64 bits in two halves: x = high * 2^32 + low. The lower one has a sign too.
struct Halves {
  Value *low, *high, *unit;
};
Halves halves_of(Emitter& e, Value* x) {
  Value* low = e.cast(e.cast(x, DType::i32), DType::i64);
  Value* unit = e.constant(std::int64_t{1} << 32);
  return {low, e.div(e.sub(x, low), unit), unit};
}

// The extremum of the upper halves, and of the lower ones beside it, which count from 0 here and are moved to
// have a sign. Of nothing it is the upper one alone.
Value* extremum_of_halves(Emitter& e, const ir::Node& n, bool of_max) {
  const auto reduced = [&](Value* x, bool keeps) {
    Values in = n.inputs();
    in[0] = x;
    Attrs attrs = n.attrs();
    std::erase_if(attrs, [](const ir::NamedAttr& a) { return a.name == "keepdims"; });
    attrs.push_back({"keepdims", keeps});
    return e.emit(n.op(), std::move(in), std::move(attrs));
  };
  const bool keeps = keeps_dims(n);
  constexpr std::int64_t kMiddle = std::int64_t{1} << 31;
  Value* unit = e.constant(2 * kMiddle);
  Value* rest = e.mod(n.input(0), unit);
  Value* high = e.div(e.sub(n.input(0), rest), unit);
  Value* middle = e.constant(kMiddle);
  Value* low = e.sub(rest, middle);
  Value* most = reduced(high, true);
  Value* none = e.i64(of_max ? -kMiddle : kMiddle - 1);
  Value* lower = reduced(e.where(e.equal(high, most), low, none), keeps);
  Value* upper = keeps ? most : reduced(high, false);
  Value* sum = e.add(e.mul(upper, unit), e.add(lower, middle));
  Value* nothing = e.i64(of_max ? kLowest : kHighest);
  return e.where(e.equal(upper, nothing), upper, sum);
}

Value* reduction(Emitter& e, const ir::Node& n) {
  Value* x = n.input(0);
  if (!is_wide(x)) return nullptr;
  const bool of_max = n.op() == "ReduceMax", keeps = keeps_dims(n);
  const auto axes = reduced_axes(n);
  if (axes && (x->shape().ranked() || !may_be_empty(e.target(), x)))
    return picked(e, x, *axes, of_max, keeps);
  const bool all = !n.input(1) && !n.attr("axes");
  return all && !keeps ? picked(e, e.reshape(x, {-1}), {0}, of_max, false) : extremum_of_halves(e, n, of_max);
}

Value* remainder(Emitter& e, const ir::Node& n) {
  Value *x = n.input(0), *y = n.input(1);
  const bool is_exact = !is_wide(x) || n.attr_or<std::int64_t>("fmod", 0) == 0;
  return is_exact ? nullptr : e.sub(x, e.mul(e.div(x, y), y));
}

// The halves are summed one by one: neither sum leaves the whole numbers that a double has.
Value* sum(Emitter& e, const ir::Node& n) {
  Value* x = n.input(0);
  if (x->dtype() != DType::i64 || onnx::has_few_bits(x) || onnx::is_made_of_sizes(x)) return nullptr;
  const auto summed = [&](Value* part) {
    Values in = n.inputs();
    in[0] = part;
    return e.emit("ReduceSum", std::move(in), n.attrs());
  };
  const Halves h = halves_of(e, x);
  Value* highs = e.mul(summed(h.high), h.unit);
  return e.add(highs, summed(h.low));
}

// A row for each of the numbers that are multiplied.
Value* rows_of(Emitter& e, Value* x, const Ints& axes) {
  if (axes == Ints{0}) return x;
  Ints kept, order = axes;
  for (std::int64_t i = 0; i < x->shape().rank(); ++i)
    if (!contains(axes, i)) kept.push_back(i);
  append(order, kept);
  Value* shape = e.shape_of(x);
  Value* count = e.product(e.gather(shape, e.ints(axes), 0));
  Value* rest = e.gather(shape, e.ints(kept), 0);
  return e.reshape_to(e.transpose(x, order), e.concat({count, rest}, 0));
}

// By the products of ScatterElements, which are those of integers, or one row after the other.
Value* product(Emitter& e, const ir::Node& n) {
  Value* x = n.input(0);
  const auto axes = reduced_axes(n);
  if (!axes || axes->empty() || onnx::is_made_of_sizes(x) || onnx::are_flags(x)) return nullptr;
  if (!x->shape().ranked() && *axes != Ints{0}) return nullptr;
  Value* rows = rows_of(e, x, *axes);
  Value* ones = e.expand(e.i64(1), e.concat({e.ints({1}), e.dims(rows, 1, onnx::kToEnd)}, 0));
  Value* y = nullptr;
  if (e.opset() >= kReducingScatter) {
    Value* places = e.expand(e.i64(0), e.shape_of(rows));
    y = e.emit("ScatterElements", {ones, places, rows}, {{"axis", 0}, {"reduction", std::string("mul")}});
  } else {
    const auto step = [&](Emitter& in, Value* k, const Values& state) -> Values {
      return {in.mul(state[0], in.gather(rows, k, 0))};
    };
    y = onnx::counted_loop(e, e.dim(rows, 0), {ones}, step)[0];
  }
  y = e.squeeze(y, {0});
  return keeps_dims(n) ? e.unsqueeze(y, *axes) : y;
}

}  // namespace

Rewriter wide_extrema(const onnx::Target& target) {
  return each<extremum>("wide_extrema", {"Max", "Min"}, target);
}
Rewriter wide_products(const onnx::Target& target) {
  return each<product>("wide_products", {"ReduceProd"}, target);
}
Rewriter wide_remainders(const onnx::Target& target) {
  return each<remainder>("wide_remainders", {"Mod"}, target);
}
Rewriter wide_signs(const onnx::Target& target) { return each<sign>("wide_signs", {"Sign"}, target); }
Rewriter wide_reductions(const onnx::Target& target) {
  return each<reduction>("wide_reductions", {"ReduceMax", "ReduceMin"}, target);
}
Rewriter wide_sums(const onnx::Target& target) { return each<sum>("wide_sums", {"ReduceSum"}, target); }

}  // namespace t2o::rewriters
