#include "onnx/emitter.h"

#include <algorithm>
#include <cmath>

#include "onnx/bitwise.h"
#include "onnx/facts.h"
#include "onnx/fold.h"
#include "onnx/formulas.h"
#include "onnx/infer.h"
#include "onnx/legalize.h"
#include "onnx/raise_opset.h"

namespace t2o {
namespace {

bool has_subgraph(const Attrs& attrs) {
  return std::ranges::any_of(
      attrs, [](const ir::NamedAttr& a) { return std::holds_alternative<GraphPtr>(a.value); });
}

std::string spell(const DTypes& ts) {
  std::string s;
  for (const DType t : ts) s += (s.empty() ? "" : ", ") + std::string(name(t));
  return s;
}

// ONNX Runtime reduces no empty tensor over an axis counted from the back.
std::int64_t from_front(std::int64_t axis, const Value* x) {
  return axis < 0 && x->shape().ranked() ? axis + x->shape().rank() : axis;
}

void count_from_front(const std::string& op, const Values& in, Attrs& attrs) {
  if (op != "ArgMax" && op != "ArgMin") return;
  for (ir::NamedAttr& a : attrs)
    if (auto* axis = a.name == "axis" ? std::get_if<std::int64_t>(&a.value) : nullptr)
      *axis = from_front(*axis, in[0]);
}

Value* from_front(Emitter& e, Value* axes, Value* x) {
  Value* one = e.i64(1);  // a scalar has no axes: not Mod by 0
  Value* rank = x->shape().ranked() ? e.i64(std::max(1, x->shape().rank())) : e.maximum(e.rank_of(x), one);
  return e.mod(axes, rank);
}

int lowest_later_opset(const std::string& op, const Values& in, const Target& t) {
  for (int later = t.opset + 1; later <= onnx::kHighestOpset; ++later)
    if (const onnx::OpInfo* info = onnx::op_info(op, later, t.ml_opset, t.for_ort()))
      if (info->has_kernel && onnx::widening(*info, in)) return later;
  return 0;
}

// In the standard, whatever a runtime has.
bool is_defined(const std::string& op, const Values& in, const Target& t) {
  const onnx::OpInfo* info = t.for_ort() ? onnx::op_info(op, t.opset, t.ml_opset, false) : nullptr;
  return info && info->has_kernel && onnx::widening(*info, in);
}

// What the operator does to a constant whose elements stay the same.
std::optional<ir::Alteration::Step> order_given_by(const std::string& op, const Attrs& attrs,
                                                   const Value& y) {
  if (contains({"Reshape", "Squeeze", "Unsqueeze"}, op)) return ir::Alteration::reshape(y.shape());
  if (op != "Transpose") return std::nullopt;
  for (const ir::NamedAttr& a : attrs)
    if (const auto* perm = a.name == "perm" ? std::get_if<Ints>(&a.value) : nullptr)
      return ir::Alteration::transpose(*perm);
  return std::nullopt;
}

// The weight that a constant is computed from, if it is computed from one alone.
const Value* only_weight(const Values& in) {
  const Value* found = nullptr;
  const auto source = [](const Value* v) -> const std::string& {
    return v->alteration() ? v->alteration()->source() : v->name();
  };
  for (const Value* v : in) {
    if (!v || !v->is_of_source() || !is_float(v->dtype()) || v->shape().elements().value_or(0) < 2) continue;
    if (found && source(found) != source(v)) return nullptr;
    found = v;
  }
  return found;
}

[[noreturn]] void fail_without_kernel(const std::string& op, const Values& in, const std::string& types,
                                      const Emitter& e) {
  const Target& t = e.target();
  const std::string why = "ONNX " + op +
                          (t.for_ort() ? " has no kernel in ONNX Runtime" : " is not defined") + " for (" +
                          types + ") at opset " + std::to_string(t.opset);
  if (const int later = lowest_later_opset(op, in, t))
    e.fail(Code::opset_too_low, why, onnx::raise_opset(later, t));
  e.fail(Code::unsupported_type, why,
         is_defined(op, in, t)
             ? "--target-runtime any writes it all the same, for a runtime that has the kernel"
             : "");
}

}  // namespace

void Emitter::fail(Code code, std::string why, std::string remedy, SourceLoc at) const {
  throw ConversionError({Severity::error, code, std::move(why), std::move(remedy), *origin_, at});
}

Value* Emitter::emit(const std::string& op, Values in, Attrs attrs) {
  return emit_n(op, std::move(in), std::move(attrs), 1)[0];
}

Values Emitter::emit_n(const std::string& op, Values in, Attrs attrs, std::size_t outputs) {
  count_from_front(op, in, attrs);
  const onnx::OpInfo* info = onnx::op_info(op, *target_);
  if (!info && onnx::is_bitwise(op) && in.size() == 2 && is_int(in[0]->dtype()))
    return {onnx::bitwise_by_table(*this, op, in[0], in[1])};
  if (!info) fail_without_operator(op);
  if (has_subgraph(attrs))  // what its body carries has the type that the body says
    return emit_raw(op, std::move(in), std::move(attrs), outputs);
  const auto wide = onnx::widening(*info, in);
  if (!wide || !info->has_kernel) {
    DTypes types;
    for (const Value* v : in)
      if (v) types.push_back(v->dtype());
    fail_without_kernel(op, in, spell(types), *this);
  }
  if (!in.empty() && in[0] && in[0]->dtype() == DType::f64 &&
      contains(*wide, DType::f32))  // which has fewer digits
    if (Value* y = onnx::by_formula(*this, op, in[0], attrs)) return {y};
  DTypes back(outputs, DType::undefined);
  for (std::size_t i = 0; i < outputs; ++i) {
    const int p = info->param_of_output(i);
    if (p >= 0 && nth(*wide, p) != DType::undefined) back[i] = onnx::bound_type(*info, in, p);
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int p = info->param_of_input(i);
    if (in[i] && p >= 0 && nth(*wide, p) != DType::undefined) in[i] = cast(in[i], nth(*wide, p));
  }
  Values out = emit_raw(op, std::move(in), std::move(attrs), outputs);
  for (std::size_t i = 0; i < outputs; ++i)
    if (back[i] != DType::undefined) out[i] = cast(out[i], back[i]);
  return out;
}

void Emitter::fail_without_operator(const std::string& op) const {
  for (int later = target_->opset + 1; later <= onnx::kHighestOpset; ++later)
    if (onnx::op_info(op, later, target_->ml_opset, false))
      fail(Code::opset_too_low, "needs ONNX " + op + ", which came with opset " + std::to_string(later),
           onnx::raise_opset(later, *target_));
  fail(Code::internal, "ONNX has no operator " + op + " at opset " + std::to_string(target_->opset),
       "this is a bug: please report it with the model");
}

// A size that is asked for has a name, so that what is computed of it can be told. In a loop's body it may be
// another each time.
void Emitter::name_dims(Value* v) const {
  if (g_->parent() || v->graph() != g_ || !v->shape().ranked()) return;
  Ints dims = v->shape().dims();
  if (std::ranges::count(dims, kUnknownDim) == 0) return;
  for (Dim& d : dims)
    if (d == kUnknownDim) d = g_->symbols().fresh();
  g_->set_type(v, v->dtype(), Shape(std::move(dims)));
}

Values Emitter::emit_raw(const std::string& op, Values in, Attrs attrs, std::size_t outputs) {
  const onnx::OpInfo* info = onnx::op_info(op, *target_);
  if (!in.empty() && std::ranges::all_of(in, [](const Value* v) { return !v || v->constant(); })) {
    std::vector<TensorPtr> tensors;
    for (const Value* v : in) tensors.push_back(v ? v->constant() : nullptr);
    if (auto folded = onnx::fold(op, tensors, attrs, target_->opset)) {
      Values out;
      for (TensorPtr& t : *folded) out.push_back(constant(std::move(t), op));
      const auto step = order_given_by(op, attrs, *out[0]);
      if (const Value* weight = step ? in[0] : only_weight(in))
        for (Value* v : out) g_->derive(v, weight, {step ? *step : ir::Alteration::other()});
      return out;
    }
  }
  if (op == "Shape") name_dims(in[0]);
  std::vector<onnx::Inferred> types;
  try {
    types = onnx::infer(*info, in, attrs, outputs, g_->symbols());
  } catch (const ConversionError& e) {
    fail(e.diagnostic().code, e.diagnostic().message, e.diagnostic().remedy);
  }
  if (outputs == 1)
    if (TensorPtr t = onnx::as_tensor(types[0])) return {constant(std::move(t), op)};
  if (outputs == 1 && !has_subgraph(attrs))
    if (TensorPtr t = onnx::as_nothing(types[0])) return {constant(std::move(t), op)};
  ir::NodeSpec spec{op, std::move(in), std::move(attrs), {}, origin_, {}, true};
  for (onnx::Inferred& t : types) spec.outputs.push_back({"", t.dtype, std::move(t.shape)});
  const Values out = g_->add(std::move(spec), before_).outputs();
  for (std::size_t i = 0; i < outputs; ++i)
    if (types[i].elements) g_->set_known_elements(out[i], *types[i].elements);
  return out;
}

// ---- constants

Value* Emitter::constant(TensorPtr t, std::string_view hint) {
  std::string name = hint.empty() ? "const" : std::string(hint);
  const bool is_path = name.find('/') != std::string::npos;  // of the value that it is made of
  if (!is_path && !origin_->label().empty()) name = origin_->label() + "/" + name;
  return g_->add_constant(std::move(name), std::move(t));
}

Value* Emitter::ints(const Ints& v) {
  return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v));
}

