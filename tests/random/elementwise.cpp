#include <cmath>

#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

struct Unary {
  const char* op;
  char of;  // f floats, n floats and integers, i integers, b bools, c complex, a all
  Rounding rounding;
  Domain domain = Domain::any;
};
const std::vector<Unary> kUnary = {
    {"Abs", 'n', Rounding::moves}, {"Neg", 'n', Rounding::moves}, {"Sign", 'n', Rounding::moves},
    {"Square", 'n', Rounding::once}, {"Floor", 'f', Rounding::moves}, {"Ceil", 'f', Rounding::moves},
    {"Round", 'n', Rounding::moves}, {"Rint", 'f', Rounding::moves}, {"Relu", 'n', Rounding::moves},
    {"Relu6", 'n', Rounding::moves}, {"Identity", 'a', Rounding::moves}, {"StopGradient", 'a', Rounding::moves},
    {"ZerosLike", 'a', Rounding::moves}, {"OnesLike", 'a', Rounding::moves}, {"Invert", 'i', Rounding::moves},
    {"PopulationCount", 'i', Rounding::moves}, {"LogicalNot", 'b', Rounding::moves}, {"IsNan", 'f', Rounding::moves},
    {"IsFinite", 'f', Rounding::moves}, {"IsInf", 'f', Rounding::moves}, {"Reciprocal", 'n', Rounding::once, Domain::divisor},
    {"Inv", 'n', Rounding::once, Domain::divisor}, {"Sqrt", 'f', Rounding::once, Domain::positive},
    {"Rsqrt", 'f', Rounding::many, Domain::positive}, {"Elu", 'f', Rounding::many}, {"Selu", 'f', Rounding::many},
    {"LeakyRelu", 'f', Rounding::once}, {"Softplus", 'f', Rounding::many}, {"Softsign", 'f', Rounding::many},
    {"Sigmoid", 'f', Rounding::many}, {"Tanh", 'f', Rounding::many}, {"Exp", 'f', Rounding::many},
    {"Expm1", 'f', Rounding::many}, {"Log", 'f', Rounding::many, Domain::positive},
    {"Log1p", 'f', Rounding::many, Domain::positive}, {"Sin", 'f', Rounding::many}, {"Cos", 'f', Rounding::many},
    {"Tan", 'f', Rounding::many, Domain::unit}, {"Asin", 'f', Rounding::many, Domain::unit},
    {"Acos", 'f', Rounding::many, Domain::unit}, {"Atan", 'f', Rounding::many}, {"Sinh", 'f', Rounding::many},
    {"Cosh", 'f', Rounding::many}, {"Asinh", 'f', Rounding::many}, {"Acosh", 'f', Rounding::many, Domain::positive},
    {"Atanh", 'f', Rounding::many, Domain::unit}, {"Erf", 'f', Rounding::many}, {"Erfc", 'f', Rounding::many},
    {"Lgamma", 'f', Rounding::many, Domain::positive}, {"Softmax", 'f', Rounding::many}, {"LogSoftmax", 'f', Rounding::many},
    {"Digamma", 'f', Rounding::many, Domain::positive},
    {"Erfinv", 'f', Rounding::many, Domain::unit}, {"Cos", 'f', Rounding::many}, {"BesselI0e", 'f', Rounding::many},
    {"Snapshot", 'a', Rounding::moves}, {"DeepCopy", 'a', Rounding::moves}, {"ToBool", 'n', Rounding::moves},
    {"Conj", 'c', Rounding::moves}, {"Neg", 'c', Rounding::moves}, {"Square", 'c', Rounding::once},
    {"Real", 'c', Rounding::moves}, {"Imag", 'c', Rounding::moves}, {"ComplexAbs", 'c', Rounding::many}};

const DTypes& types(char of) {
  static const DTypes booleans = {boolean}, complex = {c64};
  switch (of) {
    case 'f': return kFloats;
    case 'i': return kInts;
    case 'b': return booleans;
    case 'c': return complex;
    case 'a': return kAll;
    default: return kReals;
  }
}

void draw_unary(Drawer& d) {
  const Unary& u = d.one_of(kUnary);
  if (u.of == 'c' && d.chance(0.7)) throw Dropped();
  const bool rows = std::string_view(u.op).ends_with("oftmax");
  const Ref x = d.pick(types(u.of), rows ? 1 : 0, 5, u.domain);
  std::vector<engines::TfAttr> attrs;
  if (std::string_view(u.op) == "LeakyRelu" && d.chance(0.5)) attrs.push_back({"alpha", 0.25F});
  d.op(u.op, {x}, attrs, u.rounding);
}

