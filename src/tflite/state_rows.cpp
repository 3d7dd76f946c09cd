#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// Variables.
namespace t2o::tflite {
namespace {

using namespace schema;

Values var_handle(Op& op) {
  const auto& o = op.options<VarHandleOptions>();
  op.bind_handle(0, op.lowering().states().of_variable(text(o.container()), text(o.shared_name())));
  return {nullptr};
}

Values read_variable(Op& op) {
  Lowering& l = op.lowering();
  const Slot now = l.states().read(op.scope(), op.state(0));
  if (now.codes && op.output_quantization() == now.quantization) {
    op.as_codes(true);
    return {op.make("Identity", {now.codes})};
  }
  const std::string& name = l.states().name(op.state(0));
  Value* v =
      now.numbers ? now.numbers : l.dequantize(*op.scope().graph, now.codes, *now.quantization, {name});
  return {op.make("Identity", {v})};
}

Values assign_variable(Op& op) {
  Lowering& l = op.lowering();
  const std::int64_t t = op.input_index(1);
  const auto q = l.quantization(op.scope(), t);
  Value* v = op.codes(1);
  const DType type = op.input_type(1);
  Slot slot;
  (q ? slot.codes : slot.numbers) = v;
  l.states().write(op.scope(), op.state(0), slot, {type, q, v->dtype() == type ? v->constant() : nullptr});
  return {};
}

Values call_once(Op& op) {
  if (op.scope().graph->parent())
    op.fail(Code::not_yet, "it initializes variables in a loop or a branch, which is not supported yet");
  op.lowering().initialize(op.scope(), op.options<CallOnceOptions>().init_subgraph_index());
  return {};
}

constexpr Row kRows[] = {
    {B::ASSIGN_VARIABLE, nullptr, nullptr, assign_variable},
    {B::CALL_ONCE, nullptr, nullptr, call_once},
    {B::READ_VARIABLE, nullptr, nullptr, read_variable},
    {B::VAR_HANDLE, nullptr, nullptr, var_handle},
};

}  // namespace

std::span<const Row> state_rows() { return kRows; }

}  // namespace t2o::tflite
