#include "flatbuffers/flexbuffers.h"
#include "tf/op_builder.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// Custom operators. Those whose name begins with "Flex" are TensorFlow's own, with TensorFlow's own
// description.
namespace t2o::tflite {
namespace {

constexpr std::string_view kFlex = "Flex";

// The options are a list of the operator's name and its NodeDef.
Bytes node_def_of(const Op& op) {
  const auto options = items(op.raw().custom_options());
  std::vector<std::uint8_t> reached;
  if (options.empty() || !flexbuffers::VerifyBuffer(options.data(), options.size(), &reached))
    op.fail(Code::bad_model, "it has no description of the TensorFlow operator");
  const flexbuffers::Reference root = flexbuffers::GetRoot(options.data(), options.size());
  if (!root.IsVector() || root.AsVector().size() < 2 || !root.AsVector()[1].IsString())
    op.fail(Code::bad_model, "it has no description of the TensorFlow operator");
  const flexbuffers::String node = root.AsVector()[1].AsString();
  return std::as_bytes(std::span(node.c_str(), node.size()));
}

Values custom(Op& op) {
  const std::string name = op.lowering().model().custom_name(op.raw());
  if (!name.starts_with(kFlex))
    op.fail(Code::unsupported_op, "this is a custom operator, which only its own runtime knows", "");
  return op.make_from_node_def(node_def_of(op), op.all());
}

constexpr Row kRows[] = {{B::CUSTOM, nullptr, nullptr, custom}};

}  // namespace

std::span<const Row> custom_rows() { return kRows; }

}  // namespace t2o::tflite
