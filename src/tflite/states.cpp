#include "tflite/states.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "tflite/lowering_scope.h"

namespace t2o::tflite {
namespace {

// The bytes are made when they are asked for: a file of few bytes can claim a state of any size.
TensorPtr zeros(DType type, const Ints& dims, std::int64_t code) {
  return Tensor::filled(type, dims, std::as_bytes(std::span(&code, 1)).first(bit_width(type) / 8));
}

}  // namespace

std::size_t States::of_variable(const std::string& container, const std::string& name) {
  const std::string key = "variable " + container + "/" + name;
  if (const auto found = index_.find(key); found != index_.end()) return found->second;
  return add(key, {.name = name.empty() ? "variable" : name});
}

std::size_t States::of_tensor(const Scope& s, std::int64_t tensor) {
  const Model& m = lowering_->model();
  const std::string key = "tensor " + std::to_string(s.subgraph) + " " + std::to_string(tensor);
  if (const auto found = index_.find(key); found != index_.end()) return found->second;
  const schema::Tensor& t = m.tensor(s.subgraph, tensor);
  State state{
      .name = m.tensor_name(s.subgraph, tensor), .type = lowering_->dtype(s, tensor), .is_zero = true};
  state.quantization = lowering_->quantization(s, tensor);
  const auto dims = items(t.shape());
  state.shape = Shape(Ints(dims.begin(), dims.end()));
  constexpr std::int64_t kMostElements = 1 << 28;  // the file holds none of them
  if (element_count(state.shape.dims()) > kMostElements)
    fail(Code::bad_model, "the state '" + state.name + "' is too large");
  const bool is_known = std::all_of(dims.begin(), dims.end(), [](std::int32_t d) { return d >= 0; });
  if (is_known && bit_width(state.type) >= 8)
    state.initial =
        zeros(state.type, state.shape.dims(), state.quantization ? state.quantization->zero_points[0] : 0);
  return add(key, std::move(state));
}

std::size_t States::add(const std::string& key, State state) {
  states_.push_back(std::move(state));
  index_.emplace(key, states_.size() - 1);
  return states_.size() - 1;
}

bool States::begin_initialization(std::size_t subgraph) {
  if (!initialized_.insert(subgraph).second) return false;
  is_initializing_ = true;
  return true;
}

void States::check_place(const Scope& s, const State& state) const {
  if (s.graph != state.place && (state.place || s.graph->parent()))
    fail(Code::not_yet, "the state '" + state.name +
                            "' is first given a value in a loop or a branch, which is not supported yet");
}

void States::make_input(Scope& s, State& state) {
  if (!state.initial)
    fail(Code::not_yet,
         "--stateful-io: the file does not store an initial value of the variable '" + state.name + "'");
  state.input = s.graph->add_input(state.name, state.type, state.shape);
  state.now = {};
  state.now.quantization = state.quantization;
  (state.quantization ? state.now.codes : state.now.numbers) = state.input;
}

Slot States::read(Scope& s, std::size_t i) {
  State& state = states_[i];
  check_place(s, state);
  const bool has_value = state.now.codes || state.now.numbers;
  if (!is_initializing_ && !state.is_changed) state.is_first_read = true;
  if (keep_ && !state.is_local && !is_initializing_ && !state.input && !state.is_changed &&
      (has_value || state.is_zero))
    make_input(s, state);
  if (!state.now.codes && !state.now.numbers)
    fail(Code::bad_model, "nothing has given the variable '" + state.name + "' a value before it is read");
  return state.now;
}

bool States::is_all_zero(Scope& s, std::size_t i) const {
  const State& state = states_[i];
  check_place(s, state);
  return state.is_zero && (!keep_ || state.is_local) && !state.now.is_known();
}

Value* States::numbers(Scope& s, std::size_t i) {
  if (is_all_zero(s, i)) return nullptr;
  Slot now = read(s, i);
  if (!now.numbers)
    now.numbers = lowering_->dequantize(*s.graph, now.codes, *now.quantization, {states_[i].label()});
  return now.numbers;
}

Value* States::codes(Scope& s, std::size_t i) { return is_all_zero(s, i) ? nullptr : read(s, i).codes; }

Value* States::zero(Scope& s, std::size_t i) {
  const State& state = states_[i];
  if (!state.initial) fail(Code::not_yet, "the size of the state '" + state.name + "' is not known");
  return s.graph->add_constant(state.label() + "/initial", state.initial);
}

Value* States::value(Scope& s, std::size_t i) {
  const Slot now = read(s, i);
  return now.codes ? now.codes : now.numbers;
}

void States::set_value(std::size_t i, Value* v) {
  State& state = states_[i];
  state.is_changed = true;
  (state.now.codes ? state.now.codes : state.now.numbers) = v;
  if (state.now.codes) state.now.numbers = nullptr;
}

States::Inside::Inside(States& states, const Scope& body, const std::vector<std::size_t>& taken,
                       const Values& inputs, const std::set<std::size_t>& layers)
    : states_(states) {
  for (const State& s : states.states_) before_.emplace_back(s.now, s.place);
  for (const std::size_t i : layers) {
    State& s = states.states_[i];
    s.is_local = true;
    s.place = body.graph;
    s.now = {};
    s.now.quantization = s.quantization;
  }
  for (std::size_t k = 0; k < taken.size(); ++k) {
    State& s = states.states_[taken[k]];
    const bool is_codes = s.is_local ? s.quantization.has_value() : s.now.codes != nullptr;
    s.place = body.graph;
    s.now.numbers = is_codes ? nullptr : inputs[k];
    s.now.codes = is_codes ? inputs[k] : nullptr;
    taken_[taken[k]] = s.now;
  }
}

States::Inside::~Inside() {
  for (std::size_t i = 0; i < before_.size(); ++i)
    std::tie(states_.states_[i].now, states_.states_[i].place) = std::move(before_[i]);
}

Value* States::Inside::result(Scope& body, std::size_t i) const {
  const State& state = states_.states_[i];
  const Slot &first = taken_.at(i), &now = state.now;
  Lowering& l = *states_.lowering_;
  if (now.codes && first.codes && now.quantization == first.quantization) return now.codes;
  Value* numbers =
      now.numbers ? now.numbers : l.dequantize(*body.graph, now.codes, *now.quantization, {state.name});
  if (!first.codes) return numbers;
  return l.quantize(*body.graph, numbers, *first.quantization, first.codes->dtype(), {state.name});
}

void States::write(Scope& s, std::size_t i, const Slot& slot, const InFile& f) {
  State& state = states_[i];
  check_place(s, state);
  if (is_initializing_) {
    state.initial = f.constant;
    if (f.constant) state.shape = Shape(f.constant->dims());
    state.type = f.type;
    state.quantization = f.quantization;
  } else {
    if (keep_ && !state.input) make_input(s, state);
    if (keep_ && (f.type != state.type || f.quantization != state.quantization))
      fail(Code::bad_model, "the variable '" + state.name + "' gets a value of another type");
    state.is_changed = true;
  }
  state.now = slot;
  state.now.quantization = f.quantization;
}

States::State& States::begin_write(Scope& s, std::size_t i) {
  State& state = states_[i];
  check_place(s, state);
  if (keep_ && !state.is_local && !state.input) make_input(s, state);
  state.is_changed = !state.is_local;
  state.now = {};
  state.now.quantization = state.quantization;
  return state;
}

void States::write_numbers(Scope& s, std::size_t i, Value* v) {
  State& state = begin_write(s, i);
  if (state.quantization)
    state.now.codes = lowering_->quantize(*s.graph, v, *state.quantization, state.type, {state.name});
  else
    state.now.numbers = v;
}

void States::write_codes(Scope& s, std::size_t i, Value* v) { begin_write(s, i).now.codes = v; }

void States::warn_of_lost_changes(Diagnostics& diagnostics) const {
  constexpr std::size_t kMostNames = 3;
  Strings names;
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (states_[i].is_changed || (states_[i].is_first_read && changed_in_file_.contains(i)))
      names.push_back("'" + states_[i].name + "'");
  if (names.empty()) return;
  const bool is_one = names.size() == 1;
  if (names.size() > kMostNames) {
    const std::size_t rest = names.size() - kMostNames;
    names.resize(kMostNames);
    names.push_back(std::to_string(rest) + (rest == 1 ? " more state" : " more states"));
  }
  std::string listed;
  for (std::size_t i = 0; i < names.size(); ++i)
    listed += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  diagnostics.push_back(
      {.severity = Severity::warning,
       .code = Code::unsupported_op,
       .message = listed + (is_one ? " is" : " are") + " not carried from run to run: each run starts with " +
                  (is_one ? "its initial value" : "their initial values"),
       .remedy = "--stateful-io makes " +
                 std::string(is_one ? "it an input and an output." : "them inputs and outputs.")});
}

std::vector<std::pair<std::string, TensorPtr>> States::finish(ir::Graph& g, Values& outputs,
                                                              Diagnostics& diagnostics) {
  if (!keep_) warn_of_lost_changes(diagnostics);
  std::vector<std::pair<std::string, TensorPtr>> inputs;
  std::vector<std::pair<Value*, std::string>> named;
  for (State& s : states_) {
    if (!s.input) continue;
    if (!s.is_changed) {  // it is a constant
      Value* constant = g.add_constant(s.input->name() + "/initial", s.initial);
      g.replace_all_uses(s.input, constant);
      g.remove_input(s.input);
      continue;
    }
    Value* v = identity(g, s.now.codes ? s.now.codes : s.now.numbers);
    const std::string name = s.input->name() + "_out";
    g.rename(v, name);
    if (v->name() != name)
      diagnostics.push_back(
          {.code = Code::bad_option,
           .message = "the new value of state '" + s.name + "' cannot be called '" + name +
                      "': another tensor has that name",
           .remedy = "give the inputs or outputs other names with --rename-inputs or --rename-outputs"});
    inputs.emplace_back(s.input->name(), s.initial);
    outputs.push_back(v);
  }
  return inputs;
}

}  // namespace t2o::tflite
