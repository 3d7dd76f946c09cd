#include <algorithm>
#include <string_view>

#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// TensorFlow computes sizes in i32, ONNX in i64. Nodes that only move sizes work in i64, without the Cast to
// i32 before them and the Cast back to i64 after them. The indices of a Gather may have either type, so they
// need no Cast.
namespace t2o::rewriters {
namespace {

bool moves_elements(const ir::Node& n) {
  return contains({"Concat", "Unsqueeze", "Squeeze", "Gather", "Slice", "Identity"}, n.op());
}

// Any other i64 value may lose bits in a Cast to i32. TensorFlow loses them too, so that Cast must stay.
bool is_narrowing(const ir::Node* n) {
  return is_op(n, "Cast") && n->input(0)->dtype() == DType::i64 && n->output()->dtype() == DType::i32 &&
         onnx::fits_i32(n->input(0));
}

std::size_t data_inputs(const ir::Node& n) { return n.op() == "Concat" ? n.input_count() : 1; }

// Whether `v` is computed from narrowed values and constants alone, and has a single reader.
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
  if (n.op() != "Cast" || n.output()->dtype() != DType::i64 || n.input(0)->constant() ||
      !n.input(0)->producer())
    return false;
  if (!can_widen(n.input(0), g) || (!is_narrowing(n.input(0)->producer()) && only_reader(n.input(0)) != &n))
    return false;
  return take_over(g, n.output(), widen(g, n.input(0)));
}

bool drop_cast_of_indices(ir::Graph& g, ir::Node& n) {
  if (n.op() != "Gather" && n.op() != "GatherElements") return false;
  const ir::Node* cast = n.input(1)->producer();
  if (!is_op(cast, "Cast") || !is_int(cast->output()->dtype())) return false;
  const bool is_widening = cast->input(0)->dtype() == DType::i32 && cast->output()->dtype() == DType::i64;
  if (!is_widening && !is_narrowing(cast)) return false;
  g.set_input(n, 1, cast->input(0));
  return true;
}

}  // namespace

Rewriter widen_shapes() {
  return for_each_node("widen_shapes", {"Cast"}, [](ir::Graph& g, ir::Node& n) {
    return drop_cast(g, n) || drop_cast_of_indices(g, n);
  });
}

}  // namespace t2o::rewriters
