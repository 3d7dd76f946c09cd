#include "tf/region.h"

#include "ir/nesting.h"

namespace t2o::tf {

bool is_op(const ir::Node& n, OpKind k) { return op_kind(n.op()) == k; }
bool is_op(const Value* v, OpKind k) { return v && v->producer() && is_op(*v->producer(), k); }

bool is_loop_edge(const ir::Node& reader, const Value* v) {
  return is_op(v, OpKind::next_iteration) && is_op(reader, OpKind::merge);
}

bool hands_on(const ir::Node& n) {
  const OpKind k = op_kind(n.op());
  return draws_control_flow(k) && k != OpKind::loop_cond;
}

void refuse(const ir::Node& n, Code code, std::string why, std::string remedy) {
  throw ConversionError({Severity::error, code, std::move(why), std::move(remedy), n.origin()});
}

Values reads_of(const ir::Node& n) {
  Values reads;
  for (Value* v : n.inputs())
    if (v) reads.push_back(v);
  std::vector<const ir::Graph*> work;
  ir::for_each_subgraph(n, [&](const ir::Graph& g) { work.push_back(&g); });
  if (work.empty()) return reads;
  std::unordered_set<const ir::Graph*> inside(work.begin(), work.end());
  Values inner;
  while (!work.empty()) {
    const ir::Graph& g = *work.back();
    work.pop_back();
    for (const ir::Node& m : g.nodes()) {
      for (Value* v : m.inputs())
        if (v) inner.push_back(v);
      ir::for_each_subgraph(m, [&](const ir::Graph& sub) {
        if (inside.insert(&sub).second) work.push_back(&sub);
      });
    }
  }
  std::unordered_set<const Value*> known(reads.begin(), reads.end());
  for (Value* v : inner)
    if (!inside.contains(v->graph()) && known.insert(v).second) reads.push_back(v);
  return reads;
}

Nodes in_order(ir::Graph& g) {
  enum State : std::uint8_t { unseen, open, done };
  std::unordered_map<const ir::Node*, State> state;
  state.reserve(g.node_count());
  Nodes order, stack;
  order.reserve(g.node_count());
  for (ir::Node& root : g.nodes()) {
    stack.push_back(&root);
    while (!stack.empty()) {
      ir::Node& n = *stack.back();
      State& s = state[&n];
      if (s != unseen) {
        if (s == open) order.push_back(&n);
        s = done;
        stack.pop_back();
        continue;
      }
      s = open;
      const Values reads = reads_of(n);
      for (auto v = reads.rbegin(); v != reads.rend(); ++v) {
        ir::Node* source = (*v)->producer();
        if (!source || (*v)->graph() != &g || is_loop_edge(n, *v)) continue;
        const auto it = state.find(source);
        if (it != state.end() && it->second == open) refuse(n, Code::bad_model, "the graph has a cycle");
        if (it == state.end() || it->second == unseen) stack.push_back(source);
      }
    }
  }
  return order;
}

void put_in_order(ir::Graph& g) {
  for (ir::Node* n : in_order(g)) g.move_before(*n, nullptr);
}

Slicer::Slicer(ir::Graph& g, Stops stops, Through through)
    : graph_(&g), stops_(std::move(stops)), through_(std::move(through)) {}

void Slicer::reach(Value* v) {
  if (through_) v = through_(v);
  if (v->constant() || captured_.contains(v)) return;
  if (stops_(v) || v->graph() != graph_ || !v->producer()) {
    captured_.insert(v);
    slice_.captured.push_back(v);
    return;
  }
  if (seen_.insert(v->producer()).second) stack_.push_back(v->producer());
}

void Slicer::add(Value* root) {
  reach(root);
  while (!stack_.empty()) {
    ir::Node* n = stack_.back();
    stack_.pop_back();
    slice_.nodes.push_back(n);
    for (Value* v : reads_of(*n)) reach(v);
  }
}

void rename_all(const Renames& renames) {
  for (const auto& [v, name] : renames)
    if (v->name().empty()) v->graph()->rename(v, name.empty() ? "value" : name);
}

ir::Node& Region::copy_node(const ir::Node& n, ir::Graph& to) {
  ir::NodeSpec spec{.op = n.op(), .inputs = Values(n.input_count()), .attrs = n.attrs()};
  spec.origin = n.shared_origin();
  spec.name_later = true;
  for (const Value* v : n.outputs()) spec.outputs.push_back({{}, v->dtype(), v->shape()});
  const auto copy_graph = [&](GraphPtr& g) {
    GraphPtr copy = to.make_subgraph();
    copy->set_name(g->name());
    subgraphs_.emplace_back(g.get(), copy.get());
    g = std::move(copy);
  };
  for (ir::NamedAttr& a : spec.attrs) {
    if (auto* g = std::get_if<GraphPtr>(&a.value)) copy_graph(*g);
    if (auto* gs = std::get_if<Graphs>(&a.value))
      for (GraphPtr& g : *gs) copy_graph(g);
  }
  ir::Node& copy = to.add(std::move(spec));
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    map_[n.output(i)] = copy.output(i);
    renames_->emplace_back(copy.output(i), n.output(i)->name());
  }
  return copy;
}

