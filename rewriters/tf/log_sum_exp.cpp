#include "rewriters/all.h"
#include "tfgraph/internal_ops.h"

// tf.reduce_logsumexp is drawn as log(sum(exp(x - m))) + m, m the maximum where that is finite and else 0: a
// maximum that has to tell NaN, which the sum does anyway.
namespace t2o::rewriters {
namespace {

bool same_axes(const Value* a, const Value* b) {
  if (a == b) return true;
  const TensorPtr &p = a->constant(), &q = b->constant();
  return p && q && is_int(p->dtype()) && is_int(q->dtype()) && p->to_ints() == q->to_ints();
}

Pat zero() {
  return constant().where([](const Value* v) {
    const TensorPtr& t = v->constant();
    return is_float(t->dtype()) && t->rank() == 0 && t->float_at(0) == 0;
  });
}

}  // namespace

Rewriter log_sum_exp() {
  const Pat x = any(), max_axes = any(), sum_axes = any();
  const Pat most = op("Max", x, max_axes).with("keep_dims", 1);
  const Pat chosen = op("SelectV2|Select", op("IsFinite", most), most, zero() | op("ZerosLike", most));
  const Pat m = chosen | op("StopGradient", chosen);
  const Pat sum = op("Sum", op("Exp", op("Sub", x, m)), sum_axes);
  const Pat log = op("Log", sum);
  const Pat flat = op("Reshape", m, op("Shape", log));
  const Pat y = op("AddV2|Add", log, m | flat);
  const auto replace = [=](const Match& match, Rewrite& r) -> Value* {
    if (!same_axes(match[max_axes], match[sum_axes])) return nullptr;
    const bool keeps = match[sum]->producer()->attr_or<std::int64_t>("keep_dims", 0) != 0;
    if (!keeps && !match[flat]) return nullptr;  // which would be spread over each other
    return r.make(std::string(tfgraph::kLogSumExp), {match[x], match[max_axes]}, {{"keep_dims", keeps}});
  };
  return in_turn("log_sum_exp", {rewriter("log_sum_exp", y, replace)}, {"IsFinite"});
}

}  // namespace t2o::rewriters
