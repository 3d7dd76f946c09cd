#include "onnx_checker.h"

#include <onnx/defs/operator_sets.h>
#include <onnx/defs/operator_sets_ml.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

// <onnx/checker.h>, whose place one of our own headers takes.
namespace onnx::checker {
void check_model(const ModelProto& model, bool full_check, bool skip_opset_compatibility_check, bool check_custom_domain);
}

namespace t2o::numeric {

std::string onnx_checker_problem(const std::string& model) {
  static const bool registered = [] {  // the library that the program is linked with registers nothing by itself
    if (::onnx::OpSchemaRegistry::Schema("Relu")) return true;
    ::onnx::RegisterOnnxOperatorSetSchema();
    ::onnx::RegisterOnnxMLOperatorSetSchema();
    return true;
  }();
  static_cast<void>(registered);
  ::onnx::ModelProto proto;
  if (!proto.ParseFromString(model)) return "the model cannot be parsed";
  try {
    ::onnx::checker::check_model(proto, /*full_check=*/true, false, false);
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace t2o::numeric