void Region::connect(const ir::Node& original, ir::Node& copy, bool nested) {
  for (std::size_t i = 0; i < original.input_count(); ++i) {
    Value* v = original.input(i);
    if (!v) continue;
    const auto it = map_.find(v);
    Value* stand_in = it != map_.end() ? it->second : nested ? v : inner(v);
    copy.graph()->set_input(copy, i, stand_in);
  }
}

void Region::copy(const Nodes& nodes) {
  Nodes copies;
  for (const ir::Node* n : nodes) copies.push_back(&copy_node(*n, *to_));
  for (std::size_t i = 0; i < nodes.size(); ++i) connect(*nodes[i], *copies[i], false);
  copy_subgraphs();
}

void Region::copy_subgraphs() {
  while (!subgraphs_.empty()) {
    const auto [from, to] = subgraphs_.back();
    subgraphs_.pop_back();
    for (const Value* v : from->inputs()) {
      map_[v] = to->add_input({}, v->dtype(), v->shape());
      renames_->emplace_back(map_[v], v->name());
    }
    for (const Value* v : from->constants()) {
      map_[v] = to->add_constant({}, v->constant());
      renames_->emplace_back(map_[v], v->name());
    }
    Nodes copies;
    for (const ir::Node& n : from->nodes()) copies.push_back(&copy_node(n, *to));
    std::size_t i = 0;
    for (const ir::Node& n : from->nodes()) connect(n, *copies[i++], true);
    Values outputs;
    for (Value* v : from->outputs()) {
      const auto it = map_.find(v);
      outputs.push_back(it == map_.end() ? v : it->second);
    }
    to->set_outputs(std::move(outputs));
  }
}

Value* Region::inner(Value* v) {
  if (through_) v = through_(v);
  const auto it = map_.find(v);
  if (it != map_.end()) return it->second;
  if (!v->constant() || v->graph() != from_ || from_ == to_) return v;
  Value* copy = to_->add_constant({}, v->constant());
  renames_->emplace_back(copy, v->name());
  return map_[v] = copy;
}

Value* Region::own_output(Value* outer, std::unordered_set<const Value*>& taken) {
  Value* v = inner(outer);
  if (v->graph() == to_ && v->producer() && taken.insert(v).second) return v;
  Value* own = add_identity(*to_, v);
  renames_->emplace_back(own, outer->name());
  return own;
}

std::string scope_of(const std::string& path) {
  return path.find('/') == std::string::npos ? path : path.substr(0, path.rfind('/'));
}

std::shared_ptr<const Origin> origin_around(const ir::Node& first, const ir::NodeSpec& made) {
  const Origin& of = first.origin();
  const bool has_scope = of.node.find('/') != std::string::npos;
  return std::make_shared<const Origin>(
      Origin{has_scope ? scope_of(of.node) : made.name, made.op, of.function, made.name});
}

Value* add_identity(ir::Graph& g, Value* v, std::string name, std::shared_ptr<const Origin> origin) {
  if (!origin)
    origin = v->producer() ? v->producer()->shared_origin()
                           : std::make_shared<const Origin>(Origin{v->name(), "", ""});
  const bool name_later = name.empty();
  return g
      .add({.op = "Identity",
            .inputs = {v},
            .attrs = {{"T", v->dtype()}},
            .outputs = {{{}, v->dtype(), v->shape()}},
            .origin = std::move(origin),
            .name = std::move(name),
            .name_later = name_later})
      .output();
}

void check_nesting(const ir::Graph& around, const ir::Node* holder) {
  if (ir::nesting(around) < ir::kDeepestNesting) return;
  throw ConversionError({.code = Code::unsupported_op,
                         .message = "loops and conditionals are nested more than " +
                                    std::to_string(ir::kDeepestNesting) + " deep",
                         .remedy = "Do not nest them so deeply.",
                         .origin = holder ? holder->origin() : Origin()});
}

void replace_value(Value* from, Value* to) {
  ir::Graph& g = *from->graph();
  if (from->is_graph_output()) {
    const std::string name = from->name();
    if (to->is_graph_output() || !to->producer() || to->graph() != &g) {
      to = add_identity(g, to);
    }
    g.rename(from, name + "/replaced");
    if (to->name() != name) g.rename(to, name);
  }
  g.replace_all_uses(from, to);
}

}  // namespace t2o::tf
