#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/norm_pattern.h"

namespace t2o::rewriters {
namespace {


bool is_near(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

Pat number() { return constant().where(is_scalar_constant); }

Pat number(double wanted) {
  return constant().where([wanted](const Value* v) { return is_float(v->dtype()) && is_number(v, wanted); });
}

// A fraction, as it is rounded.
Pat about(double wanted) {
  return constant().where(
      [wanted](const Value* v) { return is_scalar_constant(v) && is_near(*number_of(v), wanted); });
}

// A product of zero and an infinity would be NaN.
bool are_finite(const Value* v) { return is_float(v->dtype()) && onnx::is_finite(v); }

double value(const Match& m, const Pat& p) { return *number_of(m[p]); }

// v between low and high, which is 0 where only a Relu says it
struct Bounded {
  Pat low = number(), high = number();
  Pat of(const Pat& v) const {
    return op("Clip", v, low, high) | op("Max", op("Min", v, high), low) |
           op("Min", op("Max", v, low), high) | op("Min", op("Relu", v), high);
  }
  double from(const Match& m) const { return m[low] ? value(m, low) : 0; }
  double to(const Match& m) const { return value(m, high); }
};

Value* same_kind(const Match& m, Rewrite& r, const onnx::DTypeSet& types, const Pat& x, const char* name,
                 Attrs attrs = {}) {
  const Value* y = m.root();
  if (!types.has(y->dtype()) || y->shape() != m[x]->shape() || !y->shape().ranked()) return nullptr;
  return r.make(name, {m[x]}, std::move(attrs));
}

// Products of numbers that are dequantized are rounded in each form: a scale is no whole number.
bool is_between_codes(const Value* x, const Value* y) {
  const auto& readers = y->uses();
  return x->producer() && x->producer()->op() == "DequantizeLinear" &&
         std::all_of(readers.begin(), readers.end(),
                     [](const ir::Use& u) { return u.node->op() == "QuantizeLinear"; });
}

class Activations {
 public:
  Activations(const onnx::Target& t, std::shared_ptr<ExactSums> sums) : target_(t), sums_(std::move(sums)) {}

  std::vector<Rewriter> forms() {
    hard_swish();
    hard_sigmoid();
    leaky_relu();
    prelu();
    mish();
    bounds();
    return std::move(forms_);
  }

 private:
  void form(const Pat& root, Replace replace) {
    forms_.push_back(rewriter("fuse_activation", root, std::move(replace)));
  }

  // x * min(max(x + 3, 0), 6) / 6
  void hard_swish() {
    const auto types = kernel_types("HardSwish", target_);
    const Pat x = any();
    const Bounded b;
    const Pat part = b.of(op("Add", x, number(3))), sixth = about(1.0 / 6), six = number(6);
    const Pat root = op("Mul", x, op("Div", part, six) | op("Mul", part, sixth)) |
                     op("Div", op("Mul", x, part), six) | op("Mul", op("Mul", x, part), sixth) |
                     op("Mul", part, op("Mul", x, sixth) | op("Div", x, six));
    form(root, [=, sums = sums_](const Match& m, Rewrite& r) -> Value* {
      const bool may_round = is_between_codes(m[x], m.root()) || !sums->need(m[x], m.root(), {1.0 / 6});
      const bool same = b.from(m) == 0 && b.to(m) == 6 && may_round;
      return same ? same_kind(m, r, types, x, "HardSwish") : nullptr;
    });
  }

  // min(max(a x + b, 0), 1), or with the scaling behind it
  void hard_sigmoid() {
    const auto types = kernel_types("HardSigmoid", target_);
    const Pat x = any(), shift = number(), factor = number(), divisor = number();
    const Bounded b;
    const auto made = [=](const Match& m, Rewrite& r, double by, double offset) {
      return same_kind(m, r, types, x, "HardSigmoid",
                       {{"alpha", static_cast<float>(by)}, {"beta", static_cast<float>(offset)}});
    };
    const Pat part = b.of(op("Add", x, shift));
    const auto by_number = [=](const Match& m) {
      return m[factor] ? value(m, factor) : 1 / value(m, divisor);
    };
    form(op("Mul", part, factor) | op("Div", part, divisor),
         [=, sums = sums_](const Match& m, Rewrite& r) -> Value* {
           const double by = by_number(m);
           if (b.from(m) != 0 || !is_near(b.to(m) * by, 1) || sums->need(m[x], m.root(), {by}))
             return nullptr;
           return made(m, r, by, value(m, shift) * by);
         });
    form(b.of(op("Add", op("Mul", x, factor) | op("Div", x, divisor), shift)),
         [=, sums = sums_](const Match& m, Rewrite& r) -> Value* {
           const double by = by_number(m);
           if (b.from(m) != 0 || b.to(m) != 1 || !std::isfinite(by)) return nullptr;
           const bool same = m[factor] || !sums->need(m[x], m.root(), {by});
           return same ? made(m, r, by, value(m, shift)) : nullptr;
         });
  }

  // x where it is positive, else a x
  void leaky_relu() {
    const auto types = kernel_types("LeakyRelu", target_);
    const Pat x = any(), slope = number(), zero = number(0);
    const Pat small = op("Mul", x, slope),
              positive = op("Greater|GreaterOrEqual", x, zero) | op("Less|LessOrEqual", zero, x);
    const Pat negative = op("Less|LessOrEqual", x, zero) | op("Greater|GreaterOrEqual", zero, x);
    const auto made = [=](const Match& m, Rewrite& r, double a) {
      return same_kind(m, r, types, x, "LeakyRelu", {{"alpha", static_cast<float>(a)}});
    };
    form(op("Where", positive, x, small) | op("Where", negative, small, x),
         [=](const Match& m, Rewrite& r) -> Value* {
           return std::isfinite(value(m, slope)) ? made(m, r, value(m, slope)) : nullptr;
         });
    form(op("Max", x, small), [=](const Match& m, Rewrite& r) -> Value* {
      return value(m, slope) > 0 && value(m, slope) < 1 ? made(m, r, value(m, slope)) : nullptr;
    });
    form(op("Sub", op("Relu", x), op("Mul", op("Relu", op("Neg", x)), slope)),
         [=](const Match& m, Rewrite& r) -> Value* {
           return value(m, slope) > 0 && std::isfinite(value(m, slope)) ? made(m, r, value(m, slope))
                                                                        : nullptr;
         });
  }

  // x where it is positive, else a x, with many numbers a
  void prelu() {
    const auto leaky = kernel_types("LeakyRelu", target_), types = kernel_types("PRelu", target_);
    const Pat x = any(), slopes = constant().where(are_finite);
    const Pat high = op("Relu", x), mirrored = op("Mul", slopes, op("Relu", op("Neg", x)));
    const auto made = [=](const Match& m, Rewrite& r, Value* a) -> Value* {
      const Value* y = m.root();
      if (!types.has(y->dtype()) || y->shape() != m[x]->shape() || !y->shape().ranked()) return nullptr;
      return r.make("PRelu", {m[x], a});
    };
    form(op("Add", high, op("Mul", slopes, op("Min", x, number(0)))) | op("Sub", high, mirrored),
         [=](const Match& m, Rewrite& r) { return made(m, r, m[slopes]); });
    form(op("Add", high, mirrored), [=, target = target_](const Match& m, Rewrite& r) {
      ir::Node& root = *m.root()->producer();
      Emitter e(r.graph(), target, root.shared_origin(), &root);
      return made(m, r, e.neg(m[slopes]));
    });
    // After the forms that make a PRelu.
    form(op("PRelu", x, slopes), [=](const Match& m, Rewrite& r) -> Value* {
      const auto a = uniform_number(m[slopes]);
      return a ? same_kind(m, r, leaky, x, "LeakyRelu", {{"alpha", static_cast<float>(*a)}}) : nullptr;
    });
  }

  // x tanh(ln(1 + e^x))
  void mish() {
    const auto types = kernel_types("Mish", target_);
    const Pat x = any();
    form(op("Mul", x, op("Tanh", op("Softplus", x))),
         [=](const Match& m, Rewrite& r) { return same_kind(m, r, types, x, "Mish"); });
  }

  void bounds() {
    const auto clips = kernel_types("Clip", target_), relus = kernel_types("Relu", target_);
    const Pat x = any(), zero = number(0);
    const Bounded b;
    const onnx::Target target = target_;
    form(op("Max", op("Min", x, b.high), b.low) | op("Min", op("Max", x, b.low), b.high) |
             op("Min", op("Relu", x), b.high),
         [=](const Match& m, Rewrite& r) -> Value* {
           const Value* y = m.root();
           if (!(b.from(m) <= b.to(m)) || !clips.has(y->dtype()) || y->shape() != m[x]->shape() ||
               !y->shape().ranked())
             return nullptr;
           ir::Node& root = *y->producer();
           return Emitter(r.graph(), target, root.shared_origin(), &root).clip(m[x], b.from(m), b.to(m));
         });
    form(op("Max", x, zero), [=](const Match& m, Rewrite& r) { return same_kind(m, r, relus, x, "Relu"); });
    form(op("Clip", op("Relu", x), b.low, b.high), [=](const Match& m, Rewrite& r) -> Value* {
      const double low = std::max(b.from(m), 0.0), high = b.to(m);
      if (!(low <= high)) return nullptr;
      ir::Node& root = *m.root()->producer();
      return Emitter(r.graph(), target, root.shared_origin(), &root).clip(m[x], low, high);
    });
  }

  onnx::Target target_;
  std::shared_ptr<ExactSums> sums_;
  std::vector<Rewriter> forms_;
};

}  // namespace

Rewriter fuse_activation(const onnx::Target& target) {
  const auto sums = std::make_shared<ExactSums>();
  Rewriter r = in_turn("fuse_activation", Activations(target, sums).forms(),
                       {"Clip", "Max", "Min", "Where", "Relu", "PRelu", "Softplus"});
  r.run = [sums, run = std::move(r.run)](ir::Graph& g) {
    sums->forget();
    return run(g);
  };
  return r;
}

}  // namespace t2o::rewriters
