#include "tests/facts/drawer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace t2o::facts_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostElements = 200;

const std::vector<DType> kReal = {DType::f32, DType::f32, DType::f32, DType::f64, DType::f16};
const std::vector<DType> kIntegers = {DType::i64, DType::i64, DType::i32, DType::i32, DType::u8, DType::i8, DType::i16, DType::u16, DType::u32, DType::u64};

}  // namespace

Ints broadcast(const Ints& a, const Ints& b) {
  Ints y(std::max(a.size(), b.size()));
  for (std::size_t i = 1; i <= y.size(); ++i) {
    const std::int64_t m = i <= a.size() ? a[a.size() - i] : 1, n = i <= b.size() ? b[b.size() - i] : 1;
    y[y.size() - i] = m == 1 ? n : m;
  }
  return y;
}

Drawer::Drawer(std::uint64_t seed) : random_(seed) {}

// Ordinary numbers, and those at which something ends.
double Drawer::number(DType t) {
  if (t == DType::boolean) return chance(0.5) ? 1 : 0;
  if (is_int(t)) {
    const double most = std::exp2(static_cast<double>(bit_width(t)) - (is_signed_int(t) ? 1 : 0)) - 1;
    const double least = is_signed_int(t) ? -most - 1 : 0;
    if (chance(0.1)) return one_of(std::vector<double>{least, most, most / 2, least / 2, 200, 70000});
    return std::max(least, static_cast<double>(random_.integer(-4, 6)));
  }
  const double most = t == DType::f16 ? 65504 : t == DType::f32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
  if (chance(0.12)) return one_of(std::vector<double>{most, -most, kInfinity, -kInfinity, std::nan(""), 1e-40, -0.0, 1e4, -1e30});
  if (chance(0.4)) return static_cast<double>(random_.integer(-3, 4)) / 2;
  return random_.normal() * (chance(0.1) ? 100 : 1);
}

TensorPtr Drawer::tensor(DType t, const Ints& dims) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(dims)));
  const int kind = static_cast<int>(below(4));
  const double same = number(t);
  for (double& x : numbers) {
    x = kind == 0 ? same : number(t);
    if (kind > 1 && is_float(t) && !(std::abs(x) < 1e3)) x = 0.5;  // mostly without special values
    if (kind > 1 && is_int(t) && !(std::abs(x) < 1e3)) x = 3;
  }
  return verify::tensor_of(t, dims, numbers);
}

TensorPtr Drawer::moderate(const Ints& dims) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(dims)));
  for (double& x : numbers) x = random_.normal();
  return verify::tensor_of(DType::f32, dims, numbers);
}

void Drawer::keep(Value* v, std::optional<Ints> dims) {
  if (dims && element_count(*dims) > kMostElements) return;
  drawn_.has_empty_input = drawn_.has_empty_input || (v->constant() && v->constant()->elements() == 0);
  const bool is_scalar = !v->shape().ranked() && (!dims || dims->empty());
  drawn_.may_shrink = drawn_.may_shrink || is_scalar;  // its Shape has no sizes
  values_.push_back({v, std::move(dims)});
}

void Drawer::emit(const char* op, const std::vector<Sized>& in, Attrs attrs, std::optional<Ints> dims) {
  Values inputs;
  for (const Sized& s : in) inputs.push_back(s.value);
  keep(e_->emit(op, std::move(inputs), std::move(attrs)), std::move(dims));
}

Sized Drawer::constant(DType t, Ints dims) {
  const TensorPtr content = tensor(t, dims);
  drawn_.has_empty_input = drawn_.has_empty_input || content->elements() == 0;
  if (is_int(t))
    for (const std::int64_t n : content->to_ints())
      drawn_.has_big_integers = drawn_.has_big_integers || n > 100 || n < -100;
  return {e_->constant(content), std::move(dims)};
}

