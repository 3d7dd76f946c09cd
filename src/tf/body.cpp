#include "tf/body.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "support/wire.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kControlSteps = 64;

bool is_control(std::string_view input) { return input.starts_with('^'); }

std::int32_t as_index(std::size_t i) { return static_cast<std::int32_t>(i); }

std::vector<std::int32_t> handed_on_arguments(const Body& body) {
  std::vector<std::int32_t> arguments;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> known;  // of a node and its output
  for (InputRef r : body.results) {
    std::vector<std::int32_t*> way;
    while (r.node >= 0) {
      const auto [at, fresh] = known.try_emplace({r.node, r.output}, -1);  // -1: also of a cycle
      if (!fresh) {
        r = {.argument = at->second};
        break;
      }
      way.push_back(&at->second);
      const auto n = static_cast<std::size_t>(r.node);
      const OpKind kind = body.ops[n]->kind;
      const auto inputs = body.inputs_of(n);
      const auto k = handed_on_input(kind, static_cast<std::size_t>(r.output));
      r = passes_through(kind) && *k < inputs.size() ? inputs[*k] : InputRef{};
    }
    for (std::int32_t* argument : way) *argument = r.argument;
    arguments.push_back(r.argument);
  }
  return arguments;
}

}  // namespace

void plan_nodes(Body& body, const std::vector<bool>& needed) {
  const auto size = static_cast<std::uint32_t>(body.size());
  constexpr std::uint32_t kUnseen = static_cast<std::uint32_t>(-1);
  body.plan.clear();
  body.place.assign(size, kUnseen);
  const auto add = [&](std::uint32_t n) {
    if (!needed[n] || body.place[n] != kUnseen) return;
    body.place[n] = static_cast<std::uint32_t>(body.plan.size());
    body.plan.push_back(n);
  };
  for (const std::uint32_t n : body.order) add(n);
  for (std::uint32_t n = 0; n < size; ++n) add(n);
  std::ranges::replace(body.place, kUnseen, static_cast<std::uint32_t>(body.plan.size()));
}

bool is_back_edge(const Body& body, std::size_t node, const InputRef& in) {
  return in.node >= 0 && body.ops[node]->kind == OpKind::merge &&
         nth(body.ops, in.node)->kind == OpKind::next_iteration;
}

std::pair<std::string_view, std::int64_t> split_tensor_name(std::string_view tensor) {
  const std::size_t colon = tensor.rfind(':');
  if (colon == std::string_view::npos) return {tensor, 0};
  const std::string_view digits = tensor.substr(colon + 1);
  std::int32_t k = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), k);
  if (error != std::errc() || end != digits.data() + digits.size() || k < 0) return {tensor, -1};
  return {tensor.substr(0, colon), k};
}

Bodies::Bodies(const GraphDef& graph, Diagnostics& diagnostics) : graph_(&graph), diagnostics_(&diagnostics) {
  for (const RawFunction& f : graph.functions) {
    Body& body = functions_[f.name];
    if (!body.name.empty())
      diagnostics.push_back(
          {.code = Code::bad_model, .message = "two functions are called '" + body.name + "'"});
    body.name = f.name;
    body.raw = &f;
  }
  if (!graph.op_list.empty())
    for (WireReader r(graph.op_list); r.next();)
      if (r.field() == 1) {
        OpDef d = parse_op_def(r.bytes(), graph.owner);
        std::string key = d.name;
        extra_ops_.emplace(std::move(key), std::move(d));
      }
  main_.list = &graph.body;
}

const OpDef* Bodies::op_def(std::string_view op) {
  if (const OpDef* d = find_op_def(op)) return d;
  const auto it = extra_ops_.find(std::string(op));
  return it == extra_ops_.end() ? nullptr : &it->second;
}

