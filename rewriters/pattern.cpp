#include "rewriters/pattern.h"

#include <algorithm>
#include <cstdio>
#include <unordered_set>

namespace t2o {

struct Pat::Term {
  enum Kind { k_any, k_constant, k_op, k_either } kind = k_any;
  std::vector<std::string> ops = {};
  std::vector<Pat> inputs = {};  // of k_op; the alternatives of k_either
  std::vector<std::function<bool(const Value*)>> predicates = {};
  std::size_t output = 0;
};

namespace {

Pat make(Pat::Term t) { return Pat(std::make_shared<const Pat::Term>(std::move(t))); }

bool commutative(std::string_view op) {
  for (const std::string_view c : {"Add", "AddV2", "Mul", "Maximum", "Minimum", "Max", "Min", "LogicalAnd",
                                   "LogicalOr", "And", "Or", "SquaredDifference", "Equal", "NotEqual"})
    if (c == op) return true;
  return false;
}

// Of each thread: conversions may run side by side.
std::vector<std::string>& traced() {
  static thread_local std::vector<std::string> names;
  return names;
}

}  // namespace

void trace_match(const std::string& rewriter, const Value* at, const char* what) {
  if (contains(traced(), rewriter))
    std::fprintf(stderr, "%s: %s '%s': %s\n", rewriter.c_str(), at->producer()->op().c_str(),
                 at->name().c_str(), what);
}

Pat any() { return make({}); }
Pat constant() { return make({Pat::Term::k_constant}); }

Pat make_op(std::string_view ops, std::vector<Pat> inputs) {
  Pat::Term t{Pat::Term::k_op, {}, std::move(inputs)};
  for (std::size_t at = 0; at <= ops.size();) {
    const std::size_t bar = std::min(ops.find('|', at), ops.size());
    t.ops.emplace_back(ops.substr(at, bar - at));
    at = bar + 1;
  }
  return make(std::move(t));
}

Pat operator|(const Pat& a, const Pat& b) { return make({Pat::Term::k_either, {}, {a, b}}); }

Pat Pat::where(std::function<bool(const Value*)> predicate) const {
  Term t = *term_;
  t.predicates.push_back(std::move(predicate));
  return make(std::move(t));
}

Pat Pat::with(std::string attr, Attr value) const {
  return where([attr = std::move(attr), value = std::move(value)](const Value* v) {
    const Attr* a = v->producer() ? v->producer()->attr(attr) : nullptr;
    return a && *a == value;
  });
}

Pat Pat::output(std::size_t index) const {
  Term t = *term_;
  t.output = index;
  return make(std::move(t));
}

Value* Match::operator[](const Pat& p) const {
  for (const auto& [term, value] : bound_)
    if (term == p.id()) return value;
  return nullptr;
}

// Matches with backtracking: a failed alternative is undone by shortening the list of bindings. Alternatives
// are local: once an operand order has matched, it is not revised for the sake of a later operand.
class Matcher {
 public:
  bool match(const Pat& p, Value* v) {
    if (!v) return false;
    if (const Value* before = m_[p]) return before == v;
    const std::size_t mark = m_.bound_.size();
    if (match_term(*p.id(), v) && accept(p, v)) return true;
    m_.bound_.resize(mark);
    return false;
  }
  bool match_root(const Pat& p, Value* v) {
    m_.bound_.clear();
    m_.root_ = v;
    return match(p, v);
  }
  const Match& result() const { return m_; }

  // Whether a value that the match would remove is read outside of it.
  bool escapes() const {
    std::unordered_set<const ir::Node*> inside;
    for (const auto& [term, v] : m_.bound_)
      if (term->kind == Pat::Term::k_op) inside.insert(v->producer());
    const auto read_outside = [&](const Value* v) {
      return v->is_graph_output() ||
             std::ranges::any_of(v->uses(), [&](const ir::Use& u) { return !inside.contains(u.node); });
    };
    return std::ranges::any_of(inside, [&](const ir::Node* n) {
      return std::ranges::any_of(n->outputs(),
                                 [&](const Value* v) { return v != m_.root_ && read_outside(v); });
    });
  }

 private:
  bool accept(const Pat& p, Value* v) {
    for (const auto& predicate : p.id()->predicates)
      if (!predicate(v)) return false;
    m_.bound_.emplace_back(p.id(), v);
    return true;
  }

  bool match_term(const Pat::Term& t, Value* v) {
    switch (t.kind) {
      case Pat::Term::k_any:
        return true;
      case Pat::Term::k_constant:
        return v->constant() != nullptr;
      case Pat::Term::k_either:
        return std::ranges::any_of(t.inputs, [&](const Pat& a) { return match(a, v); });
      case Pat::Term::k_op:
        return match_op(t, v);
    }
    return false;
  }

  bool match_op(const Pat::Term& t, const Value* v) {
    const ir::Node* n = v->producer();
    if (!n || v->index() != t.output || n->input_count() != t.inputs.size()) return false;
    if (!contains(t.ops, n->op())) return false;
    const std::size_t mark = m_.bound_.size();
    const auto ordered = [&](bool swapped) {
      for (std::size_t i = 0; i < t.inputs.size(); ++i)
        if (!match(t.inputs[i], n->input(swapped ? 1 - i : i))) {
          m_.bound_.resize(mark);
          return false;
        }
      return true;
    };
    return ordered(false) || (t.inputs.size() == 2 && commutative(n->op()) && ordered(true));
  }

