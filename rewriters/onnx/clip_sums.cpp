
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

struct Zeros {
  Pat x = any().where([](const Value* v) { return is_never_negative(v); });
  Pat low = zero(), high = zero(), axes = constant();
  Pat clip = op("Clip", x, low, high);
  Pat sum = op("ReduceSum", clip, axes) | op("ReduceSum", clip);

 private:
  static Pat zero() {
    return constant().where([](const Value* v) { return is_number(v, 0); });
  }
};

bool keeps_dims(const ir::Node& n) { return n.attr_or<std::int64_t>("keepdims", 1) != 0; }

bool is_of_all(const ir::Node& n) { return !n.input(1) && !n.attr("axes"); }

bool reduce_the_same(const ir::Node& a, const ir::Node& b) {
  const auto of_a = axes_of(a), of_b = axes_of(b);
  const bool same = of_a && of_b ? *of_a == *of_b && !of_a->empty() : is_of_all(a) && is_of_all(b);
  return same && keeps_dims(a) == keeps_dims(b);
}

// Of x instead of zeros.
Value* sum_of(Value* x, const ir::Node& of_zeros, Rewrite& r) {
  Values in = of_zeros.inputs();
  in[0] = x;
  return r.make("ReduceSum", std::move(in), of_zeros.attrs(), of_zeros.output()->dtype(),
                of_zeros.output()->shape());
}

// max(x) + sum(Clip(x, 0, 0)) is Min(max(x), sum(x)) if no number of x is negative. Then a sum is not below
// any of its terms, however it is rounded, and it is NaN if a term is, since infinities of both signs do not
// meet.
Rewriter minimum_of_sum() {
  const Zeros z;
  const Pat axes = constant();
  const Pat max = op("ReduceMax", z.x, axes) | op("ReduceMax", z.x);
  return rewriter("clip_sums", op("Add", max, z.sum), [=](const Match& m, Rewrite& r) -> Value* {
    const ir::Node *a = m.root()->producer()->input(0)->producer(),
                   *b = m.root()->producer()->input(1)->producer();
    const bool max_first = a->op() == "ReduceMax";
    const ir::Node &most = max_first ? *a : *b, &of_zeros = max_first ? *b : *a;
    if (!reduce_the_same(most, of_zeros)) return nullptr;
    Value* sum = sum_of(m[z.x], of_zeros, r);
    return r.make("Min", {most.output(), sum});
  });
}

// The sum of Clip(x, 0, 0), which tells whether x has a NaN, is Clip(sum of x, 0, 0) where no number of x is
// negative. Clip has a few sums to go through then, not all of x.
Rewriter clip_of_sum() {
  const Zeros z;
  return rewriter("clip_sums", z.sum, [=](const Match& m, Rewrite& r) {
    Value* sum = sum_of(m[z.x], *m.root()->producer(), r);
    return r.make("Clip", {sum, m[z.low], m[z.high]});
  });
}

// The mean of the same numbers, that somebody asks for; null: there is none.
ir::Node* mean_beside(const ir::Node& max) {
  for (const ir::Use& u : max.input(0)->uses())
    if (u.node->op() == "ReduceMean" && u.node->graph() == max.graph() && u.input == 0 &&
        reduce_the_same(*u.node, max))
      return u.node;
  return nullptr;
}

bool stands_behind(const ir::Node& n, const ir::Node& other) {
  const ir::Node* at = other.next();
  while (at && at != &n) at = at->next();
  return at == &n;
}

// Min(max(x), sum(x)) is Min(max(x), mean(x) * 2^100) if no number of x is negative: that is not below the
// maximum either, and it is NaN if x has one. The mean often exists anyway, as in attention over channels or
// places, so x is read once less.
Rewriter minimum_of_mean() {
  const Pat x = any().where([](const Value* v) { return is_never_negative(v) && v->dtype() == DType::f32; });
  const Pat axes = constant();
  const Pat max = op("ReduceMax", x, axes) | op("ReduceMax", x);
  const Pat sum = op("ReduceSum", x, constant()) | op("ReduceSum", x);
  return rewriter("clip_sums", op("Min", max, sum), [=](const Match& m, Rewrite& r) -> Value* {
    ir::Node& root = *m.root()->producer();
    const ir::Node &most = *m[max]->producer(), &all = *m[sum]->producer();
    ir::Node* mean = mean_beside(most);
    if (!mean || !reduce_the_same(most, all) || !reduces_some(most)) return nullptr;
    if (stands_behind(*mean, root)) r.graph().move_before(*mean, &root);
    Value* much = r.constant(Tensor::scalar(0x1p100F));
    return r.make("Min", {m[max], r.make("Mul", {mean->output(), much})});
  });
}

}  // namespace

Rewriter clip_sums() {
  return in_turn("clip_sums", {minimum_of_sum(), clip_of_sum(), minimum_of_mean()}, {"ReduceSum"});
}

}  // namespace t2o::rewriters
