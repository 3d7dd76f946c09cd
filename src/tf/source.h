#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diagnostics.h"
#include "tf/concrete_function.h"
#include "tf/import.h"
#include "tf/meta_graph.h"
#include "tf2onnx/options.h"

namespace t2o::tf {

// A TensorFlow model, opened: the graph, where it has its variables from, and what it says of its own
// interface.
struct Source {
  std::string kind;  // "saved_model", "meta_graph", "graph_def"
  std::string path;
  GraphDef graph;
  std::vector<Signature> signatures;   // by name, without TensorFlow's own (__saved_model_init_op ...)
  std::optional<Signature> signature;  // the chosen one; its inputs in the order of the function's arguments
  std::function<TensorPtr(const VariableRef&)> variable;  // the checkpoint stays open as long as this lives
  Strings tags;
  std::string tensorflow_version;  // of the producer
  std::vector<Asset> assets;       // files in `path`/assets
  Bytes object_graph;              // of a SavedModel of TensorFlow 2; graph.owner keeps it alive
  std::function<ObjectNodes()> object_nodes;
  ConcreteCall call;               // of options.concrete_function; its nodes are part of the graph already
};

// Fail with a ConversionError: bad_file, bad_option, not_yet. look_into opens a model; choose takes the signature or the concrete
// function of the options, or another signature later. open_source does both. `owner` keeps a serialized GraphDef alive.
Source look_into(const tf2onnx::Options&);
Source look_into(const tf2onnx::Options&, Bytes graph_def, Owner owner);
void choose(Source&, const tf2onnx::Options&);
Source open_source(const tf2onnx::Options&);
std::string file_of(const tf2onnx::Options&);  // the one that holds the graph: saved_model.pb of a SavedModel

// What is to be converted: the tensors of options.inputs and outputs, named by signature key or graph name;
// else those of the signature; else find_interface. Names of the graph's inputs and outputs are the
// signature's keys, unless a tensor was given by its graph name or options.use_graph_names is set;
// rename_inputs and rename_outputs go before all. All that is wrong with the options is told.
ImportRequest make_request(const Source&, const tf2onnx::Options&, Diagnostics&);

}  // namespace t2o::tf
