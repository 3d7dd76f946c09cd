#include "onnx/layout_functions.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>

#include "onnx/image_layout.h"
#include "onnx/schema_table.h"

namespace t2o::onnx {
namespace {

namespace pb = ::onnx;

struct Row {
  std::string_view op;
  int lowest_rank, highest_rank;
};

// Those whose first input and first output are images; all other inputs and all attributes mean what they
// mean in ONNX.
constexpr std::array<Row, 12> kRows = {{{"AveragePool", 3, 5},
                                        {"BatchNormalization", 3, 5},
                                        {"Conv", 3, 5},
                                        {"ConvTranspose", 3, 5},
                                        {"DepthToSpace", 4, 4},
                                        {"GlobalAveragePool", 3, 5},
                                        {"GlobalMaxPool", 3, 5},
                                        {"InstanceNormalization", 3, 5},
                                        {"LRN", 4, 4},
                                        {"MaxPool", 3, 5},
                                        {"Resize", 3, 5},
                                        {"SpaceToDepth", 4, 4}}};

const Row* find_row(std::string_view op) {
  const auto* it = std::ranges::find_if(kRows, [&](const Row& r) { return r.op == op; });
  return it == kRows.end() ? nullptr : it;
}

// "Conv1D" is Conv of images with one spatial axis.
std::pair<std::string, int> op_and_rank(std::string_view function) {
  if (function.ends_with("1D") || function.ends_with("3D"))
    return {std::string(function.substr(0, function.size() - 2)), function[function.size() - 2] - '0' + 2};
  return {std::string(function), 4};
}

void add_transpose(pb::FunctionProto& f, const std::string& from, const std::string& to, const Ints& perm) {
  pb::NodeProto& n = *f.add_node();
  n.set_op_type("Transpose");
  n.set_name(to);
  n.add_input(from);
  n.add_output(to);
  pb::AttributeProto& a = *n.add_attribute();
  a.set_name("perm");
  a.set_type(pb::AttributeProto::INTS);
  a.mutable_ints()->Add(perm.begin(), perm.end());
}

}  // namespace

std::optional<std::string> channels_last_function(std::string_view onnx_op, int rank) {
  const Row* row = find_row(onnx_op);
  if (!row || rank < row->lowest_rank || rank > row->highest_rank) return std::nullopt;
  std::string name = std::string(kChannelsLastDomain) + "::" + std::string(onnx_op);
  if (rank != 4) name += std::to_string(rank - 2) + "D";
  return name;
}

bool is_channels_last_function(std::string_view op) {
  return op.size() > kChannelsLastDomain.size() && op.starts_with(kChannelsLastDomain) &&
         op[kChannelsLastDomain.size()] == ':';
}

void define_channels_last(pb::FunctionProto& f, std::string_view function, const Target& target) {
  const auto [op, rank] = op_and_rank(function);
  const pb::OpSchema* schema = find_row(op) ? find_schema("", op, target.opset) : nullptr;
  if (!schema) fail(Code::internal, "there is no channels-last function '" + std::string(function) + "'");
  f.set_domain(std::string(kChannelsLastDomain));
  f.set_name(std::string(function));
  f.set_doc_string("ONNX " + op + " of an image whose channels are its last axis, instead of its second.");
  pb::OperatorSetIdProto& import = *f.add_opset_import();
  import.set_domain("");
  import.set_version(target.opset);

  const std::string first = "channels_first_input", result = "channels_first_output";
  for (const auto& input : schema->inputs()) f.add_input(input.GetName());
  f.add_output(schema->outputs().front().GetName());
  add_transpose(f, f.input(0), first, channels_first_perm(rank));
  pb::NodeProto& n = *f.add_node();
  n.set_op_type(op);
  n.set_name(op);
  n.add_input(first);
  for (int i = 1; i < f.input_size(); ++i) n.add_input(f.input(i));
  n.add_output(result);
  for (const auto& [name, attribute] :
       schema->attributes()) {  // in the order of their names; one that a call leaves out is left out
    f.add_attribute(name);
    pb::AttributeProto& a = *n.add_attribute();
    a.set_name(name);
    a.set_ref_attr_name(name);
    a.set_type(attribute.type);
  }
  add_transpose(f, result, f.output(0), channels_last_perm(rank));
}

}  // namespace t2o::onnx
