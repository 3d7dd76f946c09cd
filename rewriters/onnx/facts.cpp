#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {

ir::Node* only_reader(const Value* v) {
  const bool one = v->uses().size() == 1 && !v->is_graph_output();
  return one && v->uses()[0].node->graph() == v->graph() ? v->uses()[0].node : nullptr;
}

std::optional<double> number_of(const Value* v) {
  const Tensor* t = v ? v->constant().get() : nullptr;
  return t && t->elements() == 1 && (is_float(t->dtype()) || is_int(t->dtype())) ? std::optional(t->float_at(0)) : std::nullopt;
}

bool is_number(const Value* v, double number) { return number_of(v) == number; }

bool is_scalar_constant(const Value* v) { return is_float(v->dtype()) && number_of(v); }

std::optional<Ints> axes_of(const ir::Node& n) {
  if (const auto* axes = n.attr_if<Ints>("axes")) return *axes;
  const Value* axes = n.input(1);
  return axes && axes->constant() ? std::optional(axes->constant()->to_ints()) : std::nullopt;
}

onnx::DTypeSet kernel_types(const char* op, const onnx::Target& target) {
  const onnx::OpInfo* info = onnx::op_info(op, target.opset, target.ml_opset, target.for_ort());
  return info && info->has_kernel ? info->params[0].kernels : onnx::DTypeSet{};
}

}  // namespace t2o::rewriters
