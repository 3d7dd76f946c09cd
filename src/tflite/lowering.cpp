#include <algorithm>

#include "support/wire.h"
#include "tflite/lowering_scope.h"

namespace t2o::tflite {
namespace {

[[noreturn]] void fail_count(std::size_t given, std::size_t taken, const std::string& subgraph) {
  fail(Code::bad_model, "it has " + std::to_string(given) + " inputs, and subgraph '" + subgraph + "' " +
                            std::to_string(taken));
}

[[noreturn]] void refuse_unknown(const Model& m, const schema::Operator& o) {
  const B op = m.builtin(o);
  if (builtin_name(op).empty()) fail(Code::unsupported_op, "TensorFlow Lite 2.21 has no such operator", "");
  if (const RefusedOp* r = find_refusal(op)) fail(r->code, r->reason, r->remedy);
  fail(Code::not_yet, "there is no conversion for this operator yet", "");
}

}  // namespace

// A subgraph that is called counts each time.
Lowering::Lowering(const Model& model, Diagnostics& diagnostics, const Request& r)
    : model_(&model),
      diagnostics_(&diagnostics),
      labels_(model),
      states_(*this, r.keep_state),
      custom_ops_(r.custom_ops),
      dequantizes_(r.dequantize) {
  std::size_t stored = 0;
  for (std::size_t i = 0; i < model.subgraph_count(); ++i) stored += count(model.subgraph(i).operators());
  most_operators_ = 65536 + 16 * stored;
}

Scope Lowering::open(std::size_t subgraph, ir::Graph& graph) const {
  const schema::SubGraph& g = model_->subgraph(subgraph);
  const std::size_t tensors = count(g.tensors());
  Scope s{subgraph, &graph, std::vector<Slot>(tensors), false, std::vector<std::uint8_t>(tensors)};
  s.reads.resize(tensors);
  for (unsigned i = 0; i < count(g.operators()); ++i)
    for (const std::int32_t t : items(g.operators()->Get(i)->inputs()))
      if (t >= 0 && s.reads[static_cast<std::size_t>(t)] < 2) ++s.reads[static_cast<std::size_t>(t)];
  return s;
}

std::size_t Lowering::subgraph_index(std::int64_t i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= model_->subgraph_count())
    fail(Code::bad_model, "it names subgraph " + std::to_string(i) + ", and there are " +
                              std::to_string(model_->subgraph_count()));
  return static_cast<std::size_t>(i);
}

bool Lowering::changes_state(const Scope& s, const schema::Operator& o, bool is_read_later) const {
  return (is_read_later || states_.are_kept() || !s.is_main) && touches_states(s.subgraph, o, true);
}

// Operators stand in the order in which they run, so one walk from the end finds all that an output needs.
std::vector<bool> Lowering::needed(const Scope& s, const std::vector<std::int64_t>& outputs) const {
  const schema::SubGraph& g = model_->subgraph(s.subgraph);
  std::vector<bool> wanted(s.slots.size()), operators(count(g.operators()));
  for (const std::int64_t t : outputs) wanted[static_cast<std::size_t>(t)] = true;
  bool reads_state = false;
  for (std::size_t i = 0; i < s.slots.size(); ++i)
    if (s.slots[i].is_known()) wanted[i] = false;
  for (std::size_t k = operators.size(); k-- > 0;) {
    const schema::Operator& o = *g.operators()->Get(static_cast<unsigned>(k));
    const auto results = items(o.outputs());
    operators[k] = std::any_of(results.begin(), results.end(),
                               [&](std::int32_t t) { return wanted[static_cast<std::size_t>(t)]; }) ||
                   changes_state(s, o, reads_state);
    if (!operators[k]) continue;
    reads_state = reads_state || touches_states(s.subgraph, o, false);
    for (const std::int32_t t : items(o.inputs()))
      if (t >= 0 && !s.slots[static_cast<std::size_t>(t)].is_known())
        wanted[static_cast<std::size_t>(t)] = true;
  }
  return operators;
}

void Lowering::lower_operators(Scope& s, const std::vector<bool>& wanted) {
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (!wanted[k]) continue;
    if (++lowered_ > most_operators_) fail_reading("its subgraphs call each other too often");
    lower_operator(s, static_cast<unsigned>(k));
  }
}

bool Lowering::depends_on_failure(const Scope& s, const schema::Operator& o) const {
  const auto read = items(o.inputs());
  return std::any_of(read.begin(), read.end(),
                     [&](std::int32_t t) { return t >= 0 && s.failed[static_cast<std::size_t>(t)] != 0; });
}

