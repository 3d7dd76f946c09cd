#include <algorithm>

#include "tflite/lowering_scope.h"

// Variables, and tensors that keep their values from one run to the next. Those that the model changes become
// inputs and outputs with --stateful-io; else each run begins with their start values.
namespace t2o::tflite {
namespace {

std::vector<std::byte> element_of(std::int64_t code, DType type) {
  std::vector<std::byte> bytes(byte_size(type, 1));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(code) >> (8 * i));
  return bytes;
}

}  // namespace

std::size_t Lowering::state_named(const std::string& key, const std::string& name) {
  const auto [found, is_new] = state_ids_.emplace(key, states_.size());
  if (is_new) states_.push_back({.name = name, .key = key});
  return found->second;
}

// VAR_HANDLE and ASSIGN_VARIABLE stand in the same subgraph; one that gets a handle from outside is refused.
void Lowering::find_changed_states(std::size_t subgraph) {
  const schema::SubGraph& g = model_->subgraph(subgraph);
  std::unordered_map<std::int32_t, std::string> keys;
  for (unsigned i = 0; i < count(g.operators()); ++i) {
    const schema::Operator& o = *g.operators()->Get(i);
    if (model_->builtin(o) == B::VAR_HANDLE && count(o.outputs()) == 1) {
      const auto* options = o.builtin_options_as<schema::VarHandleOptions>();
      if (options) keys[o.outputs()->Get(0)] = variable_key(*options);
    }
    if (model_->builtin(o) == B::ASSIGN_VARIABLE && count(o.inputs()) == 2)
      if (const auto found = keys.find(o.inputs()->Get(0)); found != keys.end())
        changed_.insert(found->second);
  }
}

std::string Lowering::variable_key(const schema::VarHandleOptions& o) {
  return text(o.container()) + "/" + text(o.shared_name());
}

State& Lowering::variable(Scope& s, std::int64_t tensor) {
  const std::int64_t id = s.slots[static_cast<std::size_t>(tensor)].variable;
  if (id < 0)
    fail(Code::not_yet, "it takes a variable from outside of its subgraph, which is not supported yet");
  return states_[static_cast<std::size_t>(id)];
}

void Lowering::begin_state(State& state, const std::optional<Quantization>& q) {
  if (state.current.codes || state.current.numbers) return;
  if (!state.initial) fail(Code::bad_model, "the variable '" + state.name + "' has no start value");
  const DType type = state.initial->dtype();
  if (type == DType::resource || type == DType::variant || type == DType::string)
    fail(Code::not_yet, "a variable of type " + std::string(name(type)) + " is not supported yet");
  state.in_file = q;
  Value* v = nullptr;
  if (keep_states_ && changed_.contains(state.key)) {
    v = state.input = root_->add_input(state.name, type, Shape(state.initial->dims()));
    if (q && type == DType::i8) v = rebased(*root_, v, *q, v->name());
  } else {
    v = root_->add_constant(state.name, state.initial);
    if (q && type == DType::i8) v = rebased(*root_, v, *q, v->name());
  }
  state.current.quantization = in_graph(q, type);
  (q ? state.current.codes : state.current.numbers) = v;
}

void Lowering::read_variable(Scope& s, std::int64_t handle, std::int64_t result) {
  State& state = variable(s, handle);
  const auto q = quantization(s, result);
  begin_state(state, q);
  if (in_graph(q, model_->dtype(model_->tensor(s.subgraph, result))) != state.current.quantization)
    fail(Code::not_yet, "the variable '" + state.name + "' has another scale than what is read of it");
  s.slots[static_cast<std::size_t>(result)] = state.current;
}

void Lowering::assign_variable(Scope& s, std::int64_t handle, std::int64_t value) {
  State& state = variable(s, handle);
  if (is_starting_) {
    const TensorPtr start = model_->constant(model_->tensor(s.subgraph, value));
    if (!start) fail(Code::not_yet, "the start value of the variable '" + state.name + "' is computed");
    state.initial = start;
    return;
  }
  if (s.graph != root_)
    fail(Code::not_yet, "the variable '" + state.name + "' is changed inside of a loop or a branch");
  begin_state(state, quantization(s, value));
  const Slot& next = slot(s, value);
  if (next.quantization != state.current.quantization)
    fail(Code::not_yet, "the variable '" + state.name + "' gets a value of another scale than it has");
  state.current = next;
  state.is_changed = true;
}

// Of a tensor that an operator reads and changes. It begins with zeros.
State& Lowering::state_of_tensor(Scope& s, std::int64_t tensor) {
  const schema::Tensor& t = model_->tensor(s.subgraph, tensor);
  if (s.graph != root_) fail(Code::not_yet, "a state inside of a loop or a branch is not supported yet");
  const std::string key = "#" + std::to_string(s.subgraph) + "/" + std::to_string(tensor);
  State& state = states_[state_named(key, model_->tensor_name(s.subgraph, tensor))];
  changed_.insert(key);
  const auto q = quantization(s, tensor);
  if (!state.initial) {
    Ints dims = ints_of(t.shape());
    if (std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; }))
      fail(Code::not_yet, "the state '" + state.name + "' has an unknown size");
    const DType type = model_->dtype(t);
    constexpr std::int64_t kMostElements = 1 << 28;  // the file holds none of them
    if (element_count(dims) > kMostElements)
      fail(Code::bad_model, "the state '" + state.name + "' is too large");
    if (byte_size(type, 1) == 0)
      fail(Code::unsupported_type, "the state '" + state.name + "' has no numbers");
    state.initial = Tensor::filled(type, dims, element_of(q ? q->zero_points[0] : 0, type));
  }
  begin_state(state, q);
  return state;
}

void Lowering::end_states(Values& outputs) {
  std::string lost;
  for (State& state : states_) {
    if (!state.is_changed) continue;
    if (!state.input) {
      lost += (lost.empty() ? "'" : ", '") + state.name + "'";
      continue;
    }
    Value* v = state.current.quantization ? state.current.codes : state.current.numbers;
    const DType type = state.initial->dtype();
    if (v->dtype() != type) {
      Value* numbers = dequantize(*root_, v, *state.current.quantization, {state.name});
      v = quantize(*root_, numbers, *state.in_file, type, {state.name});
    }
    if (!v->producer() || v->is_graph_output() ||
        std::find(outputs.begin(), outputs.end(), v) != outputs.end())
      v = identity(*root_, v);
    root_->rename(v, state.name + "_out");
    outputs.push_back(v);
  }
  if (!lost.empty())
    diagnostics_->push_back({.severity = Severity::warning,
                             .code = Code::unsupported_op,
                             .message = "the changes of the model's states are not exported: " + lost,
                             .remedy = "--stateful-io makes them inputs and outputs."});
}

std::vector<std::pair<std::string, TensorPtr>> Lowering::input_defaults() const {
  std::vector<std::pair<std::string, TensorPtr>> defaults;
  for (const State& state : states_)
    if (state.input && state.is_changed) defaults.emplace_back(state.input->name(), state.initial);
  return defaults;
}

}  // namespace t2o::tflite
