#include "rewriters/onnx/steps.h"

#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {

std::optional<Steps> Steps::view(ir::Node& n) {
  const auto* body = n.op() == "Loop" ? n.attr_if<GraphPtr>("body") : nullptr;
  if (!body || n.input_count() < 2 || (*body)->inputs().size() != n.input_count() ||
      (*body)->outputs().size() != n.outputs().size() + 1 || n.outputs().size() + 2 < n.input_count())
    return std::nullopt;
  return Steps(n, **body);
}

bool Steps::is_counter(std::size_t state) const {
  const ir::Node* next = after(state)->producer();
  if (!is_op(next, "Add") || !is_int(before(state)->dtype()) || !is_number(initial(state), 0)) return false;
  const std::size_t one = next->input(0) == before(state) ? 1 : 0;
  return next->input(1 - one) == before(state) && is_number(next->input(one), 1) &&
         next->output()->shape() == Shape::scalar();
}

bool Steps::is_step(const Value* v) const {
  if (v == body_->inputs()[0]) return true;
  for (std::size_t i = 0; i < states(); ++i)
    if (v == before(i)) return is_counter(i);
  return false;
}

Value* Steps::seen_from(Emitter& around, Value* v) const {
  return v->graph() == body_ ? around.constant(v->constant()) : v;
}

Value* Steps::rows_of(const ir::Node& n) const {
  if (n.op() != "Gather" || n.attr_or<std::int64_t>("axis", 0) != 0 || !is_outside(n.input(0)) ||
      !is_step(n.input(1)))
    return nullptr;
  return n.input(0)->shape().ranked() && n.output()->shape().ranked() ? n.input(0) : nullptr;
}

}  // namespace t2o::rewriters
