#include <unordered_map>

#include "ir/nesting.h"
#include "rewriters/all.h"
#include "rewriters/tf/facts.h"
#include "tf/op_defs.h"

// What static_rnn makes of a step t of sequences that end at `lengths`:
//   if t >= max(lengths): a                       else: where(t >= lengths, a, b)
//   if t < min(lengths):  b                       else: where(t >= lengths, a, b)
// Both are where(t >= lengths, a, b): the branch only saves work.
namespace t2o::rewriters {
namespace {

constexpr int kDeepest = 8;

// Where `condition` is `when`, t >= lengths holds for all rows, or for none.
struct Bound {
  Value *time, *lengths;
  bool when, over;
};

// The vector of which this is the largest or the smallest element.
Value* vector_of(Value* v, std::string_view reduction) {
  v = through_identities(v);
  if (!is_op(v, reduction)) return nullptr;
  Value* from = through_identities(v->producer()->input(0));
  const auto axes = known_ints(v->producer()->input(1));
  return is_int(from->dtype()) && known_rank(from) == 1 && (axes == Ints{0} || axes == Ints{-1}) ? from
                                                                                                 : nullptr;
}

struct Comparison {
  Value *time, *other;
  bool over;  // it is t >= other, else t < other
};

std::optional<Comparison> comparison(Value* v) {
  v = through_identities(v);
  const ir::Node* n = v->producer();
  if (!n || n->input_count() != 2) return {};
  if (n->op() == "GreaterEqual" || n->op() == "Less")
    return Comparison{n->input(0), n->input(1), n->op() != "Less"};
  if (n->op() == "LessEqual" || n->op() == "Greater")
    return Comparison{n->input(1), n->input(0), n->op() != "Greater"};
  return {};
}

std::optional<Bound> read_bound(Value* condition) {
  const auto c = comparison(condition);
  if (!c || known_rank(c->time) != 0) return {};
  if (Value* v = vector_of(c->other, "Max")) return Bound{c->time, v, c->over, true};
  if (Value* v = vector_of(c->other, "Min")) return Bound{c->time, v, !c->over, false};
  return {};
}

bool is_pure(const ir::Node& n) {
  const tf::OpDef* def = tf::find_op_def(n.op());
  return !ir::holds_subgraph(n) && def && !def->stateful;
}

// The same value, made in the same way.
bool is_same(Value* a, Value* b, int depth = 0) {
  if (a == b) return true;
  if (!a || !b || depth > kDeepest) return false;
  a = through_identities(a);
  b = through_identities(b);
  if (a == b) return true;
  if (a->constant() || b->constant())
    return a->constant() && b->constant() && same_content(*a->constant(), *b->constant());
  const ir::Node *n = a->producer(), *m = b->producer();
  if (!n || !m || n->op() != m->op() || a->index() != b->index() || n->input_count() != m->input_count() ||
      !has_same_attrs(*n, *m) || !is_pure(*n))
    return false;
  for (std::size_t i = 0; i < n->input_count(); ++i)
    if (!is_same(n->input(i), m->input(i), depth + 1)) return false;
  return true;
}

// What `v` is where the bound holds.
Value* under(const Bound& b, Value* v) {
  v = through_identities(v);
  if (!is_op(v, "Select") && !is_op(v, "SelectV2")) return v;
  const ir::Node& n = *v->producer();
  Value* rows = through_identities(n.input(0));
  if (is_op(rows, "ExpandDims")) rows = rows->producer()->input(0);
  const auto c = comparison(rows);
  if (!c || !is_same(c->time, b.time) || !is_same(c->other, b.lengths)) return v;
  return n.input(c->over == b.over ? 1 : 2);
}

class Unbranching {
 public:
  explicit Unbranching(ir::Graph& g) : g_(g) {}

  int run() {
    int changes = 0;
    for (ir::Node& n : g_.nodes()) {
      before_ = &n;
      const auto values = unbranched(n, n.inputs());
      if (!values) continue;
      for (std::size_t i = 0; i < values->size(); ++i) replace_value(g_, n.output(i), (*values)[i]);
      ++changes;
    }
    g_.erase_dead();  // what was made of others, too
    return changes;
  }

 private:
  // The results of an If with these inputs without the If; null: it is another one. Nodes that nobody reads
  // may stay behind.
  std::optional<Values> unbranched(const ir::Node& n, const Values& in, int depth = 0) {
    const auto *yes = n.attr_if<GraphPtr>("then_branch"), *no = n.attr_if<GraphPtr>("else_branch");
    if ((n.op() != "If" && n.op() != "StatelessIf") || !yes || !no || depth > kDeepest) return {};
    const auto bound = read_bound(in[0]);
    if (!bound) return {};
    const auto all_rows = inlined(bound->when ? **yes : **no, in, depth),
               by_rows = inlined(bound->when ? **no : **yes, in, depth);
    if (!all_rows || !by_rows) return {};
    for (std::size_t i = 0; i < all_rows->size(); ++i)
      if (!is_same(under(*bound, (*by_rows)[i]), (*all_rows)[i])) return {};
    return by_rows;
  }

  std::optional<Values> inlined(const ir::Graph& branch, const Values& in, int depth) {
    std::unordered_map<const Value*, Value*> made;
    for (std::size_t i = 0; i < branch.inputs().size(); ++i) made[branch.inputs()[i]] = in.at(i + 1);
    const auto outer = [&](Value* v) {
      if (!v || v->graph() != &branch) return v;
      Value*& to = made[v];
      if (!to) to = g_.add_constant(v->name(), v->constant());
      return to;
    };
    for (const ir::Node& n : branch.nodes()) {
      Values inputs;
      for (Value* v : n.inputs()) inputs.push_back(outer(v));
      std::optional<Values> results = unbranched(n, inputs, depth + 1);
      if (!results && !is_pure(n)) return {};
      if (!results) results = copied(n, std::move(inputs));
      for (std::size_t i = 0; i < n.outputs().size(); ++i) made[n.output(i)] = (*results)[i];
    }
    Values results;
    for (Value* v : branch.outputs()) results.push_back(outer(v));
    return results;
  }

  Values copied(const ir::Node& n, Values inputs) {
    ir::NodeSpec spec{.op = n.op(),
                      .inputs = std::move(inputs),
                      .attrs = n.attrs(),
                      .origin = n.shared_origin(),
                      .name = n.name()};
    for (const Value* v : n.outputs()) spec.outputs.push_back({"", v->dtype(), v->shape()});
    return g_.add(std::move(spec), before_).outputs();
  }

  ir::Graph& g_;
  ir::Node* before_ = nullptr;
};

}  // namespace

Rewriter length_branches() {
  return {"length_branches", [](ir::Graph& g) { return Unbranching(g).run(); }, {"If", "StatelessIf"}};
}

}  // namespace t2o::rewriters
