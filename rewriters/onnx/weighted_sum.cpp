
#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/few_levels.h"
#include "rewriters/runtime/table.h"

// The sum over the last axis of x * w, where w is constant along the other axes, as additive attention scores
// its keys, is a product with a vector, or with a matrix of one column. It makes no tensor of all the
// products.
namespace t2o::rewriters {
namespace {

// [d, 1] of a constant [1, ..., d] that meets all of the last axis of x; null: it is another.
TensorPtr column(const Value* w, const Shape& x) {
  const TensorPtr& t = w->constant();
  const Dim d = x[x.rank() - 1];
  if (!t || t->rank() < 1 || t->rank() > x.rank() || !is_known(d) || d < 1) return nullptr;
  return t->elements() == d && t->dims().back() == d ? t->with_dims({d, 1}) : nullptr;
}

bool sums_last_axis(const ir::Node& n, int rank) {
  const auto axes = axes_of(n);
  return axes && axes->size() == 1 && ((*axes)[0] == -1 || (*axes)[0] == rank - 1);
}

int fuse(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  ExactSums sums;
  const onnx::DTypeSet kernels = kernel_types("MatMul", target);
  for (ir::Node* n = g.first(); n; n = n->next()) {
    ir::Node* sum = n->op() == "Mul" ? only_reader(n->output()) : nullptr;
    if (!is_op(sum, "ReduceSum") || sum->input(0) != n->output()) continue;
    const std::size_t at = n->input(0)->constant() ? 0 : 1;
    Value* x = n->input(1 - at);
    const bool is_real = x->dtype() == DType::f32 || x->dtype() == DType::f64;
    if (!is_real || !kernels.has(x->dtype()) || !x->shape().ranked() || x->shape().rank() < 2 ||
        x->constant())
      continue;
    const TensorPtr w = column(n->input(at), x->shape());
    if (!w || !sums_last_axis(*sum, x->shape().rank())) continue;
    // where each product is rounded, equal ones cancel
    if (has_few_numbers(*w) && sums.need(x, sum->output(), w->to_floats())) continue;
    Emitter e(*sum, target);
    const bool keeps_axis = sum->attr_or<std::int64_t>("keepdims", 1) != 0;
    const bool is_column = keeps_axis || runtime::needs(target, "column_products");
    Value* y = e.matmul(x, e.constant(is_column ? w : w->with_dims({w->elements()})));
    if (is_column && !keeps_axis) y = e.squeeze(y, {x->shape().rank() - 1});
    replace_value(g, sum->output(), y);
    ++changes;
  }
  return changes;
}

}  // namespace

Rewriter weighted_sum(const onnx::Target& target) {
  return {"weighted_sum", [target](ir::Graph& g) { return fuse(g, target); }, {"ReduceSum"}};
}

}  // namespace t2o::rewriters
