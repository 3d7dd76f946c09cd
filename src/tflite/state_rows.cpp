#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// Variables.
namespace t2o::tflite {
namespace {

using namespace schema;

Values var_handle(Op& op) {
  const auto& o = op.options<VarHandleOptions>();
  const std::size_t id = op.lowering().state_named(Lowering::variable_key(o), text(o.shared_name()));
  op.scope().slots[op.output_index(0)].variable = static_cast<std::int64_t>(id);
  return op.done();
}

Values read_variable(Op& op) {
  op.input(0);
  op.lowering().read_variable(op.scope(), op.input_index(0), static_cast<std::int64_t>(op.output_index(0)));
  return op.done();
}

Values assign_variable(Op& op) {
  op.input(1);
  op.lowering().assign_variable(op.scope(), op.input_index(0), op.input_index(1));
  return op.done();
}

// The subgraph gives variables their start values, and runs before anything else.
Values call_once(Op& op) {
  op.lowering().start(op.scope(), op.options<CallOnceOptions>().init_subgraph_index());
  return op.done();
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
