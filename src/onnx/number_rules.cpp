#include "onnx/number_rules.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "onnx/layer_bounds.h"
#include "onnx/op_traits.h"

namespace t2o::onnx {
namespace {

constexpr double kInfinity = Numbers::kInfinity, kMostSize = 0x7FFFFFFF;
constexpr Numbers kAny, kPositive{0, kInfinity}, kUnit{0, 1}, kBothUnits{-1, 1}, kZero{0, 0, false, true};
constexpr Numbers kPlaces{0, kMostSize, false, true};

// What a row computes with: a node, one of its results, and what is known of its inputs.
struct Rule {
  const ir::Node& n;
  const Value* y;
  const AskNumbers& ask;
  bool reads_weights;

  Numbers of(std::size_t i) const { return ask(n.input(i)); }
  Numbers of(std::size_t i, Numbers otherwise) const { return n.input(i) ? of(i) : otherwise; }
  DType type() const { return y->dtype(); }
  Numbers any() const { return range_of(type()); }
};

// ---- of one number. Nothing is known if the function is NaN for some numbers of the input.

template <double (*f)(double), Numbers hull, bool whole = false>
Numbers rising(const Rule& r) {
  const Numbers x = r.of(0);
  if (x.none()) return x;
  Numbers y{f(x.low), f(x.high), x.nan, whole};
  if (std::isnan(y.low) || std::isnan(y.high)) return kAny;
  if (!whole) y = loose(y, r.type());
  return {std::clamp(y.low, hull.low, hull.high), std::clamp(y.high, hull.low, hull.high), x.nan, whole};
}

// Functions of which no more is known; NaN comes from NaN or infinities.
template <Numbers hull>
Numbers in(const Rule& r) {
  const Numbers x = r.of(0);
  if (x == kNoNumber) return x;
  Numbers y = loose(hull, r.type());
  if (hull.low == 0) y.low = 0;
  y.nan = !x.finite();
  return y;
}
Numbers no_larger(const Rule& r) {
  const Numbers x = r.of(0);
  Numbers y = loose({-x.magnitude(), x.magnitude(), false, false}, r.type());
  y.nan = !x.finite();
  return x == kNoNumber ? x : y;
}

double relu(double x) { return std::max(x, 0.0); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

Numbers plain_relu(const Rule& r) {
  const Numbers x = r.of(0);
  return {relu(x.low), relu(x.high), x.nan, x.whole};
}
// Some kernels give 0 for NaN.
Numbers sign(const Rule& r) {
  const Numbers y = rising<sign_of, kBothUnits, true>(r);
  return y.nan ? join(y, kZero) : y;
}
Numbers abs(const Rule& r) {
  const Numbers x = r.of(0);
  return {x.has(0) ? 0 : std::min(std::abs(x.low), std::abs(x.high)), x.magnitude(), x.nan, x.whole};
}
Numbers neg(const Rule& r) { return negated(r.of(0)); }
Numbers reciprocal(const Rule& r) {
  return loose(quotient({1, 1, false, false}, r.of(0), r.type()), r.type());
}
Numbers cast(const Rule& r) { return convert(r.of(0), r.type()); }
// The number, or its product with a slope.
Numbers leaky(const Rule& r) {
  const double alpha = static_cast<double>(r.n.attr_or<float>("alpha", 0.01F));
  return join(r.of(0), product(r.of(0), r.n.op() == "PRelu" ? r.of(1) : Numbers{alpha, alpha, false, false}));
}

// ---- of several

// No constant is read if the other operand of a sum or a product may be anything.
template <Numbers (*f)(const Numbers&, const Numbers&), bool is_lazy = false>
Numbers all(const Rule& r) {
  const std::size_t count = r.n.input_count(),
                    swap = is_lazy && count == 2 && r.n.input(0)->constant() ? 1 : 0;
  Numbers y = r.of(swap);
  for (std::size_t i = 1; i < count && !(is_lazy && y == kAny); ++i) y = fit(f(y, r.of(i ^ swap)), r.type());
  return y;
}

Numbers sub(const Rule& r) { return sum(r.of(0), negated(r.of(1))); }
Numbers mul(const Rule& r) {
  if (r.n.input(0) != r.n.input(1)) return all<product, true>(r);
  const Numbers x = r.of(0), m = {0, x.magnitude(), false, x.whole};  // of a square
  Numbers y = product(m, m);
  y.nan = x.nan;
  return x.none() ? x : y;
}
Numbers div(const Rule& r) { return quotient(r.of(0), r.of(1), r.type()); }
Numbers mod(const Rule& r) {
  if (!is_int(r.type())) return kAny;
  return remainder(r.of(0), r.of(1), r.n.attr_or<std::int64_t>("fmod", 0) != 0);
}
Numbers pow(const Rule& r) {
  const Numbers x = r.of(0), e = r.of(1);
  const bool is_even = e.low == e.high && std::fmod(e.low, 2) == 0, is_positive = x.low >= 0 && e.low >= 0;
  if (!is_float(r.type()) || !(is_even || is_positive)) return r.any();
  return {0, kInfinity, x.nan || e.nan, false};
}
// The upper bound wins over the lower one. Some kernels take the ends of the type for infinities.
Numbers clip(const Rule& r) {
  Numbers y = r.of(0);
  if (y.none()) return y;
  if (r.n.input(1)) y = larger(y, r.of(1));
  if (r.n.input(2)) y = smaller(y, r.of(2));
  return y.low < kInfinity && y.high > -kInfinity ? y : r.any();
}
Numbers where(const Rule& r) { return join(r.of(1), r.of(2)); }
Numbers pad(const Rule& r) {
  const bool has_value = r.n.attr_or<std::string>("mode", "constant") == "constant";
  return has_value ? join(r.of(0), r.of(2, kZero)) : r.of(0);
}
Numbers with_zero(const Rule& r) { return join(r.of(0), kZero); }
Numbers filled(const Rule& r) {
  const auto* value = r.n.attr_if<TensorPtr>("value");
  return value ? of_constant(**value) : kZero;
}

// ---- along axes

double count_of(const Value* x) { return static_cast<double>(x->shape().elements().value_or(0x7FFFFFFF)); }

// Of up to so many terms, and of none. Some kernels sum integers in doubles.
Numbers sums(const Rule& r) {
  const Numbers x = join(r.of(0), kZero);
  const double count = count_of(r.n.input(0));
  const Numbers y = loose(product(x, {0, count, false, true}), r.type(), count);
  if (is_int(r.type())) return y.within(0x1p53) ? y : r.any();
  const bool cancels = x.low < 0 && x.high > 0 && !fit(y, r.type()).finite();
  return {x.low < 0 ? y.low : 0, x.high > 0 ? y.high : 0, x.nan || cancels, x.whole};
}
Numbers mean(const Rule& r) {
  const Numbers total = fit(sums(r), r.type()), x = join(r.of(0), kZero);
  if (!is_float(r.type())) return r.any();
  Numbers y = total.finite() ? loose(x, r.type(), count_of(r.n.input(0))) : kAny;
  if (x.low == 0) y.low = 0;
  y.nan = y.nan || !r.n.input(0)->shape().is_static() || count_of(r.n.input(0)) == 0;
  return y;
}
Numbers extremum(const Rule& r) {
  const bool has_some = r.n.input(0)->shape().elements().value_or(0) > 0;
  const Numbers x = r.of(0);
  return has_some ? x : join(x, {r.any().low, r.any().high, false, x.whole});
}
Numbers prod(const Rule& r) {
  const Numbers x = r.of(0);
  return x.within(1) ? Numbers{x.low < 0 ? -1.0 : 0, 1, false, x.whole} : r.any();
}
Numbers norm(const Rule& r) {
  return is_float(r.type()) ? Numbers{0, kInfinity, r.of(0).nan, false} : r.any();
}

// ---- others

Numbers places(const Rule&) { return kPlaces; }
Numbers first_or_places(const Rule& r) { return r.y->index() == 0 ? r.of(0) : kPlaces; }
Numbers range(const Rule& r) { return is_int(r.type()) ? join(r.of(0), r.of(1)) : kAny; }
// A window of padding alone, of NaN or of -inf may give the lowest number.
Numbers max_pool(const Rule& r) {
  const Numbers x = first_or_places(r);
  const bool may_be_lowest = r.n.attr("ceil_mode") || x.nan || x.low == -kInfinity;
  return may_be_lowest ? Numbers{r.any().low, std::max(x.high, 0.0), x.nan, false} : x;
}
// Means of some numbers, and of zeros.
Numbers means(const Rule& r) {
  const Numbers x = with_zero(r);
  const auto mode = r.n.attr_or<std::string>("mode", "nearest");
  if (r.n.op() == "Resize" && mode == "nearest" && !r.n.attr("extrapolation_value")) return r.of(0);
  if (r.n.attr("ceil_mode") || r.n.attr("extrapolation_value") || mode == "cubic" || !x.within(1e30))
    return kAny;
  Numbers y = loose(x, r.type());
  if (x.low == 0) y.low = 0;
  return y;
}
Numbers dequantized(const Rule& r) {
  return loose(product(sum(r.of(0), negated(r.of(2, kZero))), r.of(1)), r.type());
}
Numbers branches(const Rule& r) {
  Numbers y = kNoNumber;
  ir::for_each_subgraph(r.n, [&](const ir::Graph& g) { y = join(y, r.ask(g.outputs().at(r.y->index()))); });
  return y;
}
Numbers of_layer(const Rule& r) {
  const double most = largest_of_layer(r.n, r.y->index(), r.ask, r.reads_weights);
  return most < kInfinity && is_float(r.type()) ? Numbers{-most, most, false, false} : r.any();
}

struct Row {
  std::string_view op;
  Numbers (*of)(const Rule&);
};

// Operators that are not here, and do not move elements, may give any numbers.
constexpr Row kRows[] = {
    // of one number
    {"Abs", abs},
    {"Asinh", rising<std::asinh, kAny>},
    {"Atan", rising<std::atan, kAny>},
    {"Cast", cast},
    {"CastLike", cast},
    {"Ceil", rising<std::ceil, kAny, true>},
    {"Cos", in<kBothUnits>},
    {"Cosh", in<kPositive>},
    {"Erf", rising<std::erf, kBothUnits>},
    {"Exp", rising<std::exp, kPositive>},
    {"Floor", rising<std::floor, kAny, true>},
    {"Gelu", no_larger},
    {"HardSigmoid", in<kUnit>},
    {"HardSwish", no_larger},
    {"LeakyRelu", leaky},
    {"Log", rising<std::log, kAny>},
    {"Mish", no_larger},
    {"Neg", neg},
    {"Reciprocal", reciprocal},
    {"Relu", plain_relu},
    {"Round", rising<std::nearbyint, kAny, true>},
    {"Sigmoid", rising<sigmoid, kUnit>},
    {"Sign", sign},
    {"Sin", in<kBothUnits>},
    {"Softplus", rising<softplus, kPositive>},
    {"Softsign", in<kBothUnits>},
    {"Sqrt", rising<std::sqrt, kPositive>},
    {"Swish", no_larger},
    {"Tanh", rising<std::tanh, kBothUnits>},
    {"ThresholdedRelu", no_larger},
    // of several
    {"Add", all<sum, true>},
    {"Clip", clip},
    {"Concat", all<join, true>},
    {"ConstantOfShape", filled},
    {"Div", div},
    {"If", branches},
    {"Max", all<larger>},
    {"Min", all<smaller>},
    {"Mod", mod},
    {"Mul", mul},
    {"PRelu", leaky},
    {"Pad", pad},
    {"Pow", pow},
    {"Range", range},
    {"Sub", sub},
    {"Sum", all<sum, true>},
    {"Trilu", with_zero},
    {"Where", where},
    // along axes
    {"ArgMax", places},
    {"ArgMin", places},
    {"CumSum", sums},
    {"Hardmax", in<kUnit>},
    {"ReduceL1", norm},
    {"ReduceL2", norm},
    {"ReduceMax", extremum},
    {"ReduceMean", mean},
    {"ReduceMin", extremum},
    {"ReduceProd", prod},
    {"ReduceSum", sums},
    {"ReduceSumSquare", norm},
    {"Softmax", in<kUnit>},
    {"TopK", first_or_places},
    {"Unique", first_or_places},
    // sizes and places
    {"NonMaxSuppression", places},
    {"NonZero", places},
    {"Shape", places},
    {"Size", places},
    // of images and with weights
    {"AveragePool", means},
    {"BatchNormalization", of_layer},
    {"Conv", of_layer},
    {"DequantizeLinear", dequantized},
    {"GRU", of_layer},
    {"Gemm", of_layer},
    {"LSTM", of_layer},
    {"LayerNormalization", of_layer},
    {"MatMul", of_layer},
    {"MaxPool", max_pool},
    {"RNN", of_layer},
    {"Resize", means},
};

Numbers of_node(const Rule& r) {
  static const auto table = [] {
    std::unordered_map<std::string_view, decltype(Row::of)> rows;
    for (const Row& row : kRows) rows.emplace(row.op, row.of);
    return rows;
  }();
  if (const auto row = table.find(r.n.op()); row != table.end()) return row->second(r);
  return has(r.n.op(), Trait::moves) ? r.of(0) : r.any();
}

// An element of which nothing is known may be any number: in a list with a few that are known it is no size.
// A size less a number may be below 0.
std::optional<Numbers> list_of_sizes(const Value* v) {
  if (!v->known_elements()) return std::nullopt;
  constexpr std::int64_t kMostFactor = (1 << 24) - 1;  // with more, a size is no size any more
  Numbers y = kNoNumber;
  for (const Dim d : *v->known_elements()) {
    if (d == kUnknownDim || d > static_cast<Dim>(kMostSize)) return std::nullopt;
    if (is_known(d)) {
      const auto known = static_cast<double>(d);
      y = join(y, {known, known, false, true});
      continue;
    }
    const Symbols::Affine size = v->graph()->symbols().affine_of(d);
    const bool wraps = is_unsigned_int(v->dtype()) && size.offset < 0;
    if (wraps || std::abs(size.factor) > kMostFactor) return std::nullopt;
    y = join(y, join(kPlaces, {static_cast<double>(size.offset), 0, false, true}));
  }
  return y;
}

Numbers find(const Value* v, const AskNumbers& ask, bool reads_weights) {
  const DType t = v->dtype();
  const bool is_8_bit_float = is_float(t) && bit_width(t) < 16;
  if (is_8_bit_float || !(is_float(t) || is_int(t) || t == DType::boolean)) return kAny;
  if (v->constant())
    return can_read(*v->constant(), reads_weights) ? fit(of_constant(*v->constant()), t) : range_of(t);
  if (const auto sizes = list_of_sizes(v)) return *sizes;
  return v->producer() ? fit(of_node({*v->producer(), v, ask, reads_weights}), t) : range_of(t);
}

}  // namespace

bool is_list_of_sizes(const Value* v) { return list_of_sizes(v).has_value(); }
Numbers numbers_without_weights(const Value* v, const AskNumbers& ask) { return find(v, ask, false); }
Numbers numbers_from_weights(const Value* v, const AskNumbers& ask) { return find(v, ask, true); }

std::vector<std::string_view> ops_with_number_rules() {
  std::vector<std::string_view> ops;
  for (const Row& r : kRows) ops.push_back(r.op);
  return ops;
}

}  // namespace t2o::onnx
