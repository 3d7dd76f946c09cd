#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "diagnostics.h"
#include "tflite/labels.h"
#include "tflite/op.h"

namespace t2o::tflite {

// Tensors that keep their values from run to run: variables, and the tensors of layers with a memory. The values are followed in the
// order in which the operators run. Each run starts with the initial values, or (--stateful-io) with an input's.
class States {
 public:
  States(Lowering& l, bool keep) : lowering_(&l), keep_(keep) {}
  bool are_kept() const { return keep_; }
  const std::string& name(std::size_t i) const { return states_[i].name; }

  std::size_t of_variable(const std::string& container, const std::string& name);  // without an initial value
  std::size_t of_tensor(const Scope&, std::int64_t tensor);                         // starts with zeros

  // The value at this place; refuses one that nothing has set.
  Slot read(Scope&, std::size_t state);
  // The same of a tensor's state, as numbers. Null: all of them are zero.
  Value* numbers(Scope&, std::size_t state);
  Value* codes(Scope&, std::size_t state);  // of a quantized one
  // `in_file`: the type, the quantization and, of a constant, the content in the file.
  struct InFile {
    DType type;
    std::optional<Quantization> quantization;
    TensorPtr constant;
  };
  void write(Scope&, std::size_t state, const Slot&, const InFile&);
  void write_numbers(Scope&, std::size_t state, Value*);
  void write_codes(Scope&, std::size_t state, Value*);

  // The value as loops and branches take and return it: the codes of a quantized state.
  Value* value(Scope&, std::size_t state);
  Value* zero(Scope&, std::size_t state);  // the first value of a tensor's state
  void set_value(std::size_t state, Value*);  // in the form in which value() gave it

  // While a subgraph is lowered, the states that it takes have the values of its inputs. Its layers have states of its own, which start
  // with zeros each time, and are no states of the model: so LiteRT has it. Those that are not taken are zero.
  class Inside {
   public:
    Inside(States&, const Scope& body, const std::vector<std::size_t>& taken, const Values& inputs, const std::set<std::size_t>& layers);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Value* result(Scope& body, std::size_t state) const;  // at its end, in the form of the input

   private:
    States& states_;
    std::vector<std::pair<Slot, const ir::Graph*>> before_;  // `now` and `place` of each state
    std::map<std::size_t, Slot> taken_;
  };

  // Of the model's main graph: states that operators change, also operators that no output needs.
  void note_changes(const std::set<std::size_t>& states) { changed_in_file_ = states; }

  bool begin_initialization(std::size_t subgraph);  // false: it has run
  void end_initialization() { is_initializing_ = false; }

  // Adds an output for each state that is kept and changed. Returns its input with the initial value.
  std::vector<std::pair<std::string, TensorPtr>> finish(ir::Graph&, Values& outputs, Diagnostics&);

 private:
  struct State {
    std::string name;
    DType type = DType::undefined;  // in the file
    std::optional<Quantization> quantization = {};
    Shape shape = {};
    TensorPtr initial = {};   // null: it is computed, or there is none
    bool is_zero = false;     // at first
    Slot now = {};
    Value* input = nullptr;   // of the graph
    bool is_changed = false;
    bool is_first_read = false;  // the graph reads the value with which the run starts
    const ir::Graph* place = nullptr;  // where `now` is; null: the main graph
    bool is_local = false;             // of a layer in a subgraph
    std::string label() const {
      const std::string own = Labels::first_name(name);
      return own.empty() ? name : own;
    }
  };
  std::size_t add(const std::string& key, State);
  void check_place(const Scope&, const State&) const;
  void make_input(Scope&, State&);
  bool is_all_zero(Scope&, std::size_t state) const;
  State& begin_write(Scope&, std::size_t state);
  void warn_of_lost_changes(Diagnostics&) const;

  Lowering* lowering_;
  bool keep_, is_initializing_ = false;
  std::vector<State> states_;
  std::map<std::string, std::size_t> index_;
  std::set<std::size_t> initialized_;  // subgraphs
  std::set<std::size_t> changed_in_file_;
};

}  // namespace t2o::tflite
