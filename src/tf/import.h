#pragma once
#include <functional>
#include <string>
#include <vector>

#include "diagnostics.h"
#include "ir/graph.h"
#include "tf/graph_def.h"

namespace t2o::tf {

struct Feed {
  std::string tensor;              // "X" or "X:0"; the graph is cut at this tensor
  std::string name = {};           // name of the graph input; if empty, `tensor`
  DType dtype = DType::undefined;  // if undefined, the graph's
  Shape shape = {};
  bool shape_given = false;  // the user gave `shape`; it overrides the graph's
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

// A variable that the model changes. It becomes an input and an output of the graph.
struct State {
  std::string input, output;  // names; the output's is the input's with the suffix "_out"
  TensorPtr initial;          // the variable's value before the first run
};

// Relates the inputs and outputs of an imported graph to the source.
struct Interface {
  std::vector<std::string> inputs, outputs;  // for each input and output its tensor in the source; "" for that of a state
  std::vector<State> states;
};

struct ImportRequest {
  std::vector<Feed> feeds;
  std::vector<Fetch> fetches;
  // Inputs of the signature that the user left out of --inputs. If the outputs need one of them all the same, it becomes an
  // input with this name and shape.
  std::vector<Feed> spare_feeds;
  std::function<TensorPtr(const VariableRef&)> variable;  // returns its value, or null if the source has none
  std::vector<std::string> use_default, ignore_default;   // names of PlaceholderWithDefault nodes
  // Set if the user cuts at tensors inside of functions. The import then uses the whole interface (feeds and fetches), and
  // cuts the imported graph at these tensors afterwards.
  std::vector<Feed> cut_inputs;
  std::vector<Fetch> cut_outputs;
  bool cuts_inside() const { return !cut_inputs.empty() || !cut_outputs.empty(); }
  bool inputs_renamed = false;   // --rename-inputs is set, so --inputs does not accept the names of the graph's inputs
  bool keep_state = false;       // variables that the model changes become inputs and outputs (State); else the change is lost
  bool find_interface = false;  // take the needed placeholders if feeds is empty, and the graph's sinks if fetches is empty
  std::vector<std::string> input_names, output_names;  // names for the inputs and outputs that are found; empty: their own
};

// Imports the part of the graph that the fetches need, as a graph of dialect "tf". Inlines functions, freezes variables,
// removes pass-through ops and fills in default attributes. If, While and Case keep their branches as subgraphs. Adds all
// errors to the diagnostics, and returns null if there are any.
GraphPtr import_graph(const GraphDef&, const ImportRequest&, Diagnostics&, Interface* = nullptr);

}  // namespace t2o::tf
