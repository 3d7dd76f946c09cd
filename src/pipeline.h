#pragma once
#include <map>
#include <memory>
#include <string>

#include "diagnostics.h"
#include "formats/source.h"
#include "ir/graph.h"
#include "onnx/opset_table.h"
#include "op_mappers/conversion_registry.h"
#include "tf2onnx/options.h"

namespace t2o::onnx {
struct Written;
}

namespace t2o {

class Meter;

using Options = tf2onnx::Options;

struct Conversion {
  GraphPtr graph;           // the ONNX graph; null when there are errors
  GraphPtr source_graph;    // the TensorFlow graph that it was mapped from
  onnx::Target target;
  std::vector<std::pair<std::string, int>> extra_opsets;  // opsets of other domains that the model imports
  std::vector<std::pair<std::string, TensorPtr>> input_defaults;  // values of inputs that the caller may leave out
  Diagnostics diagnostics;  // errors, warnings and notes, in the order of the source's nodes
  std::shared_ptr<const FrozenModel> frozen;  // for options.output_frozen_graph; else null
  std::string source;       // a description of the source for the model's metadata: kind, signature, producer version
  bool ok() const { return graph != nullptr; }
};

// Reads, rewrites, maps and checks a model. Never throws: the diagnostics hold all errors. Reports each stage to
// the meter.
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
  GraphPtr source;                         // the prepared graph, rewritten; null: the errors are reported
  std::size_t nodes = 0;                   // of the prepared graph
  std::map<std::string, std::size_t> ops;  // of the prepared graph and the graphs inside of it
  GraphPtr exported;                       // null: there are refusals
  Diagnostics refusals;                    // errors of the mapping
  std::vector<std::pair<const ir::Node*, Way>> without_way;  // nodes of `source`
};
Inspection inspect(const Options&, Diagnostics&);

// Write the model to a file or to bytes, and with it the frozen graph. The file appears atomically, together with its
// .data file if the options ask for one or the size needs one. Never throw.
Diagnostics write_model(const Conversion&, const Options&, const std::string& path, onnx::Written* = nullptr,
                        Meter* = nullptr);
Diagnostics write_model_bytes(const Conversion&, const Options&, std::string& bytes);

}  // namespace t2o
