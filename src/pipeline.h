#pragma once
#include <memory>
#include <string>

#include "diagnostics.h"
#include "ir/graph.h"
#include "onnx/opset_table.h"
#include "tf2onnx/options.h"

namespace t2o::onnx {
struct Written;
}
namespace t2o::tf {
struct FrozenGraph;
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
  std::shared_ptr<const tf::FrozenGraph> frozen;  // for options.output_frozen_graph; else null
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

// Only reads and imports: returns the TensorFlow graph before the rewriters (for `info`).
GraphPtr read_source(const Options&, Diagnostics&);

// Write the model to a file or to bytes, and with it the frozen graph. The file appears atomically, together with its
// .data file if the options ask for one or the size needs one. Never throw.
Diagnostics write_model(const Conversion&, const Options&, const std::string& path, onnx::Written* = nullptr,
                        Meter* = nullptr);
Diagnostics write_model_bytes(const Conversion&, const Options&, std::string& bytes);

}  // namespace t2o
