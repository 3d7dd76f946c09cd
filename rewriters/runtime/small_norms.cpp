#include <cmath>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// The root of a sum of squares of few numbers, and the division by it, as an embedding is normalized: there
// each node counts. For more numbers ONNX Runtime takes up to twice as long for ReduceL2 and ReduceSumSquare
// as for their parts, and a fifth longer for a Div than for a Mul.
namespace t2o::rewriters {
namespace {

constexpr std::int64_t kFew = 512;  // of one of a batch

bool is_small(const Value* v) {
  const Shape& s = v->shape();
  if (v->dtype() != DType::f32 || v->constant() || !s.ranked() || s.rank() < 1) return false;
  std::int64_t elements = is_known(s[0]) ? s[0] : 1;
  for (int i = 1; i < s.rank() && elements <= kFew; ++i) elements *= is_known(s[i]) ? s[i] : kFew + 1;
  return elements > 0 && elements <= kFew;
}

Emitter at_root(const Match& m, Rewrite& r, const onnx::Target& target) {
  ir::Node& root = *m.root()->producer();
  return Emitter(r.graph(), target, root.shared_origin(), &root);
}

Value* reduced(Emitter& e, const char* op, Value* x, const ir::Node& like) {
  return e.reduce(op, x, *axes_of(like), like.attr_or<std::int64_t>("keepdims", 1) != 0);
}

Pat positive() {
  return constant().where([](const Value* v) {
    return is_scalar_constant(v) && *number_of(v) > 0 && std::isfinite(*number_of(v));
  });
}

// sum(x * x)
Rewriter squares(const onnx::Target& target) {
  const Pat x = any();
  const Pat two = constant().where([](const Value* v) { return is_number(v, 2); });
  const Pat square = op("Mul", x, x) | op("Pow", x, two);
  return rewriter("small_norms", op("ReduceSum", square, constant()) | op("ReduceSum", square),
                  [=](const Match& m, Rewrite& r) -> Value* {
                    const ir::Node& sum = *m.root()->producer();
                    const int rank = sum.input(0)->shape().rank();  // which an exponent with more axes raises
                    if (!is_small(m[x]) || !reduces_some(sum) || rank != m[x]->shape().rank()) return nullptr;
                    Emitter e = at_root(m, r, target);
                    return reduced(e, "ReduceSumSquare", m[x], sum);
                  });
}

// sqrt(sum), and sqrt(max(sum, least)), which is the greater of both roots
Rewriter roots(const onnx::Target& target) {
  const Pat x = any(), least = positive();
  const Pat sum = op("ReduceSumSquare", x, constant()) | op("ReduceSumSquare", x);
  return rewriter(
      "small_norms", op("Sqrt", sum | op("Max", sum, least)), [=](const Match& m, Rewrite& r) -> Value* {
        if (!is_small(m[x]) || !reduces_some(*m[sum]->producer())) return nullptr;
        Emitter e = at_root(m, r, target);
        Value* norm = reduced(e, "ReduceL2", m[x], *m[sum]->producer());
        return m[least] ? e.maximum(norm, e.scalar_like(norm, std::sqrt(*number_of(m[least])))) : norm;
      });
}

// x * (1 / root), and x * min(1 / root, most), which is x divided by the greater of the root and 1 / most. A
// root is never so small that one divided by it is infinite.
Rewriter quotients(const onnx::Target& target) {
  const Pat x = any(), most = positive(), least = positive();
  const Pat norm = op("ReduceL2", any(), constant()) | op("ReduceL2", any());
  const Pat root = norm | op("Max", norm, least) | op("Sqrt", any());
  const Pat inverse = op("Reciprocal", root);
  return rewriter("small_norms", op("Mul", x, inverse | op("Min", inverse, most)),
                  [=](const Match& m, Rewrite& r) -> Value* {
                    if (!is_small(m.root()) || m[x]->constant()) return nullptr;
                    const double bound = m[most] ? 1 / *number_of(m[most]) : 0;
                    if (m[most] && bound < 1e-37) return nullptr;  // of which few digits are left
                    Emitter e = at_root(m, r, target);
                    Value* by = m[root];
                    if (m[most]) by = e.maximum(by, e.scalar_like(by, bound));
                    return e.div(m[x], by);
                  });
}

}  // namespace

Rewriter small_norms(const onnx::Target& target) {
  return in_turn("small_norms", {squares(target), roots(target), quotients(target)},
                 {"ReduceSum", "ReduceSumSquare", "ReduceL2", "Reciprocal"});
}

}  // namespace t2o::rewriters