struct Binary {
  const char* op;
  char of;
  Rounding rounding;
  Domain second = Domain::any;
};
const std::vector<Binary> kBinary = {
    {"AddV2", 'n', Rounding::once}, {"AddV2", 'n', Rounding::once}, {"Add", 'n', Rounding::once}, {"Sub", 'n', Rounding::once},
    {"Sub", 'n', Rounding::once}, {"Mul", 'n', Rounding::once}, {"Mul", 'n', Rounding::once},
    {"Div", 'n', Rounding::once, Domain::divisor}, {"RealDiv", 'f', Rounding::once, Domain::divisor},
    {"FloorDiv", 'n', Rounding::once, Domain::divisor}, {"FloorMod", 'n', Rounding::once, Domain::divisor},
    {"TruncateDiv", 'i', Rounding::once, Domain::divisor}, {"TruncateMod", 'i', Rounding::once, Domain::divisor},
    {"Mod", 'n', Rounding::once, Domain::divisor}, {"Maximum", 'n', Rounding::moves}, {"Minimum", 'n', Rounding::moves},
    {"Pow", 'n', Rounding::many, Domain::small}, {"SquaredDifference", 'n', Rounding::once},
    {"DivNoNan", 'f', Rounding::once}, {"MulNoNan", 'f', Rounding::once}, {"Xdivy", 'f', Rounding::once, Domain::divisor},
    {"Xlogy", 'f', Rounding::many, Domain::positive}, {"Atan2", 'f', Rounding::many}, {"Equal", 'a', Rounding::moves},
    {"NotEqual", 'a', Rounding::moves}, {"Less", 'n', Rounding::moves}, {"LessEqual", 'n', Rounding::moves},
    {"Greater", 'n', Rounding::moves}, {"GreaterEqual", 'n', Rounding::moves}, {"BitwiseAnd", 'i', Rounding::moves},
    {"BitwiseOr", 'i', Rounding::moves}, {"BitwiseXor", 'i', Rounding::moves}, {"LeftShift", 'i', Rounding::moves, Domain::shift},
    {"RightShift", 'i', Rounding::moves, Domain::shift}, {"LogicalAnd", 'b', Rounding::moves}, {"LogicalOr", 'b', Rounding::moves},
    {"Xlog1py", 'f', Rounding::many, Domain::positive}, {"AddV2", 'c', Rounding::once}, {"Mul", 'c', Rounding::once},
    {"Sub", 'c', Rounding::once}};

void draw_binary(Drawer& d) {
  const Binary& b = d.one_of(kBinary);
  if (b.of == 'c' && d.chance(0.7)) throw Dropped();
  const Ref x = d.pick(types(b.of));
  const Ref y = b.second == Domain::shift && d.chance(0.6) ? d.like(x, b.second) : d.partner(x, b.second);
  if (b.second == Domain::shift)
    for (const std::int64_t v : d.tensor(y).to_ints())
      if (v < 0 || v >= static_cast<std::int64_t>(bit_width(d.dtype(y)))) d.only_special();
  if (std::string_view(b.op) == "Pow" && is_int(d.dtype(x)))
    for (const std::int64_t v : d.tensor(y).to_ints())
      if (v < 0 || v > 64) throw Dropped();
  if (b.second == Domain::any && d.chance(0.5)) d.op(b.op, {y, x}, {}, b.rounding);
  else d.op(b.op, {x, y}, {}, b.rounding);
}

void draw_cast(Drawer& d) {
  const Ref x = d.pick(kAll);
  const DType to = d.dtype(kAll);
  if (!fits(d.tensor(x), to)) d.only_special();
  if (is_complex(d.dtype(x)) && !is_complex(to)) throw Dropped();
  const Rounding rounding = is_float(to) && d.dtype(x) != to ? Rounding::once : Rounding::moves;
  d.op("Cast", {x}, {{"DstT", to}, {"Truncate", d.chance(0.03)}}, rounding);
}

void draw_select(Drawer& d) {
  const Ref x = d.pick(kAll), y = d.partner(x);
  const Ref wide = d.rank(y) > d.rank(x) ? y : x;
  const auto condition = [&] { return d.leaf(boolean, d.chance(0.7) ? d.dims(wide) : Ints{}); };
  const Ref c = d.chance(0.5) ? condition() : d.pick({boolean});
  if (d.chance(0.25)) d.op("Select", {c, x, d.like(x)});
  else d.op("SelectV2", {c, x, y});
}

