#include "tf/conditionals.h"

#include <algorithm>

#include "tfgraph/drawn.h"

namespace t2o::tf {
namespace {

// "This value is there when `by` takes that side."
struct Taken {
  Value* by;
  std::size_t side;
  bool operator==(const Taken&) const = default;
};
using State = std::vector<Taken>;  // all of them must hold; outer conditions first

bool is_switch(const Value* v) { return v && v->producer() && is_any_switch(op_kind(v->producer()->op())); }
Value* pred_of(const Value* sw) { return sw->producer()->input(1); }

const Taken* find(const State& s, const Value* by) {
  for (const Taken& t : s)
    if (t.by == by) return &t;
  return nullptr;
}

State without(const State& s, const Value* by) {
  State rest;
  for (const Taken& t : s)
    if (t.by != by) rest.push_back(t);
  return rest;
}

// A Merge: where its values come from.
struct Join {
  ir::Node* node;
  Value* by;
  std::size_t sides;
  std::vector<std::size_t> input_of_side;
  std::size_t position;
};

struct Conditional {
  Value* by;
  std::vector<Join> joins;
  std::unordered_set<const ir::Node*> nodes = {};  // the joins
  std::unordered_set<const ir::Node*> free = {};   // nodes that depend on none of them
};

constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

class Conditionals {
 public:
  Conditionals(ir::Graph& g, Renames& renames) : graph_(g), renames_(renames) {}
  bool run() {
    order_ = in_order(graph_);
    for (std::size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    for (ir::Node* n : order_) is_op(*n, OpKind::merge) ? join(*n) : flow(*n);
    for (const Conditional& c : conditionals_) make(c);
    return !conditionals_.empty();
  }

 private:
  State state(const Value* v) const {
    const auto it = v->producer() ? states_.find(v->producer()) : states_.end();
    State s = it == states_.end() ? State() : it->second;
    if (is_switch(v)) s.push_back({pred_of(v), v->index()});
    return s;
  }
  void flow(const ir::Node&);
  void join(ir::Node&);
  Value* decider(const ir::Node&, const std::vector<State>&) const;
  void add(Join);
  bool depends(const ir::Node&, Conditional&) const;

  void make(const Conditional&);
  Value* through(Value*, const Value* by) const;
  Slice slice(const Conditional&, std::size_t side);
  GraphPtr branch(const Conditional&, std::size_t side, const Slice&, const Values& inputs);
  std::string name_of(const Conditional&) const;
  Value* now(Value* v) const { return replaced_.contains(v) ? replaced_.at(v) : v; }

  ir::Graph& graph_;
  Renames& renames_;
  Nodes order_;
  std::unordered_map<const ir::Node*, std::size_t> position_;
  std::unordered_map<const ir::Node*, State> states_;  // of what the node reads; absent: always there
  std::vector<Conditional> conditionals_;
  std::unordered_map<const Value*, std::size_t> last_by_;  // the latest of conditionals_ by this value
  std::unordered_map<const Value*, Value*> replaced_;
};

void Conditionals::flow(const ir::Node& n) {
  State all;
  for (const Value* v : reads_of(n))
    for (const Taken& t : state(v)) {
      const Taken* known = find(all, t.by);
      if (known && known->side != t.side)
        refuse(n, Code::bad_model, "reads values of both sides of a conditional, and only one side runs");
      if (!known) all.push_back(t);
    }
  if (is_any_switch(op_kind(n.op()))) {
    if (const Taken* again = find(all, n.input(1)); again) std::erase(all, *again);  // says it itself
  }
  if (!all.empty()) states_[&n] = std::move(all);
}

// The condition on which the inputs differ; those that say nothing of it are the rest.
Value* Conditionals::decider(const ir::Node& n, const std::vector<State>& states) const {
  Value* found = nullptr;
  for (const State& s : states)
    for (const Taken& t : s) {
      std::size_t silent = 0;
      std::vector<std::size_t> sides;
      for (const State& o : states) {
        const Taken* other = find(o, t.by);
        silent += !other;
        if (other) sides.push_back(other->side);
      }
      std::ranges::sort(sides);
      const bool differ = std::ranges::adjacent_find(sides) == sides.end();
      if (differ && silent == 0) return t.by;
      if (differ && silent == 1) found = t.by;  // the innermost is the last
    }
  if (!found) refuse(n, Code::bad_model, "joins values, and no Switch decides between them");
  return found;
}

void Conditionals::join(ir::Node& n) {
  std::vector<State> states;
  for (const Value* v : n.inputs()) {
    if (!v) return;  // of a loop that is gone
    states.push_back(state(v));
  }
  Value* by = decider(n, states);
  Join j{&n, by, n.input_count(), std::vector<std::size_t>(n.input_count(), kNoInput), position_.at(&n)};
  std::size_t silent = kNoInput;
  State rest;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Taken* t = find(states[i], by);
    if (!t) {
      silent = i;
      continue;
    }
    if (t->side >= j.sides) refuse(n, Code::bad_model, "does not join all sides of its conditional");
    j.input_of_side[t->side] = i;
    for (const Taken& other : without(states[i], by))
      if (const Taken* known = find(rest, other.by); !known)
        rest.push_back(other);
      else if (known->side != other.side)
        refuse(n, Code::bad_model, "joins values that other conditions keep apart");
  }
  if (silent != kNoInput) *std::ranges::find(j.input_of_side, kNoInput) = silent;
  if (!rest.empty())
    states_[&n] = std::move(rest);  // inside of another conditional: its branch takes it along
  else
    add(std::move(j));
}

void Conditionals::add(Join j) {
  const auto [it, fresh] = last_by_.try_emplace(j.by, conditionals_.size());
  if (!fresh) {
    Conditional& c = conditionals_[it->second];
    if (c.joins[0].sides == j.sides && !depends(*j.node, c)) {
      c.nodes.insert(j.node);
      c.joins.push_back(std::move(j));
      return;
    }
  }
  it->second = conditionals_.size();
  conditionals_.push_back({.by = j.by, .joins = {j}, .nodes = {j.node}});
}

// On one of the conditional's results: then it stands behind it. What does not stays so: later joins stand
// behind it.
bool Conditionals::depends(const ir::Node& n, Conditional& c) const {
  std::unordered_set<const ir::Node*> seen;
  std::vector<const ir::Node*> work = {&n};
  while (!work.empty()) {
    const ir::Node* at = work.back();
    work.pop_back();
    for (const Value* v : reads_of(*at)) {
      const ir::Node* source = v->producer();
      const auto it = source ? position_.find(source) : position_.end();
      if (it == position_.end() || it->second < c.joins[0].position || c.free.contains(source) ||
          !seen.insert(source).second)
        continue;
      if (c.nodes.contains(source)) return true;
      work.push_back(source);
    }
  }
  c.free.merge(seen);
  return false;
}

// In a branch, what a Switch hands on is what it reads. Its other side is never there: then neither is what
// is made of it, whatever that is.
Value* Conditionals::through(Value* v, const Value* by) const {
  for (;;) {
    if (is_switch(v) && pred_of(v) == by) {
      v = v->producer()->input(0);
    } else if (is_op(v, OpKind::guarded) && is_switch(v->producer()->input(1)) &&
               pred_of(v->producer()->input(1)) == by) {
      v = v->producer()->input(0);
    } else {
      return v;
    }
  }
}

Slice Conditionals::slice(const Conditional& c, std::size_t side) {
  Slicer s(
      graph_,
      [&](const Value* v) {
        const auto it = states_.find(v->producer());
        return it == states_.end() || !find(it->second, c.by);
      },
      [&](Value* v) { return through(v, now(c.by)); });
  for (const Join& j : c.joins) s.add(j.node->input(j.input_of_side[side]));
  return s.take();
}

GraphPtr Conditionals::branch(const Conditional& c, std::size_t side, const Slice& s, const Values& inputs) {
  GraphPtr g = graph_.make_subgraph();
  g->set_name(name_of(c) + "/" + std::to_string(side));
  Region r(graph_, *g, renames_);
  r.set_through([&](Value* v) { return through(v, now(c.by)); });
  for (Value* v : inputs) {
    Value* inner = g->add_input({}, v->dtype(), v->shape());
    renames_.emplace_back(inner, g->name() + "/" + v->name().substr(v->name().rfind('/') + 1));
    r.bind(v, inner);
  }
  r.copy(s.nodes);
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (const Join& j : c.joins) outputs.push_back(r.own_output(j.node->input(j.input_of_side[side]), taken));
  for (const Join& j : c.joins)
    if (j.node->outputs().size() > 1 && j.node->output(1)->is_used()) {
      const auto number = static_cast<std::int32_t>(j.input_of_side[side]);
      Value* index = g->add_constant(g->name() + "/index", Tensor::scalar<std::int32_t>(number));
      outputs.push_back(r.own_output(index, taken));
    }
  g->set_outputs(std::move(outputs));
  put_in_order(*g);
  return g;
}

std::string Conditionals::name_of(const Conditional& c) const {
  const ir::Node& first = *c.joins[0].node;
  return scope_of(first.origin().node.empty() ? first.name() : first.origin().label());
}

void Conditionals::make(const Conditional& c) {
  const std::size_t sides = c.joins[0].sides;
  const bool is_case = c.by->dtype() != DType::boolean;
  if (!is_case && sides != 2)
    refuse(*c.joins[0].node, Code::bad_model, "joins more values than its condition has sides");
  std::vector<Slice> slices;
  Values captured;
  std::unordered_set<const Value*> known;
  for (std::size_t side = 0; side < sides; ++side) {
    slices.push_back(slice(c, side));
    for (Value* v : slices.back().captured)
      if (known.insert(v).second) captured.push_back(v);
  }
  Graphs branches;
  for (std::size_t side = 0; side < sides; ++side)
    branches.push_back(branch(c, side, slices[side], captured));
  ir::NodeSpec spec{
      .op = is_case ? "StatelessCase" : "StatelessIf", .inputs = {now(c.by)}, .name = name_of(c)};
  DTypes in, out;
  Shapes shapes;
  const auto add_output = [&](const Value* v) {
    spec.outputs.push_back({{}, v->dtype(), v->shape()});
    out.push_back(v->dtype());
    shapes.push_back(v->shape());
  };
  for (Value* v : captured) {
    spec.inputs.push_back(v);
    in.push_back(v->dtype());
  }
  Values replaced;
  for (const Join& j : c.joins) replaced.push_back(j.node->output());
  for (const Join& j : c.joins)
    if (j.node->outputs().size() > 1 && j.node->output(1)->is_used()) replaced.push_back(j.node->output(1));
  for (const Value* v : replaced) add_output(v);
  spec.attrs = {{"Tin", std::move(in)},
                {"Tout", std::move(out)},
                {"output_shapes", std::move(shapes)},
                {std::string(tfgraph::kDrawn), std::int64_t{1}}};
  if (is_case) {
    spec.attrs.push_back({"branches", std::move(branches)});
  } else {
    spec.attrs.push_back({"Tcond", DType::boolean});
    spec.attrs.push_back({"then_branch", branches[1]});
    spec.attrs.push_back({"else_branch", branches[0]});
  }
  spec.origin = origin_around(*c.joins[0].node, spec);
  const ir::Node& made = graph_.add(std::move(spec));
  for (std::size_t i = 0; i < replaced.size(); ++i) {
    replace_value(replaced[i], made.output(i));
    replaced_[replaced[i]] = made.output(i);
  }
}

std::optional<std::int64_t> constant_index(const Value* v) {
  if (!v || !v->constant() || v->constant()->elements() != 1 || v->dtype() == DType::string)
    return std::nullopt;
  return static_cast<std::int64_t>(v->constant()->to_floats()[0]);
}

GraphPtr taken_branch(const ir::Node& n) {
  const OpKind kind = op_kind(n.op());
  const bool is_if = kind == OpKind::if_;
  const auto index = is_if || kind == OpKind::case_ ? constant_index(n.input(0)) : std::nullopt;
  if (!index) return nullptr;
  if (is_if) {
    const auto* g = n.attr_if<GraphPtr>(*index != 0 ? "then_branch" : "else_branch");
    return g ? *g : nullptr;
  }
  const auto* all = n.attr_if<Graphs>("branches");
  if (!all || all->empty()) return nullptr;
  const auto count = static_cast<std::int64_t>(all->size());
  return nth(*all, *index < 0 || *index >= count ? count - 1 : *index);
}

void inline_branch(ir::Graph& g, ir::Node& n, const ir::Graph& branch, Renames& renames) {
  Region r(branch, g, renames);
  for (std::size_t i = 0; i < branch.inputs().size(); ++i) r.bind(branch.inputs()[i], n.input(i + 1));
  Nodes nodes;
  for (ir::Node& inner : branch.nodes()) nodes.push_back(&inner);
  r.copy(nodes);
  for (std::size_t i = 0; i < branch.outputs().size(); ++i)
    replace_value(n.output(i), r.inner(branch.outputs()[i]));
}

}  // namespace

bool functionalize_conditionals(ir::Graph& g, Renames& renames) { return Conditionals(g, renames).run(); }

void drop_guards(ir::Graph& g) {
  for (ir::Node& n : g.nodes()) {
    if (is_op(n, OpKind::guarded)) replace_value(n.output(), n.input(0));
    if (!is_op(n, OpKind::switch_)) continue;
    if (const auto side = constant_index(n.input(1))) replace_value(n.output(*side != 0), n.input(0));
  }
}

bool inline_branches(ir::Graph& g, Renames& renames) {
  bool any = false;
  for (ir::Node* n = g.first(); n; n = n->next())
    if (const GraphPtr taken = taken_branch(*n)) {
      inline_branch(g, *n, *taken, renames);  // puts its nodes at the end: they are seen later
      any = true;
    }
  return any;
}

void refuse_leftovers(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes()) {
    const OpKind kind = op_kind(n.op());
    if (is_any_switch(kind))
      refuse(n, Code::unsupported_op,
             "its value exists only if the condition takes that side, and no Merge joins it with the value "
             "of the other side",
             "Name outputs after the Merge of the conditional.");
    if (draws_control_flow(kind)) refuse(n, Code::bad_model, "is not part of any loop or conditional");
  }
}

}  // namespace t2o::tf
