#include <limits>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/portable/rows.h"

// A recurrent layer that runs backwards is one that runs forwards over the reversed steps; its results are
// reversed too, but for the last states. With lengths of its own each row would be reversed differently.
namespace t2o::rewriters {
namespace {

Value* reversed(Emitter& e, Value* x) {  // along the steps, which are the first axis
  Value* y = e.slice(x, Ints{-1}, Ints{std::numeric_limits<std::int64_t>::min()}, Ints{0}, Ints{-1});
  e.graph().set_type(y, y->dtype(), x->shape());
  return y;
}

bool run_forwards(ir::Graph& g, const onnx::Target& target, ir::Node& n) {
  if (!contains({"LSTM", "GRU", "RNN"}, n.op()) || n.attr_or<std::string>("direction", "") != "reverse" ||
      n.attr_or<std::int64_t>("layout", 0) != 0 || (n.input_count() > 4 && n.input(4)))
    return false;
  Value* y = n.outputs().front();
  if (y && y->is_graph_output())
    return false;  // it would lose its name; a Squeeze stands behind it in practice
  Emitter before(n, target);
  g.set_input(n, 0, reversed(before, n.input(0)));
  g.set_attr(n, "direction", std::string("forward"));
  if (!y || !y->is_used()) return true;
  const std::vector<ir::Use> readers = y->uses();
  Emitter behind(g, target, n.shared_origin(), n.next());
  Value* forwards = reversed(behind, y);
  for (const ir::Use& u : readers) g.set_input(*u.node, u.input, forwards);
  return true;
}

}  // namespace

Rewriter forward_time(const onnx::Target& target) {
  return for_each_node("forward_time", {"LSTM", "GRU", "RNN"},
                       [target](ir::Graph& g, ir::Node& n) { return run_forwards(g, target, n); });
}

}  // namespace t2o::rewriters
