#pragma once
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tflite/lowering.h"
#include "tflite/op.h"

namespace t2o::tflite {

// Where a node for quantization comes from: the tensor, and the operator that computes it.
struct Label {
  std::string tensor;
  std::shared_ptr<const Origin> origin = {};
};

struct State {
  std::string name, key;
  TensorPtr initial = {};
  std::optional<Quantization> in_file = {};
  Slot current = {};       // after the operators so far
  Value* input = nullptr;  // of the graph; null: each run begins with `initial`
  bool is_changed = false;
};

// Lowers subgraphs: the main one, those that operators hold, and those that are called.
class Lowering {
 public:
  Lowering(const Model&, Diagnostics&);
  GraphPtr run(const Request&);
  std::vector<std::pair<std::string, TensorPtr>> input_defaults() const;  // of the states among the inputs
  const Model& model() const { return *model_; }

  // The values of a tensor. They refuse one that nothing computes.
  Slot& slot(Scope&, std::int64_t tensor);
  Value* numbers(Scope&, std::int64_t tensor);
  Value* codes(Scope&, std::int64_t tensor);                     // as an activation: u8 for i8
  Value* as_in_file(Scope&, std::int64_t tensor);                // in the tensor's own type
  std::optional<Quantization> quantization(const Scope&, std::int64_t tensor) const;  // as the file states it; of codes alone
  void bind_numbers(Scope&, std::int64_t tensor, Value*);
  void bind_codes(Scope&, std::int64_t tensor, Value*);          // of the type that the graph has for them

  // A subgraph for an attribute. Its inputs and outputs are codes where tensors are quantized.
  GraphPtr body(const Scope& outer, std::int64_t subgraph);
  // A subgraph as a part of the graph of another one; gives its outputs.
  std::vector<Slot> inlined(const Scope& outer, std::int64_t subgraph, std::vector<Slot> inputs);

  // States: variables, and tensors that an operator changes.
  static std::string variable_key(const schema::VarHandleOptions&);
  std::size_t state_named(const std::string& key, const std::string& name);
  void start(const Scope&, std::int64_t subgraph);
  void read_variable(Scope&, std::int64_t handle, std::int64_t result);
  void assign_variable(Scope&, std::int64_t handle, std::int64_t value);
  State& state_of_tensor(Scope&, std::int64_t tensor);

  Value* dequantize(ir::Graph&, Value* codes, const Quantization&, const Label&);
  Value* quantize(ir::Graph&, Value* numbers, const Quantization&, DType, const Label&);

 private:
  class Nested;
  Scope open(std::size_t subgraph, ir::Graph& graph) const;
  std::size_t subgraph_index(std::int64_t i) const;
  std::vector<bool> needed(const Scope&, const std::vector<std::int64_t>& outputs) const;
  void lower_operators(Scope&, const std::vector<bool>& needed);
  void lower_operator(Scope&, unsigned index);
  void lower_row(Scope&, const Row&, const schema::Operator&, std::shared_ptr<const Origin>);
  bool depends_on_failure(const Scope&, const schema::Operator&) const;
  void bind_inputs(Scope&, const Request&);
  Values outputs_of(Scope&, const Request&);
  bool moves_codes(const Scope&, const Row&, const schema::Operator&) const;
  Value* rebased(ir::Graph&, Value* codes, const Quantization&, const std::string& tensor);
  void name_value(Scope&, Value*&, std::int64_t tensor, bool holds_tensor);

  State& variable(Scope&, std::int64_t tensor);
  void find_changed_states(std::size_t subgraph);
  void begin_state(State&, const std::optional<Quantization>&);
  void end_states(Values& outputs);

  const Model* model_;
  Diagnostics* diagnostics_;
  std::vector<std::size_t> nesting_;
  ir::Graph* root_ = nullptr;
  std::deque<State> states_;  // their addresses stay
  std::unordered_map<std::string, std::size_t> state_ids_;
  std::unordered_set<std::string> changed_;  // keys of states that the model changes
  bool keep_states_ = false, is_starting_ = false;
  std::unordered_map<std::string, std::int64_t> output_names_;  // of the graph, with their tensors
  std::size_t lowered_ = 0, most_operators_ = 0;
};

Value* identity(ir::Graph&, Value*);
std::optional<Quantization> in_graph(std::optional<Quantization>, DType in_file);  // i8 is u8 there: the zero point changes

}  // namespace t2o::tflite