void draw_clip(Drawer& d) {
  const Ref x = d.pick(kReals);
  const TensorPtr a = d.random_tensor(d.dtype(x), {}, Domain::any), b = d.random_tensor(d.dtype(x), {}, Domain::any);
  const bool less = is_float(a->dtype()) || a->dtype() == u64 ? a->float_at(0) <= b->float_at(0) : a->int_at(0) <= b->int_at(0);
  if (!less && d.chance(0.9)) throw Dropped();
  const Ref low = d.leaf(a), high = d.leaf(b);
  if (d.chance(0.5)) d.op("ClipByValue", {x, low, high});
  else d.op("Minimum", {d.op("Maximum", {x, low}), high});
}

void draw_add_n(Drawer& d) {
  const Ref x = d.pick(kNumbers);
  std::vector<Ref> list = {x};
  for (std::int64_t n = d.below(3); n >= 0; --n) list.push_back(d.like(x));
  d.op("AddN", {In(list)}, {}, Rounding::once);
}

void draw_bias(Drawer& d) {
  const Ref x = d.pick(kReals, 2, 4);
  d.op("BiasAdd", {x, d.leaf(d.dtype(x), {d.dims(x).back()})}, {}, Rounding::once);
}

// Gradients: of the same shape, one of them an output of the function.
void draw_gradient(Drawer& d) {
  static const std::vector<std::pair<const char*, Rounding>> ops = {
      {"ReluGrad", Rounding::moves}, {"Relu6Grad", Rounding::moves}, {"SigmoidGrad", Rounding::once}, {"TanhGrad", Rounding::once},
      {"EluGrad", Rounding::many}, {"SeluGrad", Rounding::many}, {"SoftplusGrad", Rounding::many}, {"SoftsignGrad", Rounding::many},
      {"LeakyReluGrad", Rounding::once}, {"RsqrtGrad", Rounding::once}, {"SqrtGrad", Rounding::once}, {"ReciprocalGrad", Rounding::once}};
  const auto& [op, rounding] = d.one_of(ops);
  const Ref x = d.pick(kFloats, 0, 5, Domain::positive);
  d.op(op, {x, d.like(x)}, {}, rounding);
}

void draw_fake_quant(Drawer& d) {
  const Ref x = d.pick({f32});
  d.op("FakeQuantWithMinMaxArgs", {x}, {{"min", -4.0F}, {"max", 4.0F}, {"num_bits", d.between(4, 8)}, {"narrow_range", d.chance(0.3)}}, Rounding::once);
}

void draw_bitcast(Drawer& d) {
  const Ref x = d.pick(kInts);
  const DType from = d.dtype(x), to = d.dtype(kInts);
  if (bit_width(from) != bit_width(to) && d.chance(0.7)) throw Dropped();
  d.op("Bitcast", {x}, {{"type", to}});
}

void draw_bucketize(Drawer& d) {
  const Ref x = d.pick({f32, f64, i32, i64});
  d.op("Bucketize", {x}, {{"boundaries", Floats{-2, 0.5F, 3, 10}}});
}

void draw_approximate(Drawer& d) {
  const Ref x = d.pick({f32, f32, i32});
  d.op("ApproximateEqual", {x, d.like(x)}, {{"tolerance", 0.3F}});
}

void draw_complex(Drawer& d) {
  const Ref x = d.pick({f32}, 0, 3);
  d.op("Complex", {x, d.like(x)}, {{"Tout", c64}});
}

}  // namespace

void add_elementwise(std::vector<Maker>& m) {
  m.push_back({"unary", 45, draw_unary});
  m.push_back({"binary", 55, draw_binary});
  m.push_back({"cast", 16, draw_cast});
  m.push_back({"select", 6, draw_select});
  m.push_back({"clip", 4, draw_clip});
  m.push_back({"add_n", 2, draw_add_n});
  m.push_back({"bias", 2, draw_bias});
  m.push_back({"gradient", 3, draw_gradient});
  m.push_back({"fake_quant", 1, draw_fake_quant});
  m.push_back({"bitcast", 1, draw_bitcast});
  m.push_back({"bucketize", 1, draw_bucketize});
  m.push_back({"approximate", 1, draw_approximate});
  m.push_back({"complex", 1, draw_complex});
}

}  // namespace t2o::random_graphs
