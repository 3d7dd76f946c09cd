#include "tf/loops.h"

#include <algorithm>
#include <map>

#include "tfgraph/drawn.h"

namespace t2o::tf {
namespace {

struct Variable {
  ir::Node* merge;
  ir::Node* enter;
  ir::Node* next;
};

struct Loop {
  std::string frame;
  std::vector<Variable> variables = {};
  ir::Node* condition = nullptr;  // the LoopCond
  Nodes exits = {};
  bool nested = false;
};

std::string frame_of(const ir::Node& enter) {
  const auto* name = enter.attr_if<std::string>("frame_name");
  if (!name) refuse(enter, Code::bad_model, "has no frame_name");
  return *name;
}

std::string spoken(const Loop& l) { return "loop '" + l.frame + "'"; }

// All frames of a graph, with what belongs to them.
class Frames {
 public:
  explicit Frames(ir::Graph& g) : graph_(&g) {
    for (ir::Node& n : g.nodes()) {
      if (is_op(n, OpKind::enter)) loop_of(n);
      if (is_op(n, OpKind::merge)) add_variable(n);
    }
    for (Loop& l : loops_) find_condition(l);
    for (ir::Node& n : g.nodes())
      if (is_op(n, OpKind::exit)) add_exit(n);
    find_nested();
  }
  std::vector<Loop>& loops() { return loops_; }

 private:
  Loop& loop_of(const ir::Node& enter) { return loops_[index_of(enter)]; }
  std::size_t index_of(const ir::Node& enter) {
    const auto [it, fresh] = by_name_.try_emplace(frame_of(enter), loops_.size());
    if (fresh) loops_.push_back({.frame = it->first});
    return it->second;
  }

  void add_variable(ir::Node& merge) {
    const auto& in = merge.inputs();
    const auto next = std::ranges::find_if(in, [](Value* v) { return is_op(v, OpKind::next_iteration); });
    if (next == in.end()) return;
    const auto enter = std::ranges::find_if(in, [](Value* v) { return is_op(v, OpKind::enter); });
    if (in.size() != 2 || enter == in.end())
      refuse(merge, Code::bad_model, "ends a loop's back edge without an Enter before the loop");
    loop_of(*(*enter)->producer()).variables.push_back({&merge, (*enter)->producer(), (*next)->producer()});
  }

  void find_condition(Loop& l) {
    for (const Variable& v : l.variables)
      for (const ir::Use& u : v.merge->output()->uses()) {
        const Value* by = u.input == 0 && is_op(*u.node, OpKind::switch_) ? u.node->input(1) : nullptr;
        if (!is_op(by, OpKind::loop_cond)) continue;
        if (l.condition && l.condition != by->producer())
          refuse(*v.merge, Code::bad_model, spoken(l) + " has two conditions");
        l.condition = by->producer();
      }
    if (!l.variables.empty() && !l.condition)
      refuse(*l.variables[0].merge, Code::bad_model,
             spoken(l) + " has no condition: no Switch by a LoopCond reads its variables");
    if (l.condition) by_condition_[l.condition] = static_cast<std::size_t>(&l - loops_.data());
  }

  void add_exit(ir::Node& exit) {
    const Value* from = exit.input(0);
    const Value* by =
        is_op(from, OpKind::switch_) && from->index() == 0 ? from->producer()->input(1) : nullptr;
    const auto it = by_condition_.find(by ? by->producer() : nullptr);
    if (it == by_condition_.end())
      refuse(exit, Code::bad_model, "does not read the false side of a Switch by a loop's condition");
    loops_[it->second].exits.push_back(&exit);
    loop_of_exit_[&exit] = it->second;
  }