Sized Drawer::pick(Kind kind) {
  const auto fits = [&](const Sized& s) {
    const DType t = s.value->dtype();
    if (!s.dims) return false;
    if (kind == Kind::any) return true;
    if (kind == Kind::flag) return t == DType::boolean;
    return (kind != Kind::integer && is_float(t)) || (kind != Kind::real && is_int(t));
  };
  for (int i = 0; i < 8; ++i)
    if (const Sized& s = chance(0.6) ? values_[values_.size() - 1 - static_cast<std::size_t>(below(std::min<std::int64_t>(4, static_cast<std::int64_t>(values_.size()))))]
                                     : one_of(values_);
        fits(s))
      return s;
  const DType t = kind == Kind::flag ? DType::boolean : kind == Kind::integer ? one_of(kIntegers) : one_of(kReal);
  return constant(t, one_of(values_).dims.value_or(Ints{}));
}

Sized Drawer::like(const Sized& s) {
  if (chance(0.15)) return s;
  for (int i = 0; i < 6; ++i) {
    const Sized& other = one_of(values_);
    if (!other.dims || other.value->dtype() != s.value->dtype()) continue;
    bool meet = true;
    for (std::size_t k = 1; k <= std::min(other.dims->size(), s.dims->size()); ++k) {
      const std::int64_t a = other.dims->end()[-static_cast<std::ptrdiff_t>(k)], b = s.dims->end()[-static_cast<std::ptrdiff_t>(k)];
      meet = meet && (a == b || a == 1 || b == 1);
    }
    if (meet) return other;
  }
  return constant(s.value->dtype(), chance(0.5) ? Ints{} : *s.dims);
}

Sized Drawer::nonzero(const Sized& of) {
  const DType t = of.value->dtype();
  if (chance(0.5)) return {e_->scalar(t, static_cast<double>(one_of(std::vector<int>{1, 2, 3, 7, is_signed_int(t) ? -2 : 5, 100}))), Ints{}};
  const Sized other = like(of);
  return {e_->emit("Max", {other.value, e_->scalar(t, 1)}), other.dims};
}

Sized Drawer::input() {
  const DType t = chance(0.5) ? one_of(kReal) : chance(0.2) ? DType::boolean : one_of(kIntegers);
  static const std::vector<Ints> kShapes = {{}, {3}, {2, 3}, {1, 3}, {2, 2, 3}, {2, 1}, {4}};
  Ints dims = one_of(kShapes), declared = dims;
  Symbols& symbols = drawn_.graph->symbols();
  const bool may_be_empty = chance(0.2);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (chance(0.5)) continue;
    if (may_be_empty && chance(0.5)) dims[i] = 0;
    declared[i] = chance(0.5) ? kUnknownDim : symbols.intern("n" + std::to_string(dims[i]));
    drawn_.has_empty_input = drawn_.has_empty_input || dims[i] == 0;
  }
  Value* v = drawn_.graph->add_input("x", t, chance(0.1) ? Shape() : Shape(declared));
  drawn_.feeds.emplace_back(v->name(), tensor(t, dims));
  return {v, dims};
}

Drawn Drawer::draw() {
  static const std::vector<int> kOpsets = {13, 17, 21, 24};  // at 18 the runtime's Softplus of halves overflows
  target_ = onnx::make_target(one_of(kOpsets), Target().runtime, chance(0.5));
  drawn_ = {.graph = std::make_shared<ir::Graph>(), .target = target_, .feeds = {}};
  e_.emplace(*drawn_.graph, target_, std::make_shared<const Origin>());
  values_.clear();
  for (std::int64_t i = 1 + below(3); i > 0; --i) {
    const Sized x = input();
    keep(x.value, x.dims);
  }
  using Draw = void (Drawer::*)();
  static const std::vector<Draw> kDraws = {
      &Drawer::unary,   &Drawer::unary, &Drawer::unary,   &Drawer::binary, &Drawer::binary, &Drawer::binary, &Drawer::several,
      &Drawer::convert, &Drawer::convert, &Drawer::clip,  &Drawer::reduce, &Drawer::reduce, &Drawer::along,  &Drawer::move,
      &Drawer::move,    &Drawer::join,  &Drawer::join,    &Drawer::cut,    &Drawer::sizes,  &Drawer::of_data, &Drawer::spread,
      &Drawer::layer,   &Drawer::image, &Drawer::codes,   &Drawer::logic,  &Drawer::recurrent, &Drawer::branch};
  for (std::int64_t i = 4 + below(12); i > 0; --i) {
    try {
      (this->*one_of(kDraws))();
    } catch (const ConversionError&) {  // there is no such operator at the opset, or no kernel
    }
  }
  Values outputs;
  for (ir::Node& n : drawn_.graph->nodes())
    for (Value* v : n.outputs())
      if (v->dtype() != DType::undefined) outputs.push_back(v);
  drawn_.graph->set_outputs(std::move(outputs));
  drawn_.graph->name_rest();
  return std::move(drawn_);
}