void Lowering::lower_operator(Scope& s, unsigned index) {
  const schema::Operator& o = *model_->subgraph(s.subgraph).operators()->Get(index);
  const auto give_up = [&] {
    for (const std::int32_t t : items(o.outputs())) s.failed[static_cast<std::size_t>(t)] = 1;
  };
  if (depends_on_failure(s, o)) return give_up();
  Origin origin{count(o.outputs()) == 0 ? "" : model_->tensor_name(s.subgraph, o.outputs()->Get(0)),
                model_->op_name(o),
                model_->subgraph_name(s.subgraph) + ", operator " + std::to_string(index)};
  if (!origin.node.empty()) origin.brief = label(s, o.outputs()->Get(0), origin.op);
  const auto shared = std::make_shared<const Origin>(origin);
  try {
    const Row* row = find_row(model_->builtin(o));
    if (!row) refuse_unknown(*model_, o);
    lower_row(s, *row, o, shared);
  } catch (const ConversionError& e) {
    Diagnostic d = e.diagnostic();
    if (d.code == Code::bad_file) throw;
    if (d.origin.op.empty()) d.origin = origin;
    diagnostics_->push_back(std::move(d));
    give_up();
  }
}

bool Lowering::moves_codes(const Scope& s, const Row& row, const schema::Operator& o) const {
  if (row.codes != Codes::moved || count(o.outputs()) == 0) return false;
  const auto wanted = quantization(s, o.outputs()->Get(0));
  if (!wanted || !wanted->is_per_tensor()) return false;
  const auto alike = [&](std::int32_t t) {
    if (t < 0) return true;
    const auto q = quantization(s, t);
    return !q || *q == *wanted;
  };
  const auto read = items(o.inputs()), made = items(o.outputs());
  return std::all_of(read.begin(), read.end(), alike) && std::all_of(made.begin(), made.end(), alike);
}

void Lowering::lower_row(Scope& s, const Row& row, const schema::Operator& o,
                         const std::shared_ptr<const Origin>& origin) {
  Op op(*this, s, o, row, origin);
  op.as_codes(moves_codes(s, row, o));
  Values results =
      row.lower ? row.lower(op) : op.make_all(row.tf, op.all(), row.attrs ? row.attrs(op) : Attrs{});
  if (results.size() < op.output_count())
    fail(Code::bad_model, "it has " + std::to_string(op.output_count()) + " outputs instead of " +
                              std::to_string(results.size()));
  for (std::size_t i = 0; i < op.output_count(); ++i) {
    const std::int64_t t = o.outputs()->Get(static_cast<unsigned>(i));
    if (s.slots[static_cast<std::size_t>(t)].state) continue;
    if (!results[i]) {
      if (!has_errors(*diagnostics_)) fail(Code::bad_model, "a subgraph of it has no results");
      s.failed[static_cast<std::size_t>(t)] = 1;
      continue;
    }
    if (op.moves_codes() && quantization(s, t))
      bind_codes(s, t, results[i]);
    else
      bind_numbers(s, t, results[i], origin);
  }
}

void Lowering::bind_inputs(Scope& s, const Request& r) {
  for (const Port& p : r.inputs) {
    const schema::Tensor& t = model_->tensor(s.subgraph, p.tensor);
    const DType type = dtype(s, p.tensor);
    if (type == DType::undefined || type == DType::resource || type == DType::variant)
      fail(Code::unsupported_type,
           "the input '" + p.name + "' is of type " + std::string(schema::EnumNameTensorType(t.type())));
    Value* v = s.graph->add_input(p.name, type, p.shape);
    s.graph->mark_source(v);
    Slot& slot = s.slots[static_cast<std::size_t>(p.tensor)];
    slot.quantization = quantization(s, p.tensor);
    (slot.quantization ? slot.codes : slot.numbers) = v;
    if (dequantizes_) note_range(s, p.tensor, v);
    has_sizes_of_file_ = has_sizes_of_file_ && p.shape.is_static() && p.shape == model_->shape(t);
  }
}

Values Lowering::outputs_of(Scope& s, const Request& r) {
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (const Port& p : r.outputs) {
    if (s.failed[static_cast<std::size_t>(p.tensor)] != 0) continue;
    collect(*diagnostics_, [&] {
      Value* v = codes(s, p.tensor);
      if (!v->producer() || !taken.insert(v).second) v = identity(*s.graph, v);
      s.graph->rename(v, p.name);
      s.graph->mark_source(v);
      if (v->name() != p.name)
        diagnostics_->push_back(
            {.severity = Severity::warning,
             .code = Code::bad_option,
             .message = "the output '" + p.name + "' is renamed to '" + v->name() +
                        "': an input has that name, and each ONNX tensor needs a name of its own",
             .remedy = "choose another name with --rename-outputs"});
      outputs.push_back(v);
    });
  }
  return outputs;
}