  // A loop is inside of another when what enters it depends on the other's rounds.
  void find_nested() {
    const Nodes order = loops_.empty() ? Nodes() : in_order(*graph_);
    for (bool changed = !loops_.empty(); changed;) {
      changed = false;
      std::unordered_set<const ir::Node*> inside;
      for (ir::Node* n : order) {
        const Values reads = reads_of(*n);
        bool is_inside = std::ranges::any_of(
            reads, [&](const Value* v) { return v->producer() && inside.contains(v->producer()); });
        if (is_op(*n, OpKind::enter)) {
          Loop& l = loop_of(*n);
          changed = changed || (is_inside && !l.nested);
          l.nested = l.nested || is_inside;
          is_inside = true;
        } else if (is_op(*n, OpKind::exit)) {
          is_inside = loops_[loop_of_exit_.at(n)].nested;
        }
        if (is_inside) inside.insert(n);
      }
    }
  }

  ir::Graph* graph_;
  std::vector<Loop> loops_;
  std::map<std::string, std::size_t> by_name_;
  std::unordered_map<const ir::Node*, std::size_t> by_condition_, loop_of_exit_;
};

// Of one frame.
class WhileMaker {
 public:
  WhileMaker(ir::Graph& g, Loop& l, Renames& renames) : graph_(g), loop_(l), renames_(renames) {
    for (std::size_t i = 0; i < l.variables.size(); ++i) variables_[l.variables[i].merge->output()] = i;
    const Origin& from = l.condition->origin();
    name_ = from.node.empty() ? l.condition->name() : from.label();
    name_ = name_.find('/') == std::string::npos ? l.frame : scope_of(name_);
  }
  void run();

 private:
  bool is_of_this(const Value* v) const {
    return is_op(v, OpKind::enter) && frame_of(*v->producer()) == loop_.frame;
  }
  Value* through(Value*) const;
  Slice slice(const Values& roots);
  void add_invariants(const Slice&);
  GraphPtr subgraph(const std::string& role, const Slice&, const Values& results);
  void replace_exits(ir::Node& made);