const OpInfo* Bodies::op_info(std::string_view op) {
  const auto [it, fresh] = ops_.try_emplace(op);
  OpInfo& info = it->second;
  if (!fresh) return &info;
  if (const auto f = functions_.find(op); f != functions_.end()) {
    info.kind = OpKind::function;
    info.function = &f->second;
    load(*info.function);
    return &info;
  }
  info.def = op_def(op);
  info.kind = op_kind(op, info.def);
  info.holds_functions =
      info.kind == OpKind::ordinary && info.def && std::ranges::any_of(info.def->attrs, [](const AttrDef& a) {
        return a.type == "func" || a.type == "list(func)";
      });
  return &info;
}

Body* Bodies::function(std::string_view name) {
  const auto it = functions_.find(name);
  if (it == functions_.end()) return nullptr;
  prepare(it->second);
  return &it->second;
}

void Bodies::load(Body& body) {
  if (body.signature) return;
  body.function = parse_function(body.raw->bytes, graph_->owner);
  body.signature = &body.function.signature;
  body.list = &body.function.body;
}

void Bodies::prepare(Body& body) {
  if (body.prepared) return;
  body.prepared = true;
  if (body.raw) load(body);
  const auto& nodes = body.list->nodes;
  body.index.reserve(nodes.size());
  body.ops.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name.empty())
      fail_reading("node " + std::to_string(i) + " has no name",
                   "Check that the file is a TensorFlow graph.");
    if (!body.index.add(nodes[i].name))
      diagnostics_->push_back({.code = Code::bad_model,
                               .message = "two nodes are called '" + std::string(nodes[i].name) + "'",
                               .origin = {std::string(nodes[i].name), std::string(nodes[i].op), body.name}});
    body.ops.push_back(op_info(nodes[i].op));
  }
  resolve_inputs(body);
  add_guards(body);
  if (!body.signature) return;
  mark_needed(body);
  body.handed_on = handed_on_arguments(body);
}

void Bodies::resolve_inputs(Body& body) {
  body.inputs.reserve(body.list->inputs.size());
  body.first_input.reserve(body.size() + 1);
  body.outputs_seen.assign(body.size(), 0);
  const auto add = [&](std::string_view ref) {
    const InputRef in = body.signature ? resolve_function_ref(body, ref) : resolve_graph_ref(body, ref);
    if (in.node >= 0) {
      std::uint32_t& seen = nth(body.outputs_seen, in.node);
      seen = std::max(seen, static_cast<std::uint32_t>(in.output) + 1);
    }
    return in;
  };
  for (std::size_t i = 0; i < body.size(); ++i) {
    body.first_input.push_back(static_cast<std::uint32_t>(body.inputs.size()));
    if (body.ops[i]->kind == OpKind::dequeue) continue;  // what fills a queue is no part of the model
    for (const std::string_view ref : body.node(i).inputs)
      if (!is_control(ref)) body.inputs.push_back(add(ref));
  }
  body.first_input.push_back(static_cast<std::uint32_t>(body.inputs.size()));
  if (!body.signature) return;
  for (const ArgDef& output : body.signature->outputs) {
    const auto& ret = body.function.ret;
    const auto it = std::ranges::find_if(ret, [&](const auto& r) { return r.first == output.name; });
    body.results.push_back(it == ret.end() ? InputRef{} : add(it->second));
  }
}

// What reads nothing of a conditional's side, but stands there by a control edge, gets that side as one more
// input: else nothing would tell where it belongs.
void Bodies::add_guards(Body& body) {
  if (std::ranges::none_of(body.ops, [](const OpInfo* op) { return is_any_switch(op->kind); })) return;
  body.guarded.assign(body.size(), false);
  std::vector<InputRef> inputs;
  std::vector<std::uint32_t> first;
  inputs.reserve(body.inputs.size());
  first.reserve(body.first_input.size());
  for (std::uint32_t n = 0; n < body.size(); ++n) {
    first.push_back(static_cast<std::uint32_t>(inputs.size()));
    const auto own = body.inputs_of(n);
    append(inputs, own);
    const OpKind kind = body.ops[n]->kind;
    const bool is_call = kind == OpKind::call || kind == OpKind::function;
    if (!is_call && kind != OpKind::constant && (kind != OpKind::ordinary || !own.empty())) continue;
    const InputRef side = find_side(body, n);
    if (side.node < 0) continue;
    inputs.push_back(side);
    body.guarded[n] = true;
  }
  first.push_back(static_cast<std::uint32_t>(inputs.size()));
  body.inputs = std::move(inputs);
  body.first_input = std::move(first);
}

