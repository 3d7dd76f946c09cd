#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "onnx/opset_table.h"
#include "rewriters/runtime/table.h"

namespace t2o {

// A Transpose that is left, and what holds it there.
struct TransposeReport {
  enum class Kind : std::uint8_t {
    interface,  // an input or output of the model is in one order, an operator works in the other
    operators,  // two operators work in different orders
    model,      // the model's own, and no operator near it is bound to where channels are
  };

  std::string node;
  Origin source;
  Ints perm;  // empty: the axes reversed
  Kind kind = Kind::model;
  std::string
      from;         // what holds the tensor before it in its order, "Conv 'block1/conv'"; empty: nothing does
  std::string to;   // the same of the tensor behind it
  std::string why;  // of such Transposes in general, without names
};
std::string_view name(TransposeReport::Kind);

// A row of the runtime's table that a graph needed.
struct RuntimeRowReport {
  std::string row, kind, why;
  int uses = 0;  // places where it changed the graph, or operators that it forbade
};

// How an ONNX graph came out, its subgraphs with it.
struct GraphReport {
  std::size_t nodes = 0, loops = 0;  // loops: Loop and Scan
  std::uint64_t weight_bytes = 0;
  std::vector<std::pair<std::string, std::size_t>> operators;  // the most frequent first
  std::vector<TransposeReport> transposes;
  std::vector<RuntimeRowReport> runtime_rows;
};
GraphReport report_on(const ir::Graph&, const onnx::Target&, const runtime::Uses& = {});

}  // namespace t2o
