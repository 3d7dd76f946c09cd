#include "onnx/emitter.h"
#include "rewriters/portable/rows.h"

// IsNaN(x) = not x == x. A comparison with "or equal" is the negation of the other one, but not of NaN, of
// which every comparison is false: of floats it is a comparison and an Equal.
namespace t2o::rewriters {
namespace {

Value* plain(Emitter& e, const ir::Node& n) {
  if (n.op() == "IsNaN") return e.logical_not(e.equal(n.input(0), n.input(0)));
  Value *a = n.input(0), *b = n.input(1);
  if (n.op() == "LessOrEqual") std::swap(a, b);
  if (!is_float(a->dtype())) return e.logical_not(e.less(a, b));
  Value* greater = e.greater(a, b);
  return e.logical_or(greater, e.equal(a, b));
}

}  // namespace

Rewriter plain_comparisons(const onnx::Target& target) {
  return for_each_node("plain_comparisons", {"IsNaN", "GreaterOrEqual", "LessOrEqual"},
                       [target](ir::Graph& g, ir::Node& n) {
                         if (!contains({"IsNaN", "GreaterOrEqual", "LessOrEqual"}, n.op())) return false;
                         if (n.op() != "IsNaN" && target.opset < 16) return false;
                         Emitter e(n, target);
                         return take_over(g, n.output(), plain(e, n));
                       });
}

}  // namespace t2o::rewriters