Value* Emitter::scalar(DType t, double v) {
  if (t == DType::string) fail(Code::internal, "a number as a string constant");
  if (is_int(t) && bit_width(t) < 64) {
    const double bits = static_cast<double>(bit_width(t) - (is_signed_int(t) ? 1 : 0));
    v = std::clamp(v, is_signed_int(t) ? -std::exp2(bits) : 0.0, std::exp2(bits) - 1);
  }
  TensorPtr number = onnx::converted(Tensor::scalar<double>(v), t);
  if (!number) fail(Code::unsupported_type, "ONNX has no numbers of type " + std::string(name(t)));
  return constant(std::move(number));
}

Value* Emitter::scalar_like(const Value* like, double v) { return scalar(like->dtype(), v); }

// ---- types and shapes

Value* Emitter::cast(Value* x, DType t) {
  if (x->dtype() == t) return x;
  if (const int opset = onnx::opset_that_casts(*target_, x->dtype(), t); opset != target_->opset)
    fail(opset == 0 ? Code::unsupported_type : Code::opset_too_low,
         "no conversion from " + std::string(name(x->dtype())) + " to " + std::string(name(t)) +
             " at opset " + std::to_string(target_->opset),
         opset == 0 ? "" : onnx::raise_opset(opset, *target_));
  return emit_raw("Cast", {x}, {{"to", t}}, 1)[0];
}

