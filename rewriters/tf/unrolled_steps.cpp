#include "rewriters/tf/unrolled_steps.h"

#include <algorithm>
#include <functional>

#include "ir/nesting.h"
#include "rewriters/tf/facts.h"
#include "tf/op_defs.h"

namespace t2o::rewriters {
namespace {

constexpr int kDeepest = 200;
constexpr std::size_t kFewestSteps = 3;
constexpr std::int64_t kSmall = 64;  // elements

std::size_t mixed(std::size_t a, std::size_t b) {
  return a ^ (b + 0x9e3779b97f4a7c15U + (a << 6U) + (a >> 2U));
}

bool is_stateful(const ir::Node& n) {
  const tf::OpDef* def = tf::find_op_def(n.op());
  return !def || def->stateful;
}

bool is_select(const ir::Node* n) { return n && (n->op() == "Select" || n->op() == "SelectV2"); }

bool is_same_constant(const Value& a, const Value& b) {
  if (!a.constant() || !b.constant()) return false;
  if (a.constant() == b.constant()) return true;
  return a.constant()->elements() <= kSmall && same_content(*a.constant(), *b.constant());
}

}  // namespace

// ---- steps: a node belongs to the last step that it depends on

bool UnrolledFinder::looks_like_steps(const ir::Node& unpack) const {
  if (unpack.outputs().size() < kFewestSteps || !is_float(unpack.output()->dtype())) return false;
  const auto reads = [](const Value* v) {
    return std::ranges::any_of(v->uses(), [](const ir::Use& u) {
      const std::string& op = u.node->op();
      return contains({"MatMul", "ConcatV2", "Mul", "LSTMBlockCell", "GRUBlockCell"}, op) ||
             op.starts_with("BatchMatMul");
    });
  };
  return std::ranges::all_of(unpack.outputs(), reads);
}

void UnrolledFinder::forget() {
  for (const std::size_t at : reached_) marks_[at] = {};
  reached_.clear();
  waiting_ = {};
  first_waiting_ = 0;
  deepest_ = 0;
  reached_new_.clear();
  own_zeros_.clear();
  kinds_.clear();
  items_.clear();
}

int UnrolledFinder::level_of(const ir::Node& n) const {
  if (reached_new_.contains(&n)) return static_cast<int>(found_.steps);  // nothing is known of it
  const std::size_t at = order_->place(n);
  return at >= order_->size() || order_->is_new(n) ? kOutside : marks_[at].level;
}

int UnrolledFinder::level(const Value* v) const {
  if (!v || !v->producer() || v->graph() != found_.source->graph()) return kOutside;
  if (v->producer() == found_.source) return static_cast<int>(found_.row(v->index()));
  return level_of(*v->producer());
}

void UnrolledFinder::reach(const ir::Node& n, int level, int depth) {
  const std::size_t at = order_->place(n);
  if (at >= order_->size()) return;
  if (order_->is_new(n)) {
    if (reached_new_.insert(&n).second) reach_readers(n, static_cast<int>(found_.steps), depth);
    return;
  }
  Mark& m = marks_[at];
  if (m.is_done) return;
  if (!m.is_reached) {
    m.is_reached = true;
    reached_.push_back(at);
    waiting_.push(at);
    if (level <= 1) ++first_waiting_;
  } else if (m.level <= 1 && level > 1) {
    --first_waiting_;
  }
  if (level > m.level) m.depth = 0;
  if (level >= m.level) m.depth = std::max(m.depth, depth);
  m.level = std::max(m.level, level);
}

void UnrolledFinder::reach_readers(const ir::Node& n, int level, int depth) {
  for (const Value* v : n.outputs()) {
    spend(v->uses().size());
    for (const ir::Use& u : v->uses()) reach(*u.node, level, depth);
  }
}

void UnrolledFinder::visit(std::size_t at) {
  Mark& m = marks_[at];
  ir::Node* n = order_->node(at);
  m.is_done = true;
  if (m.level <= 1) --first_waiting_;
  if (!n) return;
  if ((n->op() == "ZerosLike" || n->op() == "Fill") && is_zero(n->output())) {
    own_zeros_.insert(n);  // in the shape of something of the steps: what a state is at first
    m.level = kOutside;
    return;
  }
  const int steps = static_cast<int>(found_.steps);
  if (ir::holds_subgraph(*n)) m.level = steps;  // what it reads from around itself is not looked at
  if (m.level < steps) nth(nodes_, m.level).push_back(n);
  if (m.level == 1) deepest_ = std::max(deepest_, m.depth);
  reach_readers(*n, m.level, m.depth + 1);
}

// Is there a second step, made of what the first one leaves?
bool UnrolledFinder::has_second_step() const {
  return std::ranges::any_of(nodes_[1], [&](const ir::Node* n) {
    return std::ranges::any_of(
        n->inputs(), [&](const Value* v) { return v && v->producer() != found_.source && level(v) == 0; });
  });
}

// All nodes of the first two levels are known when no waiting node may be one. Behind them no step is deeper
// than the second; deeper nodes only read what the steps give.
bool UnrolledFinder::find_levels() {
  nodes_.assign(found_.steps, {});
  for (const Value* row : found_.source->outputs())
    for (const ir::Use& u : row->uses()) reach(*u.node, static_cast<int>(found_.row(row->index())), 1);
  bool is_second_known = false;
  while (!waiting_.empty() && budget_ > 0) {
    if (!is_second_known && first_waiting_ == 0) {
      is_second_known = true;
      if (!has_second_step()) return false;
    }
    const std::size_t at = waiting_.top();
    waiting_.pop();
    spend(1);
    if (!is_second_known || marks_[at].depth <= deepest_) visit(at);
  }
  return is_second_known || has_second_step();
}

// The same for nodes that do the same in different steps. What they read from outside their step is left
// open: it is the state, and in the first step what that is at first.
std::size_t UnrolledFinder::key(const ir::Node& n) const {
  std::size_t h = std::hash<std::string>()(n.op());
  const int own = level_of(n);
  const bool has_weights = n.op().ends_with("Cell") || n.op().find("MatMul") != std::string::npos;
  for (std::size_t i = 0; i < n.input_count(); ++i) {
    const Value* v = n.input(i);
    std::size_t k = 1;
    if (v && v->producer() == found_.source) {
      k = level(v) == own ? 2 : 3;
    } else if (v && level(v) == own) {
      const Mark* m = keyed(*v->producer());
      k = mixed(m ? m->key : 4, v->index());
    } else if (has_weights && i > 0 && v && level(v) == kOutside) {
      k = outside_key(v, 0);
    }
    h = mixed(h, k);
  }
  return h;
}

// Equal where is_same_outside() holds.
std::size_t UnrolledFinder::outside_key(const Value* v, int depth) {
  if (!v || depth > 3) return 5;
  if (const TensorPtr& t = v->constant()) {
    if (t->elements() > kSmall) return std::hash<const void*>()(t.get());
    const Bytes bytes = t->dtype() == DType::string ? Bytes() : t->bytes();
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const ir::Node* n = v->producer();
  if (!n) return std::hash<const void*>()(v);
  std::size_t h = mixed(std::hash<std::string>()(n->op()), v->index());
  for (const Value* in : n->inputs()) h = mixed(h, outside_key(in, depth + 1));
  return h;
}

const UnrolledFinder::Mark* UnrolledFinder::keyed(const ir::Node& n) const {
  const std::size_t at = order_->place(n);
  if (at >= order_->size() || order_->node(at) != &n || !marks_[at].has_key) return nullptr;
  return &marks_[at];
}

void UnrolledFinder::find_keys() {
  by_key_.assign(found_.steps, {});
  for (std::size_t step = 0; step < found_.steps; ++step)
    for (ir::Node* n : nodes_[step]) {
      spend(n->input_count());
      Mark& m = marks_[order_->place(*n)];
      m.key = key(*n);
      m.has_key = true;
      by_key_[step][m.key].push_back(n);
    }
}

// ---- states: what one step leaves to the next

// The node of another step that does what this one does. Of several the one that reads this, as this reads
// the one before.
const ir::Node* UnrolledFinder::same_node(const ir::Node& n, std::size_t step, std::size_t input) {
  const Mark* m = keyed(n);
  const auto all = m ? by_key_[step].find(m->key) : by_key_[step].end();
  if (all == by_key_[step].end()) return nullptr;
  spend(all->second.size());
  for (const ir::Node* other : all->second)
    if (step == 0 ? n.input(input)->producer() == other : other->input(input)->producer() == &n) return other;
  if (all->second.size() == 1) return all->second[0];
  const auto readers = [&](const ir::Node& of) {
    std::unordered_set<std::size_t> found;
    for (const Value* v : of.outputs()) {
      spend(v->uses().size());
      for (const ir::Use& u : v->uses())
        if (const Mark* reader = keyed(*u.node); reader && reader->level == level_of(of))
          found.insert(reader->key);
    }
    return found;
  };
  const auto wanted = readers(n);
  const ir::Node* best = nullptr;
  std::size_t most = 0;
  for (const ir::Node* other : all->second) {
    if (budget_ == 0) return nullptr;
    std::size_t common = 0;
    for (const std::size_t k : readers(*other)) common += wanted.contains(k) ? 1 : 0;
    if (best && common <= most) continue;
    best = other;
    most = common;
  }
  return best;
}

// Of what depends on no step: exporters repeat it.
bool UnrolledFinder::is_same_outside(const Value* b, const Value* a, int depth) const {
  if (a == b) return !b || level(b) == kOutside;
  if (!a || !b || depth > 8 || level(a) != kOutside || level(b) != kOutside) return false;
  if (b->constant()) return is_same_constant(*b, *a);
  const ir::Node *n = b->producer(), *m = a->producer();
  if (!n || !m || n == m || n->op() != m->op() || b->index() != a->index() ||
      n->input_count() != m->input_count() || !has_same_attrs(*n, *m) || ir::holds_subgraph(*n) ||
      is_stateful(*n))
    return false;
  for (std::size_t i = 0; i < n->input_count(); ++i)
    if (!is_same_outside(n->input(i), m->input(i), depth + 1)) return false;
  return true;
}

// A step may read a value that is computed from the previous state alone, such as the state times its
// weights. In the first step it is computed in the same way. Gives the only input that differs between the
// steps.
std::optional<std::size_t> UnrolledFinder::made_of(const Unrolled::State& s) const {
  const ir::Node *n = s.after[0]->producer(), *m = s.initial->producer();
  if (!n || !m || n->op() != m->op() || n->input_count() != m->input_count() || !has_same_attrs(*n, *m) ||
      s.after[0]->index() != s.initial->index())
    return {};
  std::optional<std::size_t> only;
  for (std::size_t i = 0; i < n->input_count(); ++i) {
    const Value *b = n->input(i), *a = m->input(i);
    if (is_same_outside(b, a, 0)) continue;
    if (only || level(b) != 0 || level(a) != kOutside) return {};
    only = i;
  }
  if (!only) return {};
  for (std::size_t step = 1; step < s.after.size(); ++step) {
    const ir::Node* other = s.after[step]->producer();
    if (!other || other->op() != n->op() || level(other->input(*only)) != static_cast<int>(step)) return {};
  }
  return only;
}

bool UnrolledFinder::follow(Value* first) {
  const ir::Node* reader = nullptr;
  std::size_t input = 0, least = 0;
  spend(first->uses().size());
  for (const ir::Use& u : first->uses()) {
    const Mark* m = keyed(*u.node);
    if (!m || m->level != 1) continue;
    const std::size_t alike = by_key_[1].at(m->key).size();
    if (reader && alike >= least) continue;
    reader = u.node;
    input = u.input;
    least = alike;
  }
  if (!reader) return false;
  const ir::Node* n = same_node(*reader, 0, input);
  if (!n) return false;
  Unrolled::State s{.initial = n->input(input), .after = {first}};
  if (level(s.initial) != kOutside) return false;
  s.is_own_zero = own_zeros_.contains(s.initial->producer());
  n = reader;
  for (std::size_t step = 2; step < found_.steps; ++step) {
    n = same_node(*n, step, input);
    if (!n || level(n->input(input)) != static_cast<int>(step) - 1) return false;
    s.after.push_back(n->input(input));
  }
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto i = made_of(s);
    if (!i) break;
    s.initial = s.initial->producer()->input(*i);
    for (Value*& v : s.after) v = v->producer()->input(*i);
  }
  if (state_of_.contains(s.after[0])) return true;
  const Value* v = s.after.back();
  if (!v->producer() || !keyed(*v->producer())) return false;
  // A state that is made of the one before leads on to no other.
  const auto& in = v->producer()->inputs();
  const auto before = std::ranges::find(in, s.after[s.after.size() - 2]);
  const std::size_t at = before == in.end() ? 0 : static_cast<std::size_t>(before - in.begin());
  const ir::Node* last = same_node(*v->producer(), found_.steps - 1, at);
  if (last && before != in.end() && last->input(at) != v) last = nullptr;
  s.after.push_back(last ? last->output(v->index()) : nullptr);
  state_of_[s.after[0]] = found_.states.size();
  found_.states.push_back(std::move(s));
  return true;
}

bool UnrolledFinder::find_states() {
  state_of_.clear();
  for (const ir::Node* n : nodes_[1])
    for (Value* in : n->inputs()) {
      if (!in || in->producer() == found_.source || level(in) != 0 || state_of_.contains(in)) continue;
      if (!follow(in)) return false;
    }
  return !found_.states.empty();
}

// ---- outputs that are no states: where(t >= lengths, zeros, h), where the state is where(t >= lengths,
// last, h)

void UnrolledFinder::find_tails() {
  tails_.clear();
  std::unordered_set<const ir::Node*> seen;
  for (const Unrolled::State& s : found_.states) seen.insert(s.after[1]->producer());
  for (const Unrolled::State& s : found_.states) {
    if (!is_select(s.after[1]->producer())) continue;
    for (const std::size_t i : {1, 2}) {
      const Value* chosen = s.after[1]->producer()->input(i);
      if (level(chosen) != 1) continue;
      spend(chosen->uses().size());
      for (const ir::Use& u : chosen->uses())
        if (is_select(u.node) && level_of(*u.node) == 1 && seen.insert(u.node).second)
          tails_.push_back(u.node->output());
    }
  }
}

UnrolledFinder::Trial UnrolledFinder::trial() const {
  return {matched_, kinds_, items_, found_.items.size(), found_.numbers.size(), found_.read_zeros.size()};
}

// What was noted on a way that did not lead on must not be taken for a part of the loop.
void UnrolledFinder::undo(const Trial& before) {
  matched_ = before.matched;
  kinds_ = before.kinds;
  items_ = before.items;
  found_.items.resize(before.item_count);
  found_.numbers.resize(before.number_count);
  found_.read_zeros.resize(before.zero_count);
}

bool UnrolledFinder::match_tail(Value* b) {
  const ir::Node& n = *b->producer();
  for (const std::size_t i : {1, 2}) {
    const auto from = matched_.find(n.input(i));
    if (from == matched_.end()) continue;
    spend(from->second->uses().size());
    for (const bool same_zeros : {true, false})  // at first a state may be zeros too
      for (const ir::Use& u : from->second->uses()) {
        if (u.node->op() != n.op() || u.input != i || (u.node->input(3 - i) == n.input(3 - i)) != same_zeros)
          continue;
        const Trial before = trial();
        if (match(b, u.node->output(), 0)) return true;
        undo(before);
      }
  }
  return false;
}

// ---- each step does what the second one does

bool UnrolledFinder::match_producers(const Value* b, const Value* a, int depth) {
  const ir::Node *n = b->producer(), *m = a->producer();
  if (!n || !m || n->op() != m->op() || b->index() != a->index() || n->input_count() != m->input_count() ||
      !has_same_attrs(*n, *m) || ir::holds_subgraph(*n) || is_stateful(*n))
    return false;
  for (std::size_t i = 0; i < n->input_count(); ++i)
    if (!match(n->input(i), m->input(i), depth + 1)) return false;
  return true;
}

// Sequences with lengths compare them with the number of the step.
bool UnrolledFinder::match_constants(Value* b, const Value* a) {
  if (is_same_constant(*b, *a)) return is_kind(b, Kind::same);
  if (!b->shape().is_scalar() || !tfgraph::is_number(b, 1) || a->dtype() != b->dtype() ||
      !a->shape().is_scalar() || !tfgraph::is_number(a, static_cast<std::int64_t>(step_)) ||
      !is_kind(b, Kind::number))
    return false;
  if (items_.insert(b).second) found_.numbers.push_back(b);
  return true;
}

bool UnrolledFinder::match_same(Value* b) {
  if (!is_kind(b, Kind::same)) return false;
  if (own_zeros_.contains(b->producer()) && items_.insert(b).second) found_.read_zeros.push_back(b);
  return true;
}

// b of the second step, a of step_.
bool UnrolledFinder::match(Value* b, Value* a, int depth) {
  if (!a || !b || depth > kDeepest) return a == b;
  if (b->constant()) return match_constants(b, a);
  if (const auto at = matched_.find(b); at != matched_.end()) return at->second == a;
  if (const auto at = state_of_.find(b); at != state_of_.end()) {
    Unrolled::State& s = found_.states[at->second];
    if (step_ > 0) return a == s.after[step_ - 1];
    return a == s.initial;
  }
  if (b->producer() == found_.source)
    return a->producer() == found_.source && b->index() == found_.row(1) && a->index() == found_.row(step_);
  const int own = level(b);  // 0: made of the state before alone
  if (own > 1 || (own != kOutside && level(a) != static_cast<int>(step_) + own - 1)) return false;
  if (own == kOutside) {
    if (a == b) return match_same(b);
    if (level(a) != kOutside) return false;
    ir::Node* n = b->producer();
    if (n && n->op() == "Unpack" && n == a->producer()) {
      if (items_.insert(b).second) found_.items.emplace_back(b, n);
      return n->outputs().size() == found_.steps && b->index() == found_.row(1) &&
             a->index() == found_.row(step_) && is_kind(b, Kind::item);
    }
    if (!is_kind(b, Kind::made)) return false;
  }
  matched_[b] = a;
  return match_producers(b, a, depth);
}

bool UnrolledFinder::match_step(std::size_t step) {
  step_ = step;
  matched_.clear();
  for (const Unrolled::State& s : found_.states)
    if (s.after[step] && !match(s.after[1], s.after[step], 0)) return false;
  for (Value* tail : tails_)
    if (!match_tail(tail)) return false;
  for (const auto& [b, a] : matched_) {
    Values& all = found_.in_each_step[b];
    all.resize(found_.steps);
    all[1] = const_cast<Value*>(b);
    all[step] = a;
  }
  return true;
}

std::optional<Unrolled> UnrolledFinder::find(ir::Node& unpack, bool backwards) {
  if (!looks_like_steps(unpack)) return no("its rows are not read by cells");
  if (budget_ == 0) return too_big();
  forget();
  found_ = {};
  found_.source = &unpack;
  found_.backwards = backwards;
  found_.steps = unpack.outputs().size();
  const bool has_steps = find_levels();
  if (budget_ == 0) return too_big();
  if (!has_steps) return no("no states go from step to step");
  find_keys();
  const bool has_states = find_states();
  if (budget_ == 0) return too_big();
  if (!has_states) return no("no states go from step to step");
  find_tails();
  for (std::size_t step = 0; step < found_.steps; ++step)
    if (step != 1 && !match_step(step)) return no("the steps differ");
  std::unordered_set<ir::Node*> body;
  found_.zeros = own_zeros_;
  for (const auto& [b, all] : found_.in_each_step) {
    body.insert(b->producer());
    if (level(b) == kOutside) found_.aside.insert(b->producer());
  }
  for (const Unrolled::State& s : found_.states)
    if (!body.contains(s.after[1]->producer())) return no("a state is none");
  found_.body.assign(body.begin(), body.end());
  std::ranges::sort(found_.body,
                    [&](const ir::Node* a, const ir::Node* b) { return order_->is_before(*a, *b); });
  return std::move(found_);
}

}  // namespace t2o::rewriters
