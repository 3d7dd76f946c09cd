#include "onnx/schema.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "onnx/elem_type.h"
#include "onnx/ort_kernels.h"
#include "onnx/schema_table.h"
// onnx's own
#include <onnx/defs/schema.h>

namespace t2o::onnx {
namespace {

using ::onnx::OpSchema;

std::vector<int> params_of(const std::vector<OpSchema::FormalParameter>& formals, OpInfo& info,
                           bool& variadic) {
  std::vector<int> out;
  for (const auto& f : formals) {
    int found = -1;
    for (std::size_t i = 0; i < info.params.size(); ++i)
      if (info.params[i].name == f.GetTypeStr()) found = static_cast<int>(i);
    out.push_back(found);
    variadic = variadic || f.GetOption() == OpSchema::Variadic;
  }
  return out;
}

std::unique_ptr<OpInfo> make_info(const std::string& op, int opset, int ml_opset, bool for_ort) {
  auto info = std::make_unique<OpInfo>();
  const std::size_t colon = op.rfind("::");
  info->domain = colon == std::string::npos ? "" : op.substr(0, colon);
  info->op = colon == std::string::npos ? op : op.substr(colon + 2);
  const int version = info->domain.empty() ? opset : info->domain == "ai.onnx.ml" ? ml_opset : 1;
  info->schema = find_schema(info->domain, info->op, version);
  if (!info->schema || info->schema->Deprecated()) return nullptr;
  info->since = info->schema->since_version();
  for (const auto& p : info->schema->typeConstraintParams()) {
    OpInfo::TypeParam param{p.type_param_str, DTypeSet{}, DTypeSet{}};
    for (const std::string& t : p.allowed_type_strs)
      if (const DType d = dtype_of_type_string(t.c_str()); d != DType::undefined) param.standard.add(d);
    param.kernels = param.standard;
    if (for_ort)
      if (const auto known = ort_kernel_types(info->domain, info->op, info->since, param.name)) {
        param.kernels = *known;
        if (known->empty() && !param.standard.empty()) info->has_kernel = false;
      }
    info->params.push_back(std::move(param));
  }
  info->input_param = params_of(info->schema->inputs(), *info, info->variadic_input);
  info->output_param = params_of(info->schema->outputs(), *info, info->variadic_output);
  return info;
}

}  // namespace

const OpInfo* op_info(const std::string& op, int opset, int ml_opset, bool for_ort) {
  using Table = std::unordered_map<std::string, std::unique_ptr<OpInfo>>;
  static std::mutex mutex;
  static std::map<std::tuple<int, int, bool>, Table> tables;
  const std::lock_guard lock(mutex);
  Table& table = tables[{opset, ml_opset, for_ort}];
  const auto it = table.find(op);
  if (it != table.end()) return it->second.get();
  return table.emplace(op, make_info(op, opset, ml_opset, for_ort)).first->second.get();
}

const OpInfo* op_info(const std::string& op, const Target& t) {
  return op_info(op, t.opset, t.ml_opset, t.for_ort());
}

DTypeSet kernel_types(const std::string& op, const Target& target) {
  const OpInfo* info = op_info(op, target);
  return info && info->has_kernel ? info->params[0].kernels : DTypeSet{};
}

}  // namespace t2o::onnx