Value* Emitter::identity(Value* x) { return emit_raw("Identity", {x}, {}, 1)[0]; }

// ---- reductions: axes are an input since 13 (ReduceSum) and 18 (the others)

bool Emitter::may_be_empty(const Value* x) const { return onnx::may_be_empty(x, strict()); }

Value* Emitter::reduce(const std::string& op, Value* x, const Ints& given, bool keep_dims) {
  if (given.empty()) return x;
  Ints axes;
  for (const std::int64_t a : given) axes.push_back(from_front(a, x));
  const std::int64_t keep = keep_dims;
  if (target_->opset >= (op == "ReduceSum" ? 13 : 18)) {
    Value* a = ints(axes);
    const bool from_back = std::ranges::any_of(axes, [](std::int64_t i) { return i < 0; });
    if (from_back && may_be_empty(x)) a = from_front(*this, a, x);
    return emit(op, {x, a}, {{"keepdims", keep}});
  }
  return emit(op, {x}, {{"axes", axes}, {"keepdims", keep}});
}

Value* Emitter::reduce_at(const std::string& op, Value* x, Value* axes, bool keep_dims) {
  if (const auto a = constant_ints(axes)) return reduce(op, x, *a, keep_dims);
  if (target_->opset < (op == "ReduceSum" ? 13 : 18))
    fail(Code::opset_too_low, "axes that are only known at run time need opset 18 for " + op,
         onnx::raise_opset(18, *target_));
  axes = cast(axes, DType::i64);
  if (!axes->shape().ranked() || axes->shape().rank() != 1) axes = reshape(axes, {-1});
  if (may_be_empty(x)) axes = from_front(*this, axes, x);
  return emit(op, {x, axes}, {{"keepdims", keep_dims}, {"noop_with_empty_axes", 1}});
}

