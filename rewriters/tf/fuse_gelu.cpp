#include <cmath>
#include <optional>

#include "rewriters/all.h"
#include "tfgraph/internal_ops.h"

namespace t2o::rewriters {
namespace {

// A number, spelled as a constant or as a little arithmetic on constants: sqrt(2 / pi).
std::optional<double> number(const Value* v, int depth = 4) {
  if (const TensorPtr& t = v->constant())
    return t->elements() == 1 && is_float(t->dtype()) ? std::optional(t->float_at(0)) : std::nullopt;
  const ir::Node* n = v->producer();
  if (!n || depth == 0 || n->input_count() == 0 || n->input_count() > 2) return std::nullopt;
  const auto a = number(n->input(0), depth - 1);
  const auto b = n->input_count() == 2 ? number(n->input(1), depth - 1) : a;
  if (!a || !b) return std::nullopt;
  if (n->op() == "Sqrt") return std::sqrt(*a);
  if (n->op() == "Cast") return a;
  if (n->op() == "RealDiv") return *a / *b;
  if (n->op() == "Mul") return *a * *b;
  return std::nullopt;
}

Pat num(double wanted) {
  return any().where([wanted](const Value* v) {
    const auto n = number(v);
    return n && std::abs(*n - wanted) < 1e-5;
  });
}

Pat add(const Pat& a, const Pat& b) { return op("AddV2|Add", a, b); }
Pat mul(const Pat& a, const Pat& b) { return op("Mul", a, b); }
Pat squared(const Pat& x) { return op("Square", x) | mul(x, x) | op("Pow", x, num(2)); }

// x / 2 times what is 2 for a large x and 0 for a very negative one
Pat half_of(const Pat& x, const Pat& doubled) {
  const Pat half = num(0.5);
  return mul(mul(half, x), doubled) | mul(x, mul(half, doubled)) | mul(half, mul(x, doubled)) |
         op("RealDiv", mul(x, doubled), num(2));
}

// x / 2 * (1 + erf(x / sqrt(2)))
Pat exact_gelu(const Pat& x) {
  const double root = std::sqrt(0.5);
  const auto scaled = [&](const Pat& v) { return mul(v, num(root)) | op("RealDiv", v, num(1 / root)); };
  const Pat negated = scaled(op("Neg", x)) | op("Neg", scaled(x)) | mul(x, num(-root));
  return half_of(x, add(num(1), op("Erf", scaled(x))) | op("Erfc", negated));
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
Pat tanh_gelu(const Pat& x) {
  const Pat factor = num(std::sqrt(2 / 3.14159265358979323846)), coefficient = num(0.044715);
  const Pat cube = op("Pow", x, num(3)) | mul(x, squared(x));
  const Pat bend = mul(coefficient, squared(x)) | mul(mul(coefficient, x), x);
  const Pat bracket = add(num(1), bend);
  const Pat inner = mul(factor, add(x, mul(coefficient, cube) | mul(bend, x)) | mul(x, bracket)) |
                    mul(mul(factor, x), bracket);
  return half_of(x, add(num(1), op("Tanh", inner)));
}

Rewriter form(const Pat& x, const Pat& root, const char* approximate) {
  return rewriter("fuse_gelu", root, [x, approximate](const Match& m, Rewrite& r) -> Value* {
    const Shape &in = m[x]->shape(), &out = m.root()->shape();
    if (in.ranked() && out.ranked() && in.rank() != out.rank()) return nullptr;  // a factor has more axes
    return r.make(std::string(tfgraph::kGelu), {m[x]}, {{"approximate", std::string(approximate)}});
  });
}

}  // namespace

Rewriter fuse_gelu() {
  const Pat x = any();
  return in_turn("fuse_gelu", {form(x, exact_gelu(x), "none"), form(x, tanh_gelu(x), "tanh")},
                 {"Erf", "Erfc", "Tanh"});
}

}  // namespace t2o::rewriters
