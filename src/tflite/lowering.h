#pragma once
#include <memory>
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
  bool keep_states = false;  // states that the model changes become inputs and outputs, behind the others
};

struct Lowered {
  GraphPtr graph;  // null: the errors are reported
  std::vector<std::pair<std::string, TensorPtr>> input_defaults;  // the start values of the states
};

// The part of a subgraph that the outputs need, in TensorFlow's operators. Adds all errors to the diagnostics.
Lowered lower(const Model&, const Request&, Diagnostics&);

}  // namespace t2o::tflite
