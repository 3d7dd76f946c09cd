#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "diagnostics.h"
#include "ir/graph.h"
#include "tf/graph_def.h"

namespace t2o::tf {

struct Feed {
  std::string tensor;              // "X", "X:0": the graph is cut there
  std::string name = {};           // of the graph input; empty: the tensor's, as written above
  DType dtype = DType::undefined;  // undefined: as the graph says
  Shape shape = {};                // what the user says goes before what the graph says
  bool shape_given = false;
};

struct Fetch {
  std::string tensor;
  std::string name = {};
};

struct VariableRef {
  std::string node, shared_name, container, op;
  DType dtype = DType::undefined;
  Shape shape = {};
};

// A variable that the model changes, as an input of the graph and an output.
struct State {
  std::string input, output;  // the output's name is the input's, with "_out" behind
  TensorPtr initial;          // the variable's value before the first run
};

// What an imported graph has to do with the source.
struct Interface {
  std::vector<std::string> inputs, outputs;  // the tensors that its inputs and outputs are, in their order; "": a state's
  std::vector<State> states;
};

struct ImportRequest {
  std::vector<Feed> feeds;
  std::vector<Fetch> fetches;
  std::vector<Feed> spare_feeds;  // the signature's inputs that are not asked for: what the outputs need of them, they name
  std::function<TensorPtr(const VariableRef&)> variable;  // its value; null when there is none
  std::vector<std::string> use_default, ignore_default;   // PlaceholderWithDefault nodes by name
  std::vector<Feed> cut_inputs;    // when some of them are inside of functions: feeds and fetches are then the whole interface,
  std::vector<Fetch> cut_outputs;  // and the imported graph is cut at these
  bool cuts_inside() const { return !cut_inputs.empty() || !cut_outputs.empty(); }
  bool inputs_renamed = false;   // their names are not those by which they can be asked for
  bool keep_state = false;       // the variables that the model changes are handed on, see State; else a change is lost
  bool find_interface = false;  // where feeds or fetches are empty: placeholders and sinks
  std::vector<std::string> input_names, output_names;  // of those that are found, in their order; empty: their own
};

// The part of the graph that the fetches need, as a graph of dialect "tf": functions inlined, variables
// frozen, pass-through ops gone, default attributes filled in. If, While and Case keep their branches as
// subgraphs. Null when there are errors, which are all in the diagnostics.
GraphPtr import_graph(const GraphDef&, const ImportRequest&, Diagnostics&, Interface* = nullptr);

}  // namespace t2o::tf
