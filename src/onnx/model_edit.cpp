#include "onnx/model_edit.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <map>
#include <set>
#include <vector>

#include "diagnostics.h"
#include "onnx/altered.h"
#include "onnx/schema_table.h"
#include "onnx/tensor_proto.h"

namespace t2o::onnx {
namespace {

::onnx::ModelProto parse(Bytes bytes, const std::string& source) {
  ::onnx::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(Code::bad_file, source + " is not an ONNX model: it cannot be parsed");
  return model;
}

std::string full_op(const ::onnx::NodeProto& node) {
  const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  return standard ? node.op_type() : node.domain() + "::" + node.op_type();
}

// Every node of the graph and of the graphs inside.
template <class F>
void for_each_node(const ::onnx::GraphProto& graph, F f) {
  std::vector<const ::onnx::GraphProto*> todo = {&graph};
  while (!todo.empty()) {
    const ::onnx::GraphProto* next = todo.back();
    todo.pop_back();
    for (const ::onnx::NodeProto& node : next->node()) {
      f(node);
      for (const ::onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) todo.push_back(&attribute.g());
        for (const ::onnx::GraphProto& g : attribute.graphs()) todo.push_back(&g);
      }
    }
  }
}

}  // namespace

std::vector<ModelNode> model_nodes(Bytes bytes, const std::string& source) {
  const ::onnx::ModelProto model = parse(bytes, source);
  std::vector<ModelNode> nodes;
  for (const ::onnx::NodeProto& node : model.graph().node()) {
    ModelNode& n = nodes.emplace_back();
    n.op = full_op(node);
    n.name = node.name();
    n.outputs.assign(node.output().begin(), node.output().end());
    for (const auto& entry : node.metadata_props()) {
      if (entry.key() == "source_node") n.source_node = entry.value();
      if (entry.key() == "source_op") n.source_op = entry.value();
    }
  }
  return nodes;
}

std::vector<std::pair<std::string, std::string>> metadata(Bytes bytes, const std::string& source) {
  std::vector<std::pair<std::string, std::string>> props;
  const ::onnx::ModelProto model = parse(bytes, source);
  for (const auto& entry : model.metadata_props()) props.emplace_back(entry.key(), entry.value());
  return props;
}

std::map<std::string, ir::Alteration> altered_values(Bytes bytes, const std::string& source) {
  return altered_values(metadata(bytes, source));
}

std::map<std::string, TensorPtr> initializers(Bytes bytes, const std::vector<std::string>& names,
                                              const std::string& source) {
  const std::set<std::string> wanted(names.begin(), names.end());
  const ::onnx::ModelProto model = parse(bytes, source);
  std::map<std::string, TensorPtr> found;
  for (const ::onnx::TensorProto& t : model.graph().initializer()) {
    if (!wanted.contains(t.name()) || t.data_location() == ::onnx::TensorProto::EXTERNAL) continue;
    const std::string serialized = t.SerializeAsString();
    found.emplace(t.name(), parse_tensor(std::as_bytes(std::span(serialized)), source).tensor);
  }
  return found;
}

std::string with_outputs(Bytes bytes, const std::vector<std::string>& values, const std::string& source) {
  ::onnx::ModelProto model = parse(bytes, source);
  std::set<std::string> present;
  for (const auto& output : model.graph().output()) present.insert(output.name());
  for (const std::string& value : values)
    if (present.insert(value).second) model.mutable_graph()->add_output()->set_name(value);
  return model.SerializeAsString();
}

std::string schema_key(Bytes bytes) {
  ::onnx::ModelProto model = parse(bytes, "the model");
  std::map<std::string, int> opsets;
  for (const auto& set : model.opset_import())
    opsets[set.domain() == "ai.onnx" ? "" : set.domain()] = static_cast<int>(set.version());
  std::string versions;
  for_each_node(model.graph(), [&](const ::onnx::NodeProto& node) {
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    const ::onnx::OpSchema* schema = find_schema(domain, node.op_type(), opsets[domain]);
    versions += std::to_string(schema ? schema->SinceVersion() : -opsets[domain]) + " ";
  });
  model.clear_opset_import();
  model.clear_ir_version();
  std::string key;
  {
    google::protobuf::io::StringOutputStream out(&key);
    google::protobuf::io::CodedOutputStream coded(&out);
    coded.SetSerializationDeterministic(true);
    model.SerializeToCodedStream(&coded);
  }
  return versions + key;
}

}  // namespace t2o::onnx
