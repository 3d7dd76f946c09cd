#include "op_mappers/constant_loops.h"

#include <algorithm>

#include "ir/nesting.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kMostRounds = 1000, kMostNodes = 5000;  // nodes: mapped in all rounds together
constexpr std::int64_t kMostElements = 1024;                   // of a constant

class ConstantLoop {
 public:
  ConstantLoop(GraphContext& c, const tfgraph::Loop& loop, const LoopReads& reads)
      : c_(c), loop_(loop), reads_(reads), now_(c.mapped()), before_(c.reported()) {}

  std::optional<MappedValues> run() {
    const std::int64_t most = most_rounds();
    if (most == 0 || !are_constants(now_, reads_.read) || !are_constants(now_, reads_.carried)) return {};
    std::int64_t rounds = 0;
    for (std::optional<bool> more; (more = goes_on(rounds)).value_or(false); ++rounds)
      if (rounds == most || !step()) return {};
    return known_end_ ? std::optional(now_) : std::nullopt;
  }

 private:
  static bool is_large(const Value* v) {
    return v && v->constant() && v->constant()->elements() > kMostElements;
  }

  // 0 for a loop that is not run here. Loops in its body would multiply the rounds.
  std::int64_t most_rounds() const {
    if (!contains(reads_.carried, true)) return 0;
    std::int64_t nodes = 1;
    bool is_plain = true;
    for (const ir::Graph* g : {&loop_.body(), &loop_.condition()})
      ir::for_each_node(*g, [&](const ir::Node& n) {
        ++nodes;
        is_plain = is_plain && !n.attr("body") && std::ranges::none_of(n.inputs(), is_large);
      });
    return is_plain ? std::min(kMostRounds, kMostNodes / nodes) : 0;
  }

  static bool are_constants(const MappedValues& values, const Wanted& which) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!which[i]) continue;
      const Mapped& v = values[i];
      if (!v.value || v.list || !v.value->constant() || is_large(v.value)) return false;
    }
    return true;
  }

  GraphPtr scratch() const {
    GraphPtr g = c_.graph().make_subgraph();
    g->set_name(c_.origin().node);
    return g;
  }

  // Nothing if that is not known.
  std::optional<bool> goes_on(std::int64_t rounds) {
    const auto known = reads_.count ? count_goes_on(rounds) : condition();
    known_end_ = known.has_value();
    return known;
  }
  std::optional<bool> count_goes_on(std::int64_t rounds) const {
    const auto count = constant_ints(reads_.count);
    return count ? std::optional(rounds < count->front()) : std::nullopt;
  }
  std::optional<bool> condition() {
    const GraphPtr g = scratch();
    Value* v = c_.map(loop_.condition(), now_, {true}, *g)[0].value;
    if (!v || !v->constant()) return {};
    Emitter e(*g, c_.target(), c_.shared_origin());
    const TensorPtr on = as_condition(e, v)->constant();
    return on && on->elements() == 1 ? std::optional(on->int_at(0) != 0) : std::nullopt;
  }

  // One round, whose notes are reported instead of those of the round before; false if it gives something
  // else than constants of the same types.
  bool step() {
    c_.forget(before_);
    const GraphPtr g = scratch();
    const MappedValues after = c_.map(loop_.body(), now_, reads_.carried, *g);
    if (!are_constants(after, reads_.carried)) return false;
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (!reads_.carried[i]) continue;
      if (after[i].value->dtype() != now_[i].value->dtype() || after[i].kind != now_[i].kind) return false;
      now_[i].value = c_.constant(after[i].value->constant());
    }
    return true;
  }

  GraphContext& c_;
  const tfgraph::Loop& loop_;
  const LoopReads& reads_;
  MappedValues now_;
  const std::size_t before_;
  bool known_end_ = false;
};

}  // namespace

std::optional<MappedValues> run_constant_loop(GraphContext& c, const tfgraph::Loop& loop,
                                              const LoopReads& reads) {
  const std::size_t before = c.reported();
  auto results = ConstantLoop(c, loop, reads).run();
  if (!results) c.forget(before);
  return results;
}

}  // namespace t2o::op_mappers