Value* Emitter::reduce_all(const std::string& op, Value* x, bool keep_dims) {
  return emit(op, {x}, {{"keepdims", keep_dims}});
}

// ---- shapes

Value* Emitter::shape_of(Value* x) {
  if (x->shape().is_static()) return ints(x->shape().dims());
  return emit("Shape", {x});
}

Value* Emitter::dims(Value* x, int first, int last) {
  if (x->shape().ranked()) {
    const int rank = x->shape().rank();
    first = std::clamp(first < 0 ? first + rank : first, 0, rank);
    last = std::clamp(last < 0 ? last + rank : last, first, rank);
    const Ints part(x->shape().dims().begin() + first, x->shape().dims().begin() + last);
    if (std::ranges::all_of(part, is_known)) return ints(part);
    if (first == 0 && last == rank) return shape_of(x);
  }
  if (target_->opset >= 15) return emit("Shape", {x}, {{"start", first}, {"end", last}});
  Value* s = shape_of(x);
  return slice(s, {first}, {last}, {0});
}

Value* Emitter::dim(Value* x, int axis) {
  if (x->shape().ranked() && is_known(x->shape()[axis])) return i64(x->shape()[axis]);
  Value* s = shape_of(x);
  Value* i = i64(axis);
  return gather(s, i, 0);
}

Value* Emitter::rank_of(Value* x) {
  if (x->shape().ranked()) return i64(x->shape().rank());
  Value* s = shape_of(x);
  Value* r = emit("Shape", {s});
  return squeeze(r, {0});
}

Value* Emitter::product(Value* dims) {
  if (dims->shape() == Shape(Ints{0})) return ints({1});
  return reduce("ReduceProd", dims, Ints{0}, true);
}

Value* Emitter::size_of(Value* x) {
  if (const auto n = x->shape().elements()) return i64(*n);
  return emit("Size", {x});
}

namespace {

// Each size asked for is 1 or what x has there.
bool has_sizes(const Shape& x, const Ints& asked) {
  return x.ranked() && asked.size() <= x.dims().size() &&
         std::equal(asked.rbegin(), asked.rend(), x.dims().rbegin(),
                    [](Dim size, Dim own) { return size == 1 || size == own; });
}

}  // namespace

Value* Emitter::expand(Value* x, Value* dims) {
  const auto c = constant_ints(dims);
  if (c && has_sizes(x->shape(), *c)) return x;
  return emit("Expand", {x, cast(dims, DType::i64)});
}

Value* Emitter::tile(Value* x, Value* repeats) {
  const auto c = constant_ints(repeats);
  if (c && std::ranges::all_of(*c, [](std::int64_t r) { return r == 1; })) return x;
  return emit("Tile", {x, cast(repeats, DType::i64)});
}

Value* Emitter::pad(Value* x, Value* pads, Value* value, const std::string& mode) {
  if (const auto c = constant_ints(pads))
    if (std::ranges::all_of(*c, [](std::int64_t p) { return p == 0; })) return x;
  Values in{x, cast(pads, DType::i64)};
  if (value) in.push_back(value);
  Attrs attrs;
  if (mode != "constant") attrs.push_back({"mode", mode});
  return emit("Pad", std::move(in), std::move(attrs));
}