// ---- of each element

void Drawer::unary() {
  const Sized x = pick(Kind::numeric);
  if (is_float(x.value->dtype())) {
    static const std::vector<const char*> kOps = {"Abs",  "Acos", "Acosh",    "Asin", "Asinh",     "Atan",     "Atanh",      "Ceil",     "Cos",  "Cosh",     "Elu",
                                                  "Erf",  "Exp",  "Floor",    "Gelu", "HardSwish", "LeakyRelu", "Log",       "Mish",     "Neg",  "Reciprocal", "Relu",
                                                  "Round", "Selu", "Sigmoid", "Sign", "Sin",       "Sinh",     "Softplus",   "Softsign", "Sqrt", "Tan",      "Tanh",
                                                  "HardSigmoid", "Identity", "ThresholdedRelu", "Celu", "Abs", "Relu", "Exp", "Sqrt", "Sigmoid"};
    const char* op = one_of(kOps);
    if (std::string_view(op) == "Selu" || std::string_view(op) == "Celu" || std::string_view(op) == "Elu") {
      if (x.value->dtype() != DType::f32) return;
    }
    Attrs attrs;
    if (chance(0.3) && (std::string_view(op) == "LeakyRelu" || std::string_view(op) == "Elu"))
      attrs = {{"alpha", static_cast<float>(one_of(std::vector<double>{0, 0.3, 2, -0.5}))}};
    return emit(op, {x}, std::move(attrs), x.dims);
  }
  emit(one_of({"Abs", "Neg", "Sign", "Identity"}), {x}, {}, x.dims);
}

void Drawer::binary() {
  const Sized a = pick(Kind::numeric);
  const bool is_real = is_float(a.value->dtype());
  const char* op = one_of({"Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Add", "Mul", "PRelu", "Pow"});
  const std::string_view name = op;
  if (!is_real && (name == "Div" || name == "Mod")) {
    const Sized b = nonzero(a);
    return emit(op, {a, b}, name == "Mod" && chance(0.3) ? Attrs{{"fmod", std::int64_t{1}}} : Attrs{}, broadcast(*a.dims, *b.dims));
  }
  if (name == "Mod" || (!is_real && name == "Pow")) return;
  Sized b = like(a);
  if (name == "Pow" && chance(0.7)) b = {e_->scalar(a.value->dtype(), one_of(std::vector<double>{2, 3, 0.5, 1, 4, -1, 0, 2.5})), Ints{}};
  if (name == "PRelu" && broadcast(*a.dims, *b.dims) != *a.dims) return;
  if (chance(0.5) && name != "PRelu" && name != "Pow") return emit(op, {b, a}, {}, broadcast(*a.dims, *b.dims));
  emit(op, {a, b}, {}, broadcast(*a.dims, *b.dims));
}

void Drawer::several() {
  const Sized a = pick(Kind::numeric), b = like(a), c = like(b);
  if (chance(0.4)) {
    const Sized condition = chance(0.5) ? Sized{e_->constant(tensor(DType::boolean, *a.dims)), a.dims} : pick(Kind::flag);
    if (broadcast(*condition.dims, *a.dims) != *a.dims || condition.rank() > a.rank()) return;
    for (std::size_t k = 1; k <= condition.dims->size(); ++k)
      if (const auto d = condition.dims->end()[-static_cast<std::ptrdiff_t>(k)]; d != 1 && d != a.dims->end()[-static_cast<std::ptrdiff_t>(k)]) return;
    return emit("Where", {condition, a, b}, {}, broadcast(*a.dims, *b.dims));
  }
  const Ints ab = broadcast(*a.dims, *b.dims);
  if (broadcast(ab, *c.dims) != ab || c.dims->size() > ab.size()) return;
  for (std::size_t k = 1; k <= c.dims->size(); ++k)
    if (const auto d = c.dims->end()[-static_cast<std::ptrdiff_t>(k)]; d != 1 && d != ab.end()[-static_cast<std::ptrdiff_t>(k)]) return;
  const char* op = one_of({"Max", "Min", "Sum", "Mean"});
  if (std::string_view(op).starts_with("M") && !is_float(a.value->dtype()) && std::string_view(op) == "Mean") return;
  emit(op, {a, b, c}, {}, ab);
}

