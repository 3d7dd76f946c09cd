#pragma once
#include <optional>
#include <vector>

#include "rewriters/tf/step_math.h"

// Finds the recurrent cells that ONNX has an operator for in the step of a loop.
namespace t2o::rewriters {

struct StepMask {          // the rows of the batch that take part in a step; if value is null, all do
  Value* value = nullptr;  // outside of the loop: lengths [batch], or bools [time, batch] or [time, batch, 1]
  bool is_list = false;    // bools
  bool is_column = false;  // bools [time, batch, 1]
  bool operator==(const StepMask&) const = default;
};

struct State {  // some columns of a loop variable
  std::size_t variable;
  Columns previous, next;  // next: the new state of a row that takes part
  StepMask mask;
};

struct Gate {  // act(inputs + recurrent + biases + peephole)
  Activation act;
  std::vector<Product> inputs, recurrent;
  std::vector<Bias> biases, recurrent_biases;  // recurrent_biases: those that a GRU's reset gate multiplies
  std::optional<Columns> peephole;
  double constant_bias = 0;  // also added
};

using tfgraph::CellKind;

struct Cell {
  CellKind kind = CellKind::rnn;
  std::vector<Gate> gates;              // in ONNX's order: i o f c, z r h
  std::vector<Activation> activations;  // ONNX's f, g, h
  bool linear_before_reset = false;
  std::size_t h = 0, c = 0;     // indices of the states
  std::vector<Columns> inputs;  // the operands of the input products
};

class CellFinder {
 public:
  CellFinder(const Loop& loop, StepMath& math, const std::vector<State>& states)
      : loop_(&loop), math_(&math), states_(&states) {}
  // The cells that were found. States that belong to no cell are not reported.
  std::vector<Cell> find();

 private:
  std::optional<Cell> lstm(std::size_t c);
  std::optional<Cell> lstm_of(std::size_t c, std::size_t h, const Columns& forget, const Columns& a,
                              const Columns& b);
  std::optional<Cell> gru(std::size_t h);
  std::optional<Cell> gru_of(std::size_t h, const Columns& update, bool inverted, const Columns& candidate);
  std::optional<Gate> candidate_gate(const Columns& c, const State& h, Gate& reset,
                                     bool& linear_before_reset);
  std::optional<Cell> rnn(std::size_t h);
  std::optional<Cell> lstm_block(std::size_t c);  // TensorFlow's cells that are one op
  std::optional<Cell> gru_block(std::size_t h);
  std::optional<Gate> block_gate(const char* act, Columns x, const Columns& h, Value* weight, Value* bias,
                                 std::int64_t gate);
  std::optional<Gate> gate(const Columns& c, const State& h, const Columns* cell = nullptr);
  bool sort_out(const Linear& l, const State& h, const Columns* cell, Gate& g);
  bool collect_inputs(Cell& cell);
  std::optional<std::pair<Columns, Columns>> factors(const Columns& c);
  std::optional<std::pair<Columns, Columns>> addends(const Columns& c);
  bool is_complement(const Columns& c, const Columns& of);

  const Loop* loop_;
  StepMath* math_;
  const std::vector<State>* states_;
};

// The mask of a Select, the branch for rows that take part, and the branch for the others.
struct Masked {
  StepMask mask;
  Columns active, inactive;
};
// The lengths [batch] that a mask [time, batch] or [time, batch, 1] compares the steps with. Null if the mask may
// have gaps.
Value* lengths_of_mask(Value* mask);
std::optional<Masked> unmask(const Loop& loop, StepMath& math, const Columns& c);

}  // namespace t2o::rewriters
