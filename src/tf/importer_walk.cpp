#include <algorithm>

#include "tf/importer.h"
#include "tf/region.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kMaxNodes = 10'000'000;
constexpr std::size_t kNamesOfCycle = 5;

}  // namespace

void Importer::push_frame(Frame f) {
  if (f.body->place.empty()) plan_nodes(*f.body, f.body->needed);
  f.marks.resize(f.body->plan.size());
  f.outputs.resize(f.body->plan.size());
  labels_.settle(f.labels, *f.body, !c_.bodies.graph().functions.empty());
  f.body->active = true;
  frames_.push_back(std::move(f));
}

// Imports the nodes in the order of Body::plan, each after the nodes that it reads.
void Importer::step() {
  Frame& f = frames_.back();
  if (f.stack.empty()) {
    while (f.next < f.marks.size() && f.marks[f.next] == Frame::Mark::done) ++f.next;
    if (f.next == f.marks.size()) return finish_frame();
    f.stack.push_back(f.body->plan[f.next]);
  }
  const std::uint32_t n = f.stack.back();
  switch (f.mark(n)) {
    case Frame::Mark::unseen:
      expand(f, n);
      break;
    case Frame::Mark::done:
      f.stack.pop_back();
      break;
    case Frame::Mark::open:
      if (++nodes_made_ == kMaxNodes)
        give_up("it has more than " + std::to_string(kMaxNodes) + " nodes when its functions are inlined");
      process(f, n);
      break;
  }
}

void Importer::process(Frame& f, std::uint32_t n) {
  try {
    Values inputs = nodes_.inputs_of(f, n);
    if (f.body->is_guarded(n)) inputs.pop_back();
    if (std::ranges::any_of(inputs, [&](const Value* v) { return c_.is_poison(v); }))
      return deliver_failure();
    const OpKind kind = f.body->ops[n]->kind;
    const bool hands_on_variable = kind == OpKind::pass_through && f.body->node(n).op.starts_with("Ref");
    for (std::size_t i = kind == OpKind::write_variable || hands_on_variable ? 1 : 0; i < inputs.size(); ++i)
      inputs[i] = nodes_.plain(f, n, inputs[i]);
    switch (kind) {
      case OpKind::call:
      case OpKind::function:
        return begin_call(f, n, inputs);
      case OpKind::if_:
      case OpKind::case_:
      case OpKind::while_:
      case OpKind::computation:
        return begin_control_flow(f, n, inputs);
      default:
        return deliver(nodes_.import_leaf(f, n, inputs));
    }
  } catch (const ConversionError& e) {
    c_.report(f, n, e.diagnostic());
    f.pending.reset();
    deliver_failure();
  }
}

void Importer::give_up(const std::string& why) {
  c_.diagnostics.push_back({.code = Code::unsupported_op,
                            .message = "the graph is too large: " + why,
                            .remedy = "Convert a part of the model: name outputs that need less of it."});
  gave_up_ = true;
}

void Importer::expand(Frame& f, std::uint32_t n) {
  f.mark(n) = Frame::Mark::open;
  const auto inputs = f.body->inputs_of(n);
  for (std::size_t i = inputs.size(); i-- > 0;) {  // the first input on top of the stack
    const InputRef& in = inputs[i];
    if (in.node < 0 || is_back_edge(*f.body, n, in)) continue;
    const auto source = static_cast<std::uint32_t>(in.node);
    if (f.kind == Frame::Kind::main && interface_.is_fed(in)) continue;
    if (f.mark(source) == Frame::Mark::open) report_cycle(f, source);
    if (f.mark(source) == Frame::Mark::unseen) f.stack.push_back(source);
  }
}

void Importer::report_cycle(Frame& f, std::uint32_t node) {
  if (cycle_reported_) return;
  cycle_reported_ = true;
  std::string names;
  std::size_t count = 0;
  for (std::size_t i = f.stack.size(); i-- > 0;) {
    if (f.mark(f.stack[i]) != Frame::Mark::open) continue;
    if (++count <= kNamesOfCycle) names += "'" + std::string(f.body->node(f.stack[i]).name) + "' <- ";
    if (f.stack[i] == node) break;
  }
  if (count > kNamesOfCycle) names += "... <- ";
  c_.report(f, node,
            {.code = Code::bad_model,
             .message = "the graph has a cycle: " + names + "'" +
                        std::string(f.body->node(f.stack.back()).name) + "'"});
}

void Importer::deliver(Values values) {
  Frame& f = frames_.back();
  const std::uint32_t n = f.stack.back();
  if (f.body->is_guarded(n)) nodes_.guard(f, n, values);
  f.outputs_of(n) = {static_cast<std::uint32_t>(f.values.size()), static_cast<std::uint32_t>(values.size())};
  append(f.values, values);
  f.mark(n) = Frame::Mark::done;
  f.stack.pop_back();
}

void Importer::deliver_failure() {
  Frame& f = frames_.back();
  f.outputs_of(f.stack.back()).failed = true;
  f.mark(f.stack.back()) = Frame::Mark::done;
  f.stack.pop_back();
}

void Importer::finish_frame() {
  Frame& f = frames_.back();
  for (const LateEdge& e : f.late) f.graph->set_input(*e.node, e.input, nodes_.find_or_poison(f, e.source));
  f.body->active = false;
  if (f.kind == Frame::Kind::main) {
    interface_.set_outputs(f, [&](const InputRef& in) {
      Value* v = nodes_.find(f, in);
      return v && in.node >= 0 ? nodes_.plain(f, static_cast<std::uint32_t>(in.node), v) : v;
    });
    frames_.pop_back();
    return;
  }
  Values results;
  for (std::size_t i = 0; i < f.body->results.size(); ++i) {
    Value* r = nodes_.find(f, f.body->results[i]);
    if (!r)
      c_.diagnostics.push_back({.code = Code::bad_model,
                                .message = "function '" + f.body->name + "' does not say what its output '" +
                                           f.body->signature->outputs[i].name + "' is"});
    results.push_back(r ? r : c_.poison());
  }
  if (f.kind == Frame::Kind::call) {
    frames_.pop_back();
    return deliver(results);
  }
  finish_branch(f, results);
  GraphPtr graph = std::move(f.owned);
  frames_.pop_back();
  end_branch(std::move(graph));
}

// An output of a branch is the output of one of the branch's own nodes.
void Importer::finish_branch(Frame& f, const Values& results) {
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool is_own_argument = i < f.args.size() && i < f.branch_inputs.size() && results[i] == f.args[i];
    Value* v = is_own_argument ? f.branch_inputs[i] : results[i];
    const bool plain = v->graph() == f.graph && v->producer() && taken.insert(v).second;
    outputs.push_back(
        plain ? v : add_identity(*f.graph, v, f.labels.of(f.body->signature->outputs[i].name)));
  }
  f.graph->set_outputs(std::move(outputs));
}

}  // namespace t2o::tf