// Behind the node's control edges, and those of what only stands between: the output of a Switch that no loop
// owns.
InputRef Bodies::find_side(const Body& body, std::uint32_t node) const {
  std::vector<std::uint32_t> work, seen;
  const auto visit = [&](std::uint32_t n) {
    for (const std::string_view ref : body.node(n).inputs) {
      if (!is_control(ref)) continue;
      const auto it = body.index.find(ref.substr(1));
      if (!it || contains(seen, *it)) continue;
      seen.push_back(*it);
      work.push_back(*it);
    }
  };
  visit(node);
  while (!work.empty() && seen.size() < kControlSteps) {
    const std::uint32_t n = work.back();
    work.pop_back();
    const OpKind kind = body.ops[n]->kind;
    if (kind == OpKind::no_data || kind == OpKind::constant) visit(n);
    if (!passes_through(kind)) continue;
    InputRef in{.node = as_index(n)};
    for (std::size_t steps = 0; in.node >= 0 && steps < kControlSteps; ++steps) {
      const auto at = static_cast<std::size_t>(in.node);
      const auto sources = body.inputs_of(at);
      if (sources.empty()) break;
      const bool is_switch = is_any_switch(body.ops[at]->kind);
      const std::int32_t by = is_switch && sources.size() > 1 ? sources[1].node : -1;
      if (by >= 0 && nth(body.ops, by)->kind == OpKind::loop_cond) break;
      if (is_switch) return in;
      const auto k = handed_on_input(body.ops[at]->kind, static_cast<std::size_t>(in.output));
      if (!passes_through(body.ops[at]->kind) || *k >= sources.size()) break;
      in = sources[*k];
    }
  }
  return {};
}

InputRef Bodies::resolve_graph_ref(const Body& body, std::string_view ref) {
  const auto [name, output] = split_tensor_name(ref);
  const auto it = body.index.find(name);
  if (!it || output < 0) return {};
  return {.node = as_index(*it), .output = static_cast<std::int32_t>(output)};
}

// "argument", "node:output:3", and, as older producers write, "node:output" or "node".
InputRef Bodies::resolve_function_ref(const Body& body, std::string_view ref) {
  const auto& args = body.signature->inputs;
  const std::size_t colon = ref.find(':');
  const std::string_view name = ref.substr(0, colon);
  const auto it = body.index.find(name);
  if (!it) {
    const auto [arg_name, k] = split_tensor_name(ref);
    for (std::size_t i = 0; i < args.size(); ++i)
      if (args[i].name == arg_name || args[i].name == name)
        return {.argument = as_index(i), .output = static_cast<std::int32_t>(std::max<std::int64_t>(k, 0))};
    return {};
  }
  InputRef in{.node = as_index(*it)};
  if (colon == std::string_view::npos) return in;
  const auto [output, k] = split_tensor_name(ref.substr(colon + 1));
  in.output = static_cast<std::int32_t>(std::max<std::int64_t>(k, 0));
  const OpInfo& op = *body.ops[*it];
  const OpDef* def = op.function ? op.function->signature : op.def;
  if (!def) return in;
  bool single = true;
  for (std::size_t a = 0; a < def->outputs.size(); ++a) {
    const ArgDef& arg = def->outputs[a];
    if (arg.name == output) {
      if (single)
        in.output += as_index(a);
      else
        in.output_arg = as_index(a);
      return in;
    }
    single = single && arg.number_attr.empty() && arg.type_list_attr.empty();
  }
  return {};
}

void Bodies::mark_needed(Body& body) {
  std::vector<std::uint32_t> roots;
  for (const InputRef& r : body.results)
    if (r.node >= 0) roots.push_back(static_cast<std::uint32_t>(r.node));
  body.needed = reachable(body, std::move(roots), [](const InputRef&) { return false; });
}

}  // namespace t2o::tf
