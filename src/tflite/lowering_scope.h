#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tflite/dequantize.h"
#include "tflite/labels.h"
#include "tflite/lowering.h"
#include "tflite/op.h"
#include "tflite/states.h"

namespace t2o::tflite {

// What names a tensor and its quantization have in the graph, and where they come from.
struct Label {
  std::string tensor;
  std::shared_ptr<const Origin> origin = {};
};

// States of the variables that an operator hands to its subgraphs, by its inputs; nothing where the input is an ordinary tensor.
using Handles = std::vector<std::optional<std::size_t>>;

// The states that a subgraph reads or changes, itself or in the subgraphs that it calls.
struct StateUse {
  std::set<std::size_t> read = {}, changed = {};
  std::set<std::size_t> layers = {};  // those of its own layers
};

// The contents of a hash table.
struct Table {
  TensorPtr keys, values;
};

// A subgraph that is open: it must not call itself.
class Nested {
 public:
  Nested(std::vector<std::size_t>& open, std::size_t subgraph, const Model&);
  ~Nested() { open_.pop_back(); }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  std::vector<std::size_t>& open_;
};

// How states go through a subgraph of a loop or a branch: as further inputs and outputs of it.
struct StateFlow {
  Handles handles = {};                     // of its inputs
  std::vector<std::size_t> taken = {}, given = {};
  DTypes types = {};                        // of those that are taken
  std::set<std::size_t> layers = {};
  bool is_loop = false;
};

// Lowers subgraphs: the main one, those that operators hold, and those that are called.
class Lowering {
 public:
  Lowering(const Model&, Diagnostics&, const Request&);
  Lowered run(const Request&);
  const Model& model() const { return *model_; }
  States& states() { return states_; }
  // Inputs of a loop's body that have other values in each round.
  const Values& fed_back(const ir::Graph* body) { return fed_back_[body]; }
  std::map<std::size_t, Table>& tables() { return tables_; }  // by the state of their handle
  bool keeps_custom(const std::string& op) const { return custom_ops_.contains(op); }
  bool has_sizes_of_file() const { return has_sizes_of_file_; }  // no input has others, or sizes that are unknown

  // The values of a tensor. They refuse one that nothing computes.
  Slot& slot(Scope&, std::int64_t tensor);
  Slot& slot_or_handle(Scope&, std::int64_t tensor);
  Value* numbers(Scope&, std::int64_t tensor);
  Value* signed_numbers(Scope&, std::int64_t tensor);            // of u8 codes that hold i8 codes
  Value* codes(Scope&, std::int64_t tensor);                     // of a tensor that is not quantized the value
  // As the file states it, of codes alone. In the graph of a dequantized model no tensor has one, and all of these are floats.
  std::optional<Quantization> quantization_in_file(const Scope&, std::int64_t tensor) const;
  std::optional<Quantization> quantization(const Scope&, std::int64_t tensor) const;
  DType dtype(const Scope&, std::int64_t tensor) const;
  void bind_numbers(Scope&, std::int64_t tensor, Value*, const std::shared_ptr<const Origin>&);  // of the operator
  void bind_codes(Scope&, std::int64_t tensor, Value*);

  // A subgraph for an attribute. Its inputs and outputs are codes where tensors are quantized; handles are none. `handles` gets those of
  // its outputs.
  GraphPtr body(const Scope& outer, std::int64_t subgraph, const StateFlow&, Handles& handles);
  GraphPtr computation(const Scope& outer, std::int64_t subgraph);  // the same without states
  StateUse use_of_states(const std::vector<std::int64_t>& subgraphs, const Handles& inputs);
  // A subgraph as a part of the graph of another one; gives its outputs.
  std::vector<Slot> inlined(const Scope& outer, std::int64_t subgraph, std::vector<Slot> inputs);

  // Runs a subgraph without inputs and outputs once: it gives states their initial values.
  void initialize(const Scope& outer, std::int64_t subgraph);

  Value* dequantize(ir::Graph&, Value* codes, const Quantization&, const Label&);
  Value* quantize(ir::Graph&, Value* numbers, const Quantization&, DType, const Label&);

  std::string label(const Scope&, std::int64_t tensor, const std::string& otherwise);
  Label label(const Scope&, std::int64_t tensor);  // of a tensor that no operator computes

 private:
  Scope open(std::size_t subgraph, ir::Graph& graph) const;
  std::size_t subgraph_index(std::int64_t i) const;
  std::vector<bool> needed(const Scope&, const std::vector<std::int64_t>& outputs) const;
  bool changes_state(const Scope&, const schema::Operator&, bool is_read_later) const;
  bool touches_states(std::size_t subgraph, const schema::Operator&, bool changes, std::size_t depth = 0) const;
  bool touches_states(std::size_t subgraph, bool changes, std::size_t depth) const;
  Handles add_use(std::size_t subgraph, const Handles& inputs, StateUse&);
  void lower_operators(Scope&, const std::vector<bool>& needed);
  void lower_operator(Scope&, unsigned index);
  void lower_row(Scope&, const Row&, const schema::Operator&, const std::shared_ptr<const Origin>&);
  bool depends_on_failure(const Scope&, const schema::Operator&) const;
  void bind_inputs(Scope&, const Request&);
  void add_input_of_body(Scope&, std::int32_t tensor);
  Values outputs_of(Scope&, const Request&);
  bool moves_codes(const Scope&, const Row&, const schema::Operator&) const;
  std::optional<Range> range_of_codes(const Scope&, std::int64_t tensor, const Value*) const;
  void note_range(const Scope&, std::int64_t tensor, const Value* input);
  Value* cut(const Scope&, std::int64_t tensor, Value*);
  void name_value(Scope&, Value*&, std::int64_t tensor);

  const Model* model_;
  Diagnostics* diagnostics_;
  Labels labels_;
  States states_;
  std::map<std::size_t, Table> tables_;
  std::unordered_map<const ir::Graph*, Values> fed_back_;
  std::set<std::string> custom_ops_;
  bool dequantizes_;
  Bounds bounds_;  // of values of a dequantized model
  std::vector<std::size_t> nesting_;
  std::unordered_map<std::string, std::int64_t> output_names_;  // of the graph, with their tensors
  std::unordered_map<std::int64_t, std::string> outputs_;       // the other way
  bool has_sizes_of_file_ = true;
  std::size_t lowered_ = 0, seen_ = 0, most_operators_ = 0;
  mutable std::map<std::pair<std::size_t, bool>, bool> touches_;  // by subgraph, and whether states are changed
};

Value* identity(ir::Graph&, Value*);

}  // namespace t2o::tflite
