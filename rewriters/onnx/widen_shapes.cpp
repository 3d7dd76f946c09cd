#include <algorithm>
#include <limits>

#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// TensorFlow's sizes are of 32 bits, ONNX's of 64: what only moves them is done in 64, without the Casts there and back. Indices
// may be of either.
namespace t2o::rewriters {
namespace {

bool moves_elements(const ir::Node& n) {
  return n.op() == "Concat" || n.op() == "Unsqueeze" || n.op() == "Squeeze" || n.op() == "Gather" || n.op() == "Slice" || n.op() == "Identity";
}

std::size_t data_inputs(const ir::Node& n) { return n.op() == "Concat" ? n.input_count() : 1; }

// Sizes fit 32 bits, other numbers may not: then the Casts there and back change them.
bool is_of_sizes(const Value* v, int depth = 8) {
  const ir::Node* n = v->producer();
  if (!n || depth == 0) return false;
  if (n->op() == "Shape" || n->op() == "Size") return true;
  if (!moves_elements(*n)) return false;
  for (std::size_t i = 0; i < data_inputs(*n); ++i)
    if (!n->input(i)->constant() && !is_of_sizes(n->input(i), depth - 1)) return false;
  return true;
}

bool is_narrowing(const ir::Node* n) {
  return n && n->op() == "Cast" && n->input(0)->dtype() == DType::i64 && n->output()->dtype() == DType::i32 && is_of_sizes(n->input(0));
}

// v is made of narrowed numbers and constants, for one reader alone.
bool can_widen(const Value* v, const ir::Graph& g, int depth = 8) {
  if (v->dtype() != DType::i32) return false;
  if (v->constant()) return true;
  const ir::Node* n = v->producer();
  if (!n || n->graph() != &g || depth == 0) return false;
  if (is_narrowing(n)) return true;
  if (!moves_elements(*n) || n->outputs().size() != 1 || !only_reader(v)) return false;
  for (std::size_t i = 0; i < data_inputs(*n); ++i)
    if (!can_widen(n->input(i), g, depth - 1)) return false;
  return true;
}

Value* widen(ir::Graph& g, Value* v) {
  if (v->constant()) {
    const Ints all = v->constant()->to_ints();
    return g.add_constant(v->name() + "/wide", Tensor::of<std::int64_t>(v->constant()->dims(), all));
  }
  ir::Node& n = *v->producer();
  if (is_narrowing(&n)) return n.input(0);
  for (std::size_t i = 0; i < data_inputs(n); ++i) g.set_input(n, i, widen(g, n.input(i)));
  g.set_type(v, DType::i64, v->shape());
  return v;
}

bool drop_cast(ir::Graph& g, ir::Node& n) {
  if (n.op() != "Cast" || n.output()->dtype() != DType::i64 || n.input(0)->constant() || !n.input(0)->producer()) return false;
  if (!can_widen(n.input(0), g) || (!is_narrowing(n.input(0)->producer()) && only_reader(n.input(0)) != &n)) return false;
  return take_over(g, n.output(), widen(g, n.input(0)));
}

bool drop_cast_of_indices(ir::Graph& g, ir::Node& n) {
  if (n.op() != "Gather" && n.op() != "GatherElements") return false;
  const ir::Node* cast = n.input(1)->producer();
  if (!cast || cast->op() != "Cast" || !is_int(cast->output()->dtype())) return false;
  const DType from = cast->input(0)->dtype();
  if (from != DType::i64 && from != DType::i32) return false;
  g.set_input(n, 1, cast->input(0));
  return true;
}

}  // namespace

Rewriter widen_shapes() {
  const auto run = [](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes())
      if (drop_cast(g, n) || drop_cast_of_indices(g, n)) ++changes;
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"widen_shapes", run, {"Cast"}};
}

}  // namespace t2o::rewriters