Value* Emitter::clip(Value* x, std::optional<double> low, std::optional<double> high) {
  Value* lo = low ? scalar_like(x, *low) : nullptr;
  Value* hi = high ? scalar_like(x, *high) : nullptr;
  Values in{x, lo};
  if (hi) in.push_back(hi);
  return emit("Clip", std::move(in));
}

Value* Emitter::where(Value* condition, Value* x, Value* y) { return emit("Where", {condition, x, y}); }

Value* Emitter::range(Value* start, Value* limit, Value* delta) {
  return emit("Range", {start, limit, delta});
}

// ONNX Runtime's kernel for f64 gives numbers where there is NaN.
static Value* log_softmax_f64(Emitter& e, Value* x, std::int64_t axis) {
  Value* most = e.reduce("ReduceMax", x, Ints{axis}, true);
  Value* below = e.sub(x, most);
  Value* sum = e.reduce("ReduceSum", e.exp(below), Ints{axis}, true);
  return e.sub(below, e.log(sum));
}

// Before opset 13, the axes from `axis` on are one: the same thing only for the last axis.
Value* Emitter::softmax(Value* x, std::int64_t axis, bool log) {
  const std::string op = log ? "LogSoftmax" : "Softmax";
  const bool last = axis == -1 || (x->shape().ranked() && axis == x->shape().rank() - 1);
  if (log && x->dtype() == DType::f64 && strict() && target_->for_ort() && (last || x->shape().ranked()))
    return log_softmax_f64(*this, x, last ? -1 : axis);
  if (target_->opset >= 13 || last) return emit(op, {x}, {{"axis", last ? std::int64_t{-1} : axis}});
  if (!x->shape().ranked())
    fail(Code::opset_too_low, op + " over another axis than the last needs opset 13 when the rank is unknown",
         onnx::raise_opset(13, *target_));
  const int rank = x->shape().rank();
  Ints perm = ints_from(0, rank);
  std::swap(nth(perm, axis < 0 ? axis + rank : axis), perm.back());
  Value* t = transpose(x, perm);
  Value* s = emit(op, {t}, {{"axis", -1}});
  return transpose(s, perm);
}

Values Emitter::topk(Value* x, Value* k, std::int64_t axis, bool largest, bool sorted) {
  k = cast(k, DType::i64);
  if (!k->shape().ranked() || k->shape().rank() != 1) k = reshape(k, {1});
  return emit_n("TopK", {x, k}, {{"axis", axis}, {"largest", largest}, {"sorted", sorted}}, 2);
}

Value* Emitter::cumsum(Value* x, Value* axis, bool exclusive, bool reverse) {
  return emit("CumSum", {x, axis}, {{"exclusive", exclusive}, {"reverse", reverse}});
}

// Min and Max take integers since opset 12.
Value* Emitter::minimum(Value* a, Value* b) {
  if (target_->opset >= 12 || !is_int(a->dtype())) return emit("Min", {a, b});
  Value* first = less(a, b);
  return where(first, a, b);
}

Value* Emitter::maximum(Value* a, Value* b) {
  if (target_->opset >= 12 || !is_int(a->dtype())) return emit("Max", {a, b});
  Value* first = greater(a, b);
  return where(first, a, b);
}

// GreaterOrEqual and LessOrEqual exist since opset 12 and have a type inference since 16; before, NaN makes
// "not less" another thing than "greater or equal".
Value* Emitter::greater_equal(Value* a, Value* b) {
  if (target_->opset >= 16) return emit("GreaterOrEqual", {a, b});
  if (!strict() || is_int(a->dtype())) return logical_not(less(a, b));
  Value* g = greater(a, b);
  Value* e = equal(a, b);
  return logical_or(g, e);
}

Value* Emitter::less_equal(Value* a, Value* b) {
  if (target_->opset >= 16) return emit("LessOrEqual", {a, b});
  if (!strict() || is_int(a->dtype())) return logical_not(greater(a, b));
  Value* l = less(a, b);
  Value* e = equal(a, b);
  return logical_or(l, e);
}

}  // namespace t2o
