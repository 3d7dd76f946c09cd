#include <algorithm>

#include "tf/importer.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kMaxNodes = 10'000'000;
constexpr std::size_t kNamesOfCycle = 5;

}  // namespace

void Importer::push_frame(Frame f) {
  f.state.resize(f.body->size());
  f.outputs.resize(f.body->size());
  f.body->active = true;
  frames_.push_back(std::move(f));
}

// The nodes in the file's order, each after the nodes that it reads.
void Importer::step() {
  Frame& f = frames_.back();
  if (f.stack.empty()) {
    while (f.next < f.body->size() && (!(*f.needed)[f.next] || f.state[f.next] == Frame::done)) ++f.next;
    if (f.next == f.body->size()) return finish_frame();
    f.stack.push_back(static_cast<std::uint32_t>(f.next));
  }
  const std::uint32_t n = f.stack.back();
  switch (f.state[n]) {
    case Frame::unseen:
      expand(f, n);
      break;
    case Frame::done:
      f.stack.pop_back();
      break;
    case Frame::open:
      if (++nodes_made_ == kMaxNodes)
        give_up("it has more than " + std::to_string(kMaxNodes) + " nodes when its functions are inlined");
      process(f, n);
      break;
  }
}

void Importer::give_up(const std::string& why) {
  diagnostics_->push_back({.code = Code::unsupported_op,
                           .message = "the graph is too large: " + why,
                           .remedy = "Convert a part of the model: name outputs that need less of it."});
  gave_up_ = true;
}

void Importer::expand(Frame& f, std::uint32_t n) {
  f.state[n] = Frame::open;
  const auto inputs = f.body->inputs_of(n);
  for (std::size_t i = inputs.size(); i-- > 0;) {  // the first input on top of the stack
    const InputRef& in = inputs[i];
    if (in.node < 0 || is_back_edge(*f.body, n, in)) continue;
    const auto source = static_cast<std::uint32_t>(in.node);
    if (f.kind == Frame::Kind::main && is_fed(in)) continue;
    if (f.state[source] == Frame::open) report_cycle(f, source);
    if (f.state[source] == Frame::unseen) f.stack.push_back(source);
  }
  if (const auto change = f.body->read_after.find(n);
      change != f.body->read_after.end() && f.state[change->second] == Frame::unseen)
    f.stack.push_back(change->second);
}

void Importer::report_cycle(const Frame& f, std::uint32_t node) {
  if (cycle_reported_) return;
  cycle_reported_ = true;
  std::string names;
  std::size_t count = 0;
  for (std::size_t i = f.stack.size(); i-- > 0;) {
    if (f.state[f.stack[i]] != Frame::open) continue;
    if (++count <= kNamesOfCycle) names += "'" + std::string(f.body->node(f.stack[i]).name) + "' <- ";
    if (f.stack[i] == node) break;
  }
  if (count > kNamesOfCycle) names += "... <- ";
  report(f, node,
         {.code = Code::bad_model,
          .message = "the graph has a cycle: " + names + "'" +
                     std::string(f.body->node(f.stack.back()).name) + "'"});
}

void Importer::deliver(std::vector<Item> items) {
  Frame& f = frames_.back();
  const std::uint32_t n = f.stack.back();
  if (f.body->is_guarded(n)) guard(f, n, items);
  f.outputs[n] = {static_cast<std::uint32_t>(f.items.size()), static_cast<std::uint32_t>(items.size())};
  f.items.insert(f.items.end(), items.begin(), items.end());
  f.state[n] = Frame::done;
  f.stack.pop_back();
}

void Importer::deliver_failure() {
  Frame& f = frames_.back();
  f.outputs[f.stack.back()].failed = true;
  f.state[f.stack.back()] = Frame::done;
  f.stack.pop_back();
}

void Importer::finish_frame() {
  Frame& f = frames_.back();
  for (const LateEdge& e : f.late)
    f.graph->set_input(*e.node, e.input, value(item_or_poison(find_item(f, e.source))));
  f.body->active = false;
  if (f.kind == Frame::Kind::main) {
    set_outputs(f);
    frames_.pop_back();
    return;
  }
  std::vector<Item> results;
  for (std::size_t i = 0; i < f.body->results.size(); ++i) {
    const std::optional<Item> r = find_item(f, f.body->results[i]);
    if (!r)
      diagnostics_->push_back({.code = Code::bad_model,
                               .message = "function '" + f.body->name + "' does not say what its output '" +
                                          f.body->signature->outputs[i].name + "' is"});
    results.push_back(item_or_poison(r));
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
void Importer::finish_branch(Frame& f, const std::vector<Item>& results) {
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool is_own_argument = i < f.args.size() && i < f.branch_inputs.size() && results[i] == f.args[i];
    Value* v = is_own_argument ? f.branch_inputs[i] : value(results[i]);
    const bool plain = v->graph() == f.graph && v->producer() && taken.insert(v).second;
    outputs.push_back(plain ? v : identity(*f.graph, v, node_name(f, f.body->signature->outputs[i].name)));
  }
  f.graph->set_outputs(std::move(outputs));
}

}  // namespace t2o::tf
