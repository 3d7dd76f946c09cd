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
  GraphPtr source_graph;    // the one it was mapped from
  onnx::Target target;
  std::vector<std::pair<std::string, int>> extra_opsets;  // that the model imports besides
  std::vector<std::pair<std::string, TensorPtr>> input_defaults;  // of inputs that may be left out
  Diagnostics diagnostics;  // errors, warnings and notes, in the order of the source's nodes
  std::shared_ptr<const tf::FrozenGraph> frozen;  // for options.output_frozen_graph; else null
  std::string source;       // what was read, for the model's metadata: "saved_model", signature, producer version
  bool ok() const { return graph != nullptr; }
};

// Reads, rewrites, maps, checks. Never throws: what goes wrong is in the diagnostics.
// The meter is told of the stages.
Conversion convert(const Options&, Meter* = nullptr);
Conversion convert(const Options&, Bytes model_bytes);   // a GraphDef in memory instead of options.model; it stays the caller's,
                                                         // and must live as long as the conversion

// The same from a graph of TensorFlow's dialect. It is changed on its way.
Conversion convert(const Options&, GraphPtr source_graph);

// Reads and prepares alone: the TensorFlow graph as the mappers would see it (for `info`).
GraphPtr read_source(const Options&, Diagnostics&);

// Writes the file (atomically; with its .data file when asked or needed) or the bytes, and with them the frozen graph. Never
// throws.
Diagnostics write_model(const Conversion&, const Options&, const std::string& path, onnx::Written* = nullptr,
                        Meter* = nullptr);
Diagnostics write_model_bytes(const Conversion&, const Options&, std::string& bytes);

}  // namespace t2o
