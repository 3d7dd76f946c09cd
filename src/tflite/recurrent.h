#pragma once
#include <functional>

#include "tflite/op.h"

// Recurrent layers. They read [time, batch, features].
namespace t2o::tflite {

// One step: what it makes of x[t] and of the states before it. Constants are values from outside that each step reads.
struct StepInputs {
  Value* x;
  Values states, constants;
};
using Step = std::function<Values(Op&, const StepInputs&)>;

struct Steps {
  Values outputs;  // the first state after each step: one tensor
  Values states;   // after the last one
};
// Runs over the first axis of x, from its end if `reverse`. A single step (`known_count` is 1) stands in the graph itself.
Steps run_steps(Op&, Value* x, const Values& initial, const Values& constants, Dim known_count, bool reverse, const Step&);

Value* zero_state(Op&, Value* x, std::int64_t units, Value* zero);  // [batch, units] for x of [time, batch, features]
Value* zero_state(Op&, Value* x, std::int64_t units);               // of x's type

// A state that is codes after each step: number = scale * (code - zero point).
struct Rounding {
  double scale = 0, lowest = 0, highest = 0;  // of code - zero point
};

// An LSTM layer of one direction. Gates are in the file's order: input, forget, cell, output; matrices are [units, inputs].
struct Lstm {
  Value* x = nullptr;
  Dim steps = kUnknownDim;
  std::int64_t units = 0, outputs = 0;
  Value *kernels[4] = {}, *recurrent[4] = {}, *biases[4] = {}, *norms[4] = {};  // no input gate: it is 1 - forget gate
  Value* peepholes[3] = {};                                                     // input, forget, output
  Value *projection = nullptr, *projection_bias = nullptr;
  Value *h = nullptr, *c = nullptr;  // null: zeros
  std::optional<Rounding> h_codes = {}, c_codes = {};
  float cell_clip = 0, projection_clip = 0;
  schema::ActivationFunctionType activation = schema::ActivationFunctionType::TANH;
  bool reverse = false;
};

struct Ran {
  Value* y = nullptr;
  Values states = {};  // h, and the cells of an LSTM
};
Ran run(Op&, const Lstm&);

struct Rnn {
  Value* x = nullptr;
  Dim steps = kUnknownDim;
  std::int64_t units = 0;
  Value *kernel = nullptr, *recurrent = nullptr, *bias = nullptr, *h = nullptr;
  schema::ActivationFunctionType activation = schema::ActivationFunctionType::NONE;
  bool reverse = false;
};
Ran run(Op&, const Rnn&);

}  // namespace t2o::tflite
