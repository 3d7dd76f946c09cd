#pragma once
#include <map>
#include <memory>
#include <string>

#include "diagnostics.h"
#include "formats/source.h"
#include "ir/model.h"
#include "onnx/opset_table.h"
#include "op_mappers/conversion_registry.h"
#include "rewriters/runtime/table.h"
#include "tf2onnx/options.h"

namespace t2o::onnx {
struct Written;
}

namespace t2o {

class Meter;

using Options = tf2onnx::Options;

struct Conversion {
  ir::Model model;          // the ONNX graphs, one for each signature; none when there are errors
  bool is_several = false;  // the options name several signatures, even if one of them is left: each gets a file of its own
  GraphPtr source_graph;    // the TensorFlow graph that the model was mapped from; null if is_several
  onnx::Target target;
  std::vector<runtime::Uses> runtime_uses;  // of each graph: the rows of the runtime's table that it needed
  std::vector<std::pair<std::string, int>> extra_opsets;  // opsets of other domains that the model imports
  Diagnostics diagnostics;  // errors, warnings and notes, in the order of the source's nodes
  std::vector<std::string> source_files;  // beside the model, which the weights are read from
  std::shared_ptr<const FrozenModel> frozen;  // for options.output_frozen_graph; else null
  bool ok() const { return !model.graphs.empty(); }
  GraphPtr graph() const { return ok() ? model.graphs.front().graph : nullptr; }
};

// Reads, rewrites, maps and checks a model, for each signature that the options name. Never throws: the diagnostics hold all errors.
// Reports each stage to the meter.
Conversion convert(const Options&, Meter* = nullptr);
// Reads a GraphDef from memory instead of options.model. The caller owns the bytes; they must live as long as the
// Conversion.
Conversion convert(const Options&, Bytes model_bytes);

// Converts a graph of dialect "tf". The conversion changes this graph.
Conversion convert(const Options&, GraphPtr source_graph);

// The graph of an opened model before any rewriter has run; its unknown sizes have names.
Prepared prepare_source(const Source&, const Options&, Diagnostics&);

// What a conversion would do with a model, without writing it (for `info`).
struct Inspection {
  std::vector<ModelSignature> signatures;
  std::map<std::string, std::size_t> file_ops;  // of the file, if no graph can be made of it
  GraphPtr source;                         // the prepared graph, rewritten; null: the errors are reported
  std::size_t nodes = 0;                   // of the prepared graph
  std::map<std::string, std::size_t> ops;  // of the prepared graph and the graphs inside of it
  GraphPtr exported;                       // null: there are refusals
  Diagnostics refusals;                    // errors of the mapping
  std::vector<std::pair<const ir::Node*, Way>> without_way;  // nodes of `source`
};
Inspection inspect(const Options&, Diagnostics&);

// Write the model to files (output_files) or its only graph to bytes, and with it the frozen graph. The files appear atomically,
// together with the .data file if the options ask for one, or the size or several signatures need one. Never throw.
Diagnostics write_model(const Conversion&, const Options&, const std::string& path, onnx::Written* = nullptr,
                        Meter* = nullptr);
Diagnostics write_model_bytes(const Conversion&, const Options&, std::string& bytes);

}  // namespace t2o
