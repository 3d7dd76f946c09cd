#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/steps.h"

// A loop that runs while its counter is below a limit and something else holds, such as a `for` with a
// `break`, has the limit as its trip count, and its condition is the rest.
namespace t2o::rewriters {
namespace {

class CountRounds {
 public:
  CountRounds(const Steps& loop, const onnx::Target& target)
      : loop_(loop), target_(target), g_(*loop.node().graph()), body_(loop.body()) {}

  bool run() {
    ir::Node& n = loop_.node();
    if (n.input(0) || !n.input(1) || body_.inputs()[1]->is_used()) return false;
    Value* rest = nullptr;
    for (std::size_t i = 0; i < loop_.states() && !rest; ++i)
      if (loop_.is_counter(i)) rest = beside_limit(body_.outputs()[0], loop_.after(i), true);
    if (!rest) return false;
    Emitter e(n, target_);
    g_.set_input(n, 0, e.cast(loop_.seen_from(e, limit_), DType::i64));
    // with no round to go the condition at first does not count
    if (Value* first = beside_limit(n.input(1), nullptr, false)) g_.set_input(n, 1, first);
    Values outputs = body_.outputs();
    outputs[0] = Emitter(body_, target_, n.shared_origin()).emit("Identity", {rest});
    body_.set_outputs(std::move(outputs));
    body_.erase_dead();
    return true;
  }

 private:
  // The other one of two conditions, if one is `counter < limit` and the loop does not change the limit. A
  // null counter stands for 0, and for the limit that was found.
  Value* beside_limit(Value* both, const Value* counter, bool finds) {
    const ir::Node* n = both->producer();
    if (!is_op(n, "And")) return nullptr;
    for (const std::size_t k : {0, 1}) {
      const ir::Node* less = n->input(k)->producer();
      if (!is_op(less, "Less")) continue;
      if (counter ? less->input(0) != counter : !is_number(less->input(0), 0)) continue;
      Value* limit = less->input(1);
      if (finds ? !is_limit(limit) : !is_same_limit(limit)) continue;
      limit_ = limit;
      return n->input(1 - k);
    }
    return nullptr;
  }

  bool is_limit(const Value* v) const {
    return loop_.is_outside(v) && is_int(v->dtype()) && v->shape() == Shape::scalar();
  }
  bool is_same_limit(const Value* v) const {
    return v == limit_ || (v->constant() && limit_->constant() && number_of(v) == number_of(limit_));
  }

  const Steps& loop_;
  const onnx::Target& target_;
  ir::Graph &g_, &body_;
  Value* limit_ = nullptr;
};

}  // namespace

Rewriter trip_counts(const onnx::Target& target) { return for_each_loop<CountRounds>("trip_counts", target); }

}  // namespace t2o::rewriters