  ir::Graph& graph_;
  Loop& loop_;
  Renames& renames_;
  std::string name_;
  std::unordered_map<const Value*, std::size_t> variables_;  // by what the rounds see
  std::unordered_map<const Value*, std::size_t> by_outer_;   // invariants
  Values inputs_;                                            // of the While
  Values entries_;                                           // as the rounds see them
  std::vector<ir::OutputSpec> types_;                        // and of its outputs
};

// Inside of the loop, the true side of its Switch is what the Switch reads.
Value* WhileMaker::through(Value* v) const {
  while (is_op(v, OpKind::switch_) && v->producer()->input(1) &&
         v->producer()->input(1)->producer() == loop_.condition) {
    if (v->index() == 0)
      refuse(*v->producer(), Code::bad_model,
             "its false side, which is the way out of " + spoken(loop_) + ", is read inside of the loop");
    v = v->producer()->input(0);
  }
  return v;
}

Slice WhileMaker::slice(const Values& roots) {
  const auto stops = [&](const Value* v) {
    if (v->producer() == loop_.condition)
      refuse(*loop_.condition, Code::bad_model, "the condition of " + spoken(loop_) + " is read as a value");
    if (variables_.contains(v) || is_of_this(v)) return true;
    const bool other = v->index() == 1 && v->producer() && variables_.contains(v->producer()->output());
    if (other) refuse(*v->producer(), Code::not_yet, "the value_index of a loop's Merge is read");
    return false;
  };
  Slicer s(graph_, stops, [&](Value* v) { return through(v); });
  for (Value* v : roots) s.add(v);
  return s.take();
}

void WhileMaker::add_invariants(const Slice& s) {
  for (Value* v : s.captured) {
    if (variables_.contains(v)) continue;
    Value* outer = is_of_this(v) ? v->producer()->input(0) : v;
    const auto [it, fresh] = by_outer_.try_emplace(outer, inputs_.size());
    variables_[v] = it->second;
    if (!fresh) continue;
    const std::optional<Shape> both = merge(v->shape(), outer->shape());
    inputs_.push_back(outer);
    entries_.push_back(v);
    types_.push_back({{}, v->dtype(), both ? *both : Shape()});
  }
}

GraphPtr WhileMaker::subgraph(const std::string& role, const Slice& s, const Values& results) {
  GraphPtr g = graph_.make_subgraph();
  g->set_name(name_ + "/" + role);
  Values inputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs.push_back(g->add_input({}, types_[i].dtype, types_[i].shape));
    const std::string& label = entries_[i]->name();
    renames_.emplace_back(inputs.back(), g->name() + "/" + label.substr(label.rfind('/') + 1));
  }
  Region r(graph_, *g, renames_);
  r.set_through([&](Value* v) { return through(v); });
  for (const auto& [v, i] : variables_) r.bind(v, inputs[i]);
  r.copy(s.nodes);
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (Value* v : results) outputs.push_back(r.own_output(v, taken));
  g->set_outputs(std::move(outputs));
  put_in_order(*g);
  return g;
}

void WhileMaker::run() {
  Values next;
  for (const Variable& v : loop_.variables) {
    inputs_.push_back(v.enter->input(0));
    entries_.push_back(v.merge->output());
    types_.push_back({{}, v.merge->output()->dtype(), v.merge->output()->shape()});
    next.push_back(v.next->input(0));
  }
  const Slice condition = slice({loop_.condition->input(0)}), body = slice(next);
  add_invariants(condition);
  add_invariants(body);
  next.insert(next.end(), entries_.begin() + static_cast<std::ptrdiff_t>(next.size()), entries_.end());
  ir::NodeSpec spec{.op = "StatelessWhile", .inputs = inputs_, .outputs = types_, .name = name_};
  DTypes types;
  Shapes shapes;
  for (const ir::OutputSpec& t : types_) {
    types.push_back(t.dtype);
    shapes.push_back(t.shape);
  }
  const auto* parallel = loop_.variables[0].enter->attr_if<std::int64_t>("parallel_iterations");
  GraphPtr condition_graph = subgraph("cond", condition, {loop_.condition->input(0)});
  GraphPtr body_graph = subgraph("body", body, next);
  spec.attrs = {{"cond", std::move(condition_graph)},
                {"body", std::move(body_graph)},
                {"T", std::move(types)},
                {"output_shapes", std::move(shapes)},
                {"parallel_iterations", parallel ? *parallel : std::int64_t{10}},
                {std::string(tfgraph::kDrawn), std::int64_t{1}}};
  spec.origin = origin_around(*loop_.condition, spec);
  replace_exits(graph_.add(std::move(spec)));
}

void WhileMaker::replace_exits(ir::Node& made) {
  Region after(
      graph_, graph_,
      renames_);  // what the condition computes may leave the loop: computed again from the last values
  for (const auto& [v, i] : variables_) after.bind(v, made.output(i));
  for (ir::Node* exit : loop_.exits) {
    Value* data = exit->input(0)->producer()->input(0);
    if (!variables_.contains(data)) {
      const Slice s = slice({data});
      for (Value* v : s.captured)
        if (!variables_.contains(v)) after.bind(v, is_of_this(v) ? v->producer()->input(0) : v);
      after.copy(s.nodes);
    }
    replace_value(exit->output(), after.inner(data));
  }
}

}  // namespace

bool functionalize_loops(ir::Graph& g, Renames& renames) {
  Frames frames(g);
  std::vector<Loop>& loops = frames.loops();
  std::erase_if(loops, [](const Loop& l) { return l.variables.empty(); });
  if (loops.empty()) return false;
  if (std::ranges::all_of(loops, [](const Loop& l) { return l.nested; }))
    fail(Code::bad_model, "the loops '" + loops[0].frame + "' and others are inside of each other");
  for (Loop& l : loops)
    if (!l.nested) WhileMaker(g, l, renames).run();
  for (const Loop& l : loops)
    for (const Variable& v : l.variables)
      for (std::size_t i = 0; i < v.merge->input_count(); ++i) g.set_input(*v.merge, i, nullptr);
  return true;
}

}  // namespace t2o::tf
