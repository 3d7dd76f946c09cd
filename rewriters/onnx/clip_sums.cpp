#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {

// The sum of Clip(x, 0, 0), which tells whether x has a NaN, is Clip(sum of x, 0, 0) where no number of x is
// negative: then no infinities meet in the sum. Clip has a few sums to go through then, not all of x.
Rewriter clip_sums() {
  const auto is_zero = [](const Value* v) { return is_number(v, 0); };
  const Pat x = any().where([](const Value* v) { return is_never_negative(v); });
  const Pat low = constant().where(is_zero), high = constant().where(is_zero), axes = constant();
  const Pat zeros = op("Clip", x, low, high);
  const Pat sum = op("ReduceSum", zeros, axes) | op("ReduceSum", zeros);
  return rewriter("clip_sums", sum, [=](const Match& m, Rewrite& r) {
    const ir::Node& n = *m.root()->producer();
    Values in{m[x]};
    if (n.input(1)) in.push_back(n.input(1));
    Value* all = r.make("ReduceSum", std::move(in), n.attrs());
    return r.make("Clip", {all, m[low], m[high]});
  });
}

}  // namespace t2o::rewriters
