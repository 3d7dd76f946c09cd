#include <algorithm>
#include <string_view>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime quantizes the float weights of a layer between a DequantizeLinear and a QuantizeLinear, with
// scales of its own. If the model computes the layer in floats, the scale of its numbers is a Mul here, so no
// DequantizeLinear is in front of the layer.
namespace t2o::rewriters {
namespace {

bool is_layer(const ir::Node& n) {
  return n.op() == "Conv" || n.op() == "ConvTranspose" || n.op() == "Gemm" || n.op() == "MatMul";
}

// The runtime moves both conversions past these operators.
bool is_passed(const ir::Node& n) {
  static constexpr std::string_view all[] = {"MaxPool", "Reshape",   "Slice",
                                             "Squeeze", "Transpose", "Unsqueeze"};
  return std::find(std::begin(all), std::end(all), n.op()) != std::end(all);
}

// It fuses an Add with the MatMul in front of it, and looks behind a Relu and a Clip.
bool is_quantized(const Value* v) {
  const auto is_between = [](const ir::Node& n) {
    return is_passed(n) || n.op() == "Relu" || n.op() == "Clip" || n.op() == "Add";
  };
  const ir::Node* reader = only_reader(v);
  while (reader && is_between(*reader)) reader = only_reader(reader->output());
  return is_op(reader, "QuantizeLinear");
}

// The runtime computes the weights when it loads the model. It leaves a DequantizeLinear.
bool is_constant(const Value* v, int depth = 8) {
  if (!v || v->constant()) return true;
  const ir::Node* n = v->producer();
  if (!n || depth == 0 || n->op() == "DequantizeLinear") return false;
  return std::all_of(n->inputs().begin(), n->inputs().end(),
                     [&](const Value* in) { return is_constant(in, depth - 1); });
}

bool has_float_weights(const ir::Node& n) {
  const Value* w = n.input(1);
  return w && is_float(w->dtype()) && is_constant(w);
}

int keep_away(ir::Graph& g, ir::Node& layer, const onnx::Target& target) {
  ir::Node* reader = &layer;
  ir::Node* dq = layer.input(0)->producer();
  for (; dq && dq->graph() == &g && is_passed(*dq); dq = dq->input(0)->producer()) reader = dq;
  if (!is_op(dq, "DequantizeLinear") || !number_of(dq->input(1)) || !has_float_weights(layer) ||
      !is_quantized(layer.output()))
    return 0;
  Emitter e(g, target, layer.shared_origin(), reader);
  Value* scale = dq->input(1);
  Values in = dq->inputs();
  in[1] = e.scalar_like(scale, 1);
  g.set_input(*reader, 0, e.mul(e.emit("DequantizeLinear", in, dq->attrs()), scale));
  return 1;
}

}  // namespace

Rewriter guard_floats(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes())
      if (is_layer(n)) changes += keep_away(g, n, target);
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"guard_floats", run, {"DequantizeLinear"}};
}

}  // namespace t2o::rewriters
