#include "onnx/formulas.h"

#include <algorithm>
#include <array>
#include <utility>

namespace t2o::onnx {
namespace {

double number(const Attrs& attrs, std::string_view name, double otherwise) {
  for (const ir::NamedAttr& a : attrs)
    if (const auto* v = a.name == name ? std::get_if<float>(&a.value) : nullptr)
      return static_cast<double>(*v);
  return otherwise;
}

Value* one(Emitter& e, Value* x) { return e.scalar_like(x, 1); }
Value* half(Emitter& e, Value* x) { return e.mul(x, e.scalar_like(x, 0.5)); }

// sinh(x) = (exp(x) - 1) * (1 + exp(-x)) / 2, the first factor as tanh(x / 2) * (exp(x) + 1), which keeps the
// digits of a small x
Value* sinh(Emitter& e, Value* x, const Attrs&) {
  Value* tanh = e.emit("Tanh", {half(e, x)});
  Value* expm1 = e.mul(tanh, e.add(e.exp(x), one(e, x)));
  return e.mul(expm1, half(e, e.add(e.exp(e.neg(x)), one(e, x))));
}

Value* cosh(Emitter& e, Value* x, const Attrs&) {
  Value* growing = e.exp(x);
  return half(e, e.add(growing, e.exp(e.neg(x))));
}

Value* tan(Emitter& e, Value* x, const Attrs&) {
  Value* sine = e.sin(x);
  return e.div(sine, e.cos(x));
}

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which cannot overflow
Value* softplus(Emitter& e, Value* x, const Attrs&) {
  Value* tail = e.log(e.add(e.exp(e.neg(e.abs(x))), one(e, x)));
  return e.add(e.emit("Relu", {x}), tail);
}

Value* softsign(Emitter& e, Value* x, const Attrs&) { return e.div(x, e.add(e.abs(x), one(e, x))); }

Value* below_zero(Emitter& e, Value* x, Value* y) { return e.where(e.less(x, e.scalar_like(x, 0)), y, x); }

Value* leaky_relu(Emitter& e, Value* x, const Attrs& attrs) {
  return below_zero(e, x, e.mul(x, e.scalar_like(x, number(attrs, "alpha", 0.01))));
}

Value* scaled_expm1_of_lower(Emitter& e, Value* x, double alpha) {
  Value* lower = e.sub(e.exp(e.minimum(x, e.scalar_like(x, 0))), one(e, x));
  return alpha == 1 ? lower : e.mul(lower, e.scalar_like(x, alpha));
}

Value* elu(Emitter& e, Value* x, const Attrs& attrs) {
  return below_zero(e, x, scaled_expm1_of_lower(e, x, number(attrs, "alpha", 1)));
}

// With the standard's numbers in all their digits.
Value* selu(Emitter& e, Value* x, const Attrs& attrs) {
  constexpr double kScale = 1.0507009873554804934193349852946, kAlpha = 1.6732632423543772848170429916717;
  Value* y = below_zero(e, x, scaled_expm1_of_lower(e, x, number(attrs, "alpha", kAlpha)));
  return e.mul(y, e.scalar_like(x, number(attrs, "gamma", kScale)));
}

using Formula = Value* (*)(Emitter&, Value*, const Attrs&);
constexpr std::array<std::pair<std::string_view, Formula>, 8> kFormulas = {{{"Cosh", cosh},
                                                                            {"Elu", elu},
                                                                            {"LeakyRelu", leaky_relu},
                                                                            {"Selu", selu},
                                                                            {"Sinh", sinh},
                                                                            {"Softplus", softplus},
                                                                            {"Softsign", softsign},
                                                                            {"Tan", tan}}};

}  // namespace

Value* by_formula(Emitter& e, const std::string& op, Value* x, const Attrs& attrs) {
  const auto it = std::ranges::find(kFormulas, op, &std::pair<std::string_view, Formula>::first);
  return it == kFormulas.end() ? nullptr : it->second(e, x, attrs);
}

}  // namespace t2o::onnx