  Match m_;
};

Value* Rewrite::make(std::string op, Values inputs, Attrs attrs) {
  return make(std::move(op), std::move(inputs), std::move(attrs), root_.output()->dtype(),
              root_.output()->shape());
}

Value* Rewrite::make(std::string op, Values inputs, Attrs attrs, DType dtype, Shape shape) {
  const std::string name = root_.origin().label() + "/" + op.substr(op.rfind('.') + 1);
  return g_
      .add({std::move(op),
            std::move(inputs),
            std::move(attrs),
            {{"", dtype, std::move(shape)}},
            root_.shared_origin(),
            name},
           &root_)
      .output();
}

Value* Rewrite::make(ir::NodeSpec spec) {
  spec.name = root_.origin().label() + "/" + spec.op.substr(spec.op.rfind('.') + 1);
  spec.origin = root_.shared_origin();
  return g_.add(std::move(spec), &root_).output();
}

Value* Rewrite::constant(TensorPtr t) {
  return g_.add_constant(root_.origin().label() + "/const", std::move(t));
}

static bool can_take_over(const Value* from, const Value* to) {
  return !from->is_graph_output() ||
         (to->producer() && !to->is_graph_output() && to->graph() == from->graph());
}

// A constant of one element may have had more axes than what it was joined with.
static bool has_rank_of(const Value* to, const Value* from) {
  const Shape &a = from->shape(), &b = to->shape();
  return !a.ranked() || !b.ranked() || a.rank() == b.rank();
}

bool take_over(ir::Graph& g, Value* from, Value* to) {
  if (!can_take_over(from, to)) return false;
  const bool is_fresh = !to->is_used(), is_output = from->is_graph_output();
  g.replace_all_uses(from, to);
  if (!is_fresh && !is_output) return true;
  g.take_name(to, from);
  return true;
}

namespace {

// The operators that a pattern's root may be; false when it may be any.
bool collect_ops(const Pat& p, std::vector<std::string>& ops) {
  const Pat::Term& t = *p.id();
  if (t.kind == Pat::Term::k_op)
    append(ops, t.ops);
  else if (t.kind != Pat::Term::k_either)
    return false;
  else
    for (const Pat& alternative : t.inputs)
      if (!collect_ops(alternative, ops)) return false;
  return true;
}

}  // namespace

Rewriter rewriter(std::string name, Pat root, Replace replace) {
  std::vector<std::string> ops;
  if (!collect_ops(root, ops)) ops.clear();
  std::ranges::sort(ops);
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  auto run = [name, ops, root = std::move(root), replace = std::move(replace)](ir::Graph& g) {
    int changes = 0;
    bool left_over = false;  // what a replacement made that cannot take the root's place
    Matcher matcher;
    for (ir::Node& n : g.nodes()) {
      if (n.outputs().empty() || (!ops.empty() && !contains(ops, n.op()))) continue;
      Value* out = n.output();
      if (!matcher.match_root(root, out)) continue;
      if (matcher.escapes()) {
        trace_match(name, out, "refused: a value inside is read elsewhere");
        continue;
      }
      Rewrite rewrite(g, n);
      Value* replacement = replace(matcher.result(), rewrite);
      const bool has_rank = replacement && has_rank_of(replacement, out),
                 fits = has_rank && can_take_over(out, replacement);
      trace_match(name, out,
                  fits          ? "replaced"
                  : has_rank    ? "refused: a graph output has to be a node's own"
                  : replacement ? "refused: it has other axes"
                                : "declined");
      left_over = left_over || (replacement && !fits);
      if (fits && take_over(g, out, replacement)) ++changes;
    }
    if (changes != 0 || left_over) g.erase_dead();
    return changes;
  };
  return {std::move(name), std::move(run), std::move(ops)};
}

Rewriter in_turn(std::string name, std::vector<Rewriter> forms, std::vector<std::string> looks_for) {
  auto run = [forms = std::move(forms)](ir::Graph& g) {
    std::unordered_set<std::string> ops;
    for (const ir::Node& n : g.nodes())
      if (!ops.contains(n.op())) ops.insert(n.op());
    int changes = 0;
    for (const Rewriter& f : forms) {
      const bool has_work =
          f.looks_for.empty() || changes != 0 ||
          std::ranges::any_of(f.looks_for, [&](const std::string& op) { return ops.contains(op); });
      if (has_work) changes += f.run(g);
    }
    return changes;
  };
  return {std::move(name), std::move(run), std::move(looks_for)};
}

Rewriter for_each_node(std::string name, std::vector<std::string> looks_for,
                       std::function<int(ir::Graph&, ir::Node&)> change) {
  auto run = [change = std::move(change)](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) changes += change(g, n);
    return changes;
  };
  return {std::move(name), std::move(run), std::move(looks_for)};
}

void replace_value(ir::Graph& g, Value* from, Value* to) {
  if (take_over(g, from, to)) return;
  const std::string name = from->name();
  g.rename(from, name + "/before");
  Attrs attrs;
  if (g.dialect() == "tf") attrs = {{"T", to->dtype()}};
  Value* kept = g.add({"Identity",
                       {to},
                       std::move(attrs),
                       {{name, to->dtype(), to->shape()}},
                       from->producer()->shared_origin(),
                       name})
                    .output();
  g.replace_all_uses(from, kept);
  const std::vector<ir::Use> uses = kept->uses();
  for (const ir::Use& u : uses) g.set_input(*u.node, u.input, to);
}

void trace_matches(std::vector<std::string> names) { traced() = std::move(names); }

}  // namespace t2o
