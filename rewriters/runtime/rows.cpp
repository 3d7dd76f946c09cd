#include "rewriters/runtime/rows.h"

#include "onnx/facts.h"

namespace t2o::rewriters {

Rewriter change_each(std::string name, std::vector<std::string> ops, const onnx::Target& target,
                     int (*change)(ir::Graph&, ir::Node&, const onnx::Target&)) {
  return for_each_node(std::move(name), ops, [ops, target, change](ir::Graph& g, ir::Node& n) {
    return contains(ops, n.op()) ? change(g, n, target) : 0;
  });
}

Rewriter replace_each(std::string name, std::vector<std::string> ops, const onnx::Target& target,
                      Value* (*make)(Emitter&, ir::Node&)) {
  return for_each_node(std::move(name), ops, [ops, target, make](ir::Graph& g, ir::Node& n) {
    Emitter e(n, target);
    Value* y = contains(ops, n.op()) ? make(e, n) : nullptr;
    if (!y) return 0;
    if (y->shape() != n.output()->shape()) g.set_type(y, y->dtype(), n.output()->shape());
    replace_value(g, n.output(), y);
    g.erase(n);
    return 1;
  });
}

bool may_be_empty(const onnx::Target& target, const Value* v) { return onnx::may_be_empty(v, target.strict); }

}  // namespace t2o::rewriters
