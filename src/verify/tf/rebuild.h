#pragma once
#include <map>
#include <string>

#include "engines/tensorflow.h"
#include "ir/graph.h"

namespace t2o::verify {

// A graph of dialect "tf" handed to TensorFlow, so that every tensor in it can be fetched, also those that
// came from functions.
struct Rebuilt {
  engines::TfGraph graph;
  std::map<std::string, std::string> tensors;  // value's name -> tensor in `graph`
  std::size_t left_out = 0;                    // nodes that cannot be handed over, and all that depends on them
};
Rebuilt rebuild(const ir::Graph& source, const std::string& library);

}  // namespace t2o::verify
