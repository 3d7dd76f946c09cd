#pragma once
#include "rewriters/tf/recurrent_loop.h"

namespace t2o::rewriters {

// A recurrent layer in TensorFlow's terms: t2o.LSTM, t2o.GRU or t2o.RNN.
//   inputs   x [time, batch, features], mask (lengths [batch] or bool [time, batch]), then for each
//   direction a block:
//            initial states, and for each gate in ONNX's order: kernels [features, units], recurrent kernels
//            [units, units], biases [units]; then peepholes i o f (LSTM), recurrent bias of the candidate
//            (GRU). All but x and kernels may be missing.
//   outputs  for each direction: y [time, batch, units], the last states, the output of the last step
// The reverse direction reads x from its end, y is in the order of x.
struct LayerBlock {
  static std::size_t states(std::string_view op) { return op == "t2o.LSTM" ? 2 : 1; }
  static std::size_t gates(std::string_view op) { return op == "t2o.LSTM" ? 4 : op == "t2o.GRU" ? 3 : 1; }
  static std::size_t extras(std::string_view op) { return op == "t2o.LSTM" ? 3 : op == "t2o.GRU" ? 1 : 0; }
  static std::size_t inputs(std::string_view op) { return states(op) + 3 * gates(op) + extras(op); }
  static std::size_t outputs(std::string_view op) { return states(op) + 2; }
};

// Puts the layers in the loop's place; the loop is left without readers.
void build_layers(const RecurrentLoop& r);

}  // namespace t2o::rewriters
