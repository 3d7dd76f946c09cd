#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tflite/model.h"

namespace t2o::tflite {

// Where the graph begins or ends.
struct Port {
  std::int64_t tensor = 0;  // of the subgraph
  std::string name;         // of the graph's input or output
  Shape shape = {};         // of an input
};

struct Request {
  std::size_t subgraph = 0;
  std::vector<Port> inputs, outputs;
  bool keep_state = false;  // states that the model changes become inputs and outputs
  std::set<std::string> custom_ops = {};  // kept as they are
  bool dequantize = false;  // all that is quantized becomes floats
};

// The graph's last inputs and outputs belong to states.
struct Lowered {
  GraphPtr graph;  // null: there are errors in the diagnostics
  std::vector<std::pair<std::string, TensorPtr>> initial = {};  // by input
};

// The part of a subgraph that the outputs need, in TensorFlow's operators. Adds all errors to the diagnostics.
Lowered lower(const Model&, const Request&, Diagnostics&);

}  // namespace t2o::tflite