void Drawer::convert() {
  const Sized x = pick(Kind::any);
  if (chance(0.1)) return emit("CastLike", {x, pick(Kind::numeric)}, {}, x.dims);
  const DType to = chance(0.15) ? DType::boolean : chance(0.5) ? one_of(kReal) : one_of(kIntegers);
  keep(e_->cast(x.value, to), x.dims);
}

void Drawer::clip() {
  const Sized x = pick(Kind::numeric);
  const DType t = x.value->dtype();
  const auto bound = [&] { return chance(0.8) ? Sized{constant(t, {})} : Sized{nullptr, {}}; };
  emit("Clip", {x, bound(), bound()}, {}, x.dims);
}

void Drawer::logic() {
  if (chance(0.6)) {
    const Sized a = pick(Kind::numeric), b = like(a);
    return emit(one_of({"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"}), {a, b}, {}, broadcast(*a.dims, *b.dims));
  }
  const Sized a = pick(Kind::flag), b = like(a);
  if (chance(0.2)) return emit("Not", {a}, {}, a.dims);
  if (chance(0.3)) {
    const Sized x = pick(Kind::real);
    return emit(one_of({"IsNaN", "IsInf"}), {x}, {}, x.dims);
  }
  emit(one_of({"And", "Or", "Xor"}), {a, b}, {}, broadcast(*a.dims, *b.dims));
}

// ---- along axes

void Drawer::reduce() {
  const Sized x = pick(Kind::numeric);
  static const std::vector<const char*> kOps = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                                                "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum"};
  const std::string op = one_of(kOps);
  if (x.rank() == 0 || chance(0.2)) return keep(e_->reduce_all(op, x.value, false), Ints{});
  const std::int64_t axis = below(x.rank());
  Ints dims = *x.dims;
  dims[static_cast<std::size_t>(axis)] = 1;
  const bool keeps = chance(0.6);
  if (!keeps) dims.erase(dims.begin() + axis);
  keep(e_->reduce(op, x.value, Ints{axis}, keeps), dims);
}

void Drawer::along() {
  const Sized x = pick(Kind::numeric);
  if (x.rank() == 0) return;
  const std::int64_t axis = below(x.rank());
  Ints dims = *x.dims;
  const std::int64_t size = dims[static_cast<std::size_t>(axis)];
  switch (below(5)) {
    case 0:
      if (is_float(x.value->dtype())) emit(one_of({"Softmax", "LogSoftmax", "Hardmax"}), {x}, {{"axis", axis}}, dims);
      return;
    case 1: {
      if (size == 0) return;
      dims[static_cast<std::size_t>(axis)] = 1;
      return emit(one_of({"ArgMax", "ArgMin"}), {x}, {{"axis", axis}, {"keepdims", std::int64_t{1}}}, dims);
    }
    case 2: return keep(e_->cumsum(x.value, e_->constant(static_cast<std::int32_t>(axis)), chance(0.5), chance(0.5)), dims);
    case 3: {
      if (size == 0) return;
      dims[static_cast<std::size_t>(axis)] = 1;
      for (Value* v : e_->topk(x.value, e_->ints({1}), axis, chance(0.5))) keep(v, dims);
      return;
    }
    default: return emit("Gather", {x, {size == 0 ? e_->constant({0}, std::vector<std::int64_t>{}) : e_->ints({0, 0}), Ints{}}}, {{"axis", axis}}, [&] {
      dims[static_cast<std::size_t>(axis)] = size == 0 ? 0 : 2;
      return dims;
    }());
  }
}

}  // namespace t2o::facts_test
