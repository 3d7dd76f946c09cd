#include <algorithm>
#include <string_view>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime quantizes the float weights of a layer between a DequantizeLinear and a QuantizeLinear, with
// scales of its own. A layer that the model computes in floats reads numbers here that are computed as
// DequantizeLinear would, by other operators.
namespace t2o::rewriters {
namespace {

bool is_layer(const ir::Node& n) {
  return n.op() == "Conv" || n.op() == "ConvTranspose" || n.op() == "Gemm" || n.op() == "MatMul";
}

// Behind what the runtime fuses or moves away, all of it is quantized.
bool is_quantized(const Value* v, int depth = 4) {
  static constexpr std::string_view between[] = {"Relu", "Clip", "Add", "Transpose", "Reshape"};
  const ir::Node* reader = only_reader(v);
  if (!reader || reader->outputs().empty()) return false;
  if (reader->op() == "QuantizeLinear") return true;
  const bool passes = std::find(std::begin(between), std::end(between), reader->op()) != std::end(between);
  return passes && depth != 0 && is_quantized(reader->output(), depth - 1);
}

bool has_float_weights(const ir::Node& n) {
  const Value* w = n.input(1);
  return w && w->constant() && is_float(w->dtype());
}

int keep_away(ir::Graph& g, ir::Node& layer, const onnx::Target& target) {
  const ir::Node* dq = layer.input(0) ? layer.input(0)->producer() : nullptr;
  if (!dq || dq->op() != "DequantizeLinear" || dq->input_count() != 3 || !has_float_weights(layer)) return 0;
  const auto zero_point = number_of(dq->input(2));
  if (!zero_point || !is_quantized(layer.output())) return 0;
  Emitter e(g, target, layer.shared_origin(), &layer);
  Value* codes = e.cast(dq->input(0), DType::f32);
  Value* shifted = *zero_point == 0 ? codes : e.sub(codes, e.scalar_like(codes, *zero_point));
  g.set_input(layer, 0, e.mul(shifted, dq->input(1)));
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
