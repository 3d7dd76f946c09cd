#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "onnx/onnx_pb.h"
#include "onnx/opset_table.h"

namespace t2o::onnx {

namespace pb = ::onnx;

// What a model says besides its graph.
struct ModelInfo {
  Target target = {};
  std::string producer_name = "tf2onnx-cpp";
  std::string producer_version = {};
  std::string doc_string = {};
  std::vector<std::pair<std::string, std::string>> metadata_props = {};  // written sorted by key
  std::vector<std::pair<std::string, int>> extra_opsets = {};  // of domains that the model imports besides
  std::vector<std::pair<std::string, TensorPtr>> input_defaults = {};  // initializers of inputs, which then may be left out
  bool node_metadata = false;  // origin of each node in its metadata_props (IR 10), below that in its doc_string
  bool value_info = false;     // types of the intermediate values too
  int ir_version = 0;          // 0: the target's
  bool verify_ir = true;       // check() looks at the graph's own invariants too: a third of the time of a big graph
};

constexpr std::size_t kSmallTensor = 1024;      // bytes; smaller ones stay where they are: in their subgraph, in the file

struct OpName {
  std::string_view domain, type;                // domain "" is ai.onnx
};
OpName split_op(std::string_view op);           // "com.microsoft::Gelu"

void append_field_start(std::string& out, int field, std::uint64_t length);  // of a field that is a message, bytes or a string

int tensor_proto_type(DType);                   // refuses what ONNX does not have
void set_tensor_header(pb::TensorProto&, const Value& constant);  // all but raw_data

// The model in parts: without its graph, the main graph without its nodes and initializers, and these. The initializers are the
// graph's used constants and the big ones of its subgraphs, which are visible there too; the small ones stay in the subgraph.
struct Skeleton {
  pb::ModelProto model;
  pb::GraphProto graph;
  std::string nodes;  // as fields of the graph, serialized one by one: as messages they would take as much memory as the graph itself
  Values initializers;
};
Skeleton to_skeleton(const ir::Graph&, const ModelInfo&);
void each_node(const ir::Graph&, const ModelInfo&, const std::function<void(const ir::Node&, const pb::NodeProto&)>&);  // of the main graph
pb::ModelProto to_proto(const ir::Graph&, const ModelInfo&);  // with all weights in memory: for small models and tests

// What the types of the graph, and the functions it calls, need. The model may state any version from here to that of the newest opset.
int lowest_ir_version(const ir::Graph&);
int checked_ir_version(const ir::Graph&, const ModelInfo&);   // the wished one; refuses one that is too low or unknown

}  // namespace t2o::onnx
