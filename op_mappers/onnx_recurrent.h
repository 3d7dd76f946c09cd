#pragma once
#include "op_mappers/context.h"
#include "tfgraph/internal_ops.h"

// ONNX's LSTM, GRU and RNN: functions that the mappers of TensorFlow's recurrent layers and of cuDNN's share.
namespace t2o::op_mappers {

struct OnnxRecurrent {  // its inputs; all but the first three may be missing
  Value *x = nullptr, *kernels = nullptr, *recurrent_kernels = nullptr;
  Value *biases = nullptr, *lengths = nullptr, *h = nullptr, *c = nullptr, *peepholes = nullptr;
};

// Returns y [time, directions, batch, units] and the last states. If no activations are given, ONNX's defaults apply.
Values emit_recurrent(Emitter&, const tfgraph::RecurrentLayer&, const OnnxRecurrent&);

// Stacks make(d) of all directions on a new first axis.
template <class Make>
Value* per_direction(Emitter& e, std::size_t directions, const Make& make) {
  Values all;
  for (std::size_t d = 0; d < directions; ++d) all.push_back(e.unsqueeze(make(d), {0}));
  return all.size() == 1 ? all[0] : e.concat(all, 0);
}

}  // namespace t2o::op_mappers
