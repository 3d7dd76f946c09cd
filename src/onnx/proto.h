#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/model.h"
#include "onnx/onnx_pb.h"
#include "onnx/opset_table.h"

namespace t2o::onnx {

namespace pb = ::onnx;

// How a model is written.
struct WriteOptions {
  Target target = {};
  std::vector<std::pair<std::string, int>> extra_opsets = {};  // opsets of other domains that the model imports
  bool node_metadata = false;  // writes each node's origin into its metadata_props, or below IR version 10 into its doc_string
  bool value_info = false;     // writes the types of the intermediate values too
  int ir_version = 0;          // 0: the target's
  bool verify_ir = true;       // check() also checks the graph's invariants, which takes a third of its time for a big graph
};

constexpr std::size_t kSmallTensor = 1024;      // bytes; a smaller tensor stays in its subgraph, and in the file instead of in the .data file

struct OpName {
  std::string_view domain, type;                // domain "" is ai.onnx
};
OpName split_op(std::string_view op);           // "com.microsoft::Gelu"

void append_field_start(std::string& out, int field, std::uint64_t length);  // of a field that is a message, bytes or a string

int tensor_proto_type(DType);                   // refuses types that ONNX does not have
void set_tensor_header(pb::TensorProto&, const Value& constant);  // all but raw_data

// The model in parts: the model without its graph, the main graph without its nodes and initializers, the nodes, and the
// initializers. The initializers are the graph's used constants and the big constants of its subgraphs, which can read them from
// there; small constants stay in the subgraph.
struct Skeleton {
  pb::ModelProto model;
  pb::GraphProto graph;
  std::string nodes;  // serialized one by one as fields of the graph, because messages would take as much memory as the graph itself
  Values initializers;
};
Skeleton to_skeleton(const ir::Model&, const ir::ModelGraph&, const WriteOptions&);  // of one graph of the model
void each_node(const ir::Graph&, const WriteOptions&, const std::function<void(const ir::Node&, const pb::NodeProto&)>&);  // of the main graph
pb::ModelProto to_proto(const ir::Model&, const WriteOptions&);  // the first graph, with all weights in memory: for small models and tests

// The lowest IR version that has the graph's types, and functions if it calls any. The model may state any version from this one to
// that of the newest opset.
int lowest_ir_version(const ir::Graph&);
int checked_ir_version(const ir::Graph&, const WriteOptions&);   // the requested one; refuses a version that is too low or unknown

}  // namespace t2o::onnx