Lowered Lowering::run(const Request& r) {
  auto graph = std::make_shared<ir::Graph>();
  graph->set_dialect("tf");
  graph->set_name(model_->subgraph_name(r.subgraph));
  Lowered result;
  Scope s = open(r.subgraph, *graph);
  s.is_main = true;
  graph->reserve(s.slots.size());
  if (r.outputs.empty())
    diagnostics_->push_back({.code = Code::bad_model,
                             .message = "the subgraph '" + graph->name() + "' has no outputs",
                             .remedy = "choose another signature, or name outputs with --outputs"});
  collect(*diagnostics_, [&] {
    bind_inputs(s, r);
    for (const Port& p : r.outputs) {
      graph->reserve_name(p.name);
      output_names_.emplace(p.name, p.tensor);
      outputs_.emplace(p.tensor, p.name);
    }
    std::vector<std::int64_t> outputs;
    for (const Port& p : r.outputs) outputs.push_back(p.tensor);
    {
      const Nested nested(nesting_, r.subgraph, *model_);
      lower_operators(s, needed(s, outputs));
    }
    if (!states_.are_kept() && touches_states(r.subgraph, true, 0))
      states_.note_changes(use_of_states({static_cast<std::int64_t>(r.subgraph)}, {}).changed);
    Values all = outputs_of(s, r);
    result.initial = states_.finish(*graph, all, *diagnostics_);
    graph->set_outputs(std::move(all));
  });
  if (has_errors(*diagnostics_)) return {};
  graph->erase_dead();
  graph->name_rest();
  result.graph = std::move(graph);
  return result;
}

GraphPtr Lowering::body(const Scope& outer, std::int64_t index, const StateFlow& flow, Handles& handles) {
  const std::size_t subgraph = subgraph_index(index);
  const Nested nested(nesting_, subgraph, *model_);
  const schema::SubGraph& g = model_->subgraph(subgraph);
  GraphPtr graph = outer.graph->make_subgraph();
  graph->set_name(model_->subgraph_name(subgraph));
  Scope s = open(subgraph, *graph);
  const auto formal = items(g.inputs()), outputs = items(g.outputs());
  if (formal.size() != flow.handles.size()) fail_count(flow.handles.size(), formal.size(), graph->name());
  for (std::size_t i = 0; i < formal.size(); ++i) {
    Slot& slot = s.slots[static_cast<std::size_t>(formal[i])];
    if (slot.is_known())
      fail(Code::bad_model, "two inputs of subgraph '" + graph->name() + "' are one tensor");
    slot.state = flow.handles[i];
    if (!slot.state) add_input_of_body(s, formal[i]);
    if (flow.is_loop && !slot.state && i < outputs.size() && outputs[i] != formal[i])
      fed_back_[graph.get()].push_back(graph->inputs().back());
  }
  Values taken;
  for (std::size_t i = 0; i < flow.taken.size(); ++i)
    taken.push_back(graph->add_input(states_.name(flow.taken[i]), flow.types[i], Shape()));
  const States::Inside inside(states_, s, flow.taken, taken, flow.layers);
  const std::size_t errors = diagnostics_->size();
  lower_operators(s, needed(s, std::vector<std::int64_t>(outputs.begin(), outputs.end())));
  if (diagnostics_->size() != errors && has_errors(*diagnostics_))
    return graph;  // it is discarded with the whole
  Values results;
  handles.clear();
  for (const std::int32_t t : outputs) {
    handles.push_back(slot_or_handle(s, t).state);
    if (!handles.back()) results.push_back(identity(*graph, codes(s, t)));
  }
  for (const std::size_t state : flow.given) results.push_back(identity(*graph, inside.result(s, state)));
  graph->set_outputs(std::move(results));
  return graph;
}

GraphPtr Lowering::computation(const Scope& outer, std::int64_t index) {
  Handles handles;
  const std::size_t inputs = count(model_->subgraph(subgraph_index(index)).inputs());
  return body(outer, index, {.handles = Handles(inputs)}, handles);
}

void Lowering::add_input_of_body(Scope& s, std::int32_t t) {
  Slot& slot = s.slots[static_cast<std::size_t>(t)];
  slot.quantization = quantization(s, t);
  Value* v = s.graph->add_input(label(s, t, "argument"), dtype(s, t), Shape());
  (slot.quantization ? slot.codes : slot.numbers) = v;
  if (dequantizes_) note_range(s, t, v);
}

std::vector<Slot> Lowering::inlined(const Scope& outer, std::int64_t index, std::vector<Slot> inputs) {
  const std::size_t subgraph = subgraph_index(index);
  const Nested nested(nesting_, subgraph, *model_);
  const schema::SubGraph& g = model_->subgraph(subgraph);
  Scope s = open(subgraph, *outer.graph);
  const auto formal = items(g.inputs()), outputs = items(g.outputs());
  if (formal.size() != inputs.size())
    fail_count(inputs.size(), formal.size(), model_->subgraph_name(subgraph));
  for (std::size_t i = 0; i < formal.size(); ++i)
    s.slots[static_cast<std::size_t>(formal[i])] = std::move(inputs[i]);
  lower_operators(s, needed(s, std::vector<std::int64_t>(outputs.begin(), outputs.end())));
  std::vector<Slot> results;
  for (const std::int32_t t : outputs)
    results.push_back(s.failed[static_cast<std::size_t>(t)] != 0 ? Slot{} : slot_or_handle(s, t));
  return results;
}

void Lowering::initialize(const Scope& outer, std::int64_t subgraph) {
  if (!states_.begin_initialization(subgraph_index(subgraph))) return;
  inlined(outer, subgraph, {});
  states_.end_initialization();
}

Lowered lower(const Model& model, const Request& request, Diagnostics& diagnostics) {
  return Lowering(model, diagnostics, request).run(request);
}

}  // namespace t2o::tflite
