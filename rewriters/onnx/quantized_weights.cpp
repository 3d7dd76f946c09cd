#include <algorithm>
#include <cmath>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// Weights that are stored as codes behind a DequantizeLinear:
// - Transpose(DequantizeLinear(codes)) -> DequantizeLinear(the codes, permuted). The same for Unsqueeze.
// - Concat(DequantizeLinear(codes) ...) -> DequantizeLinear(the codes, joined): the gates of a recurrent
// layer.
// - The bias of a quantized layer -> DequantizeLinear(int32), if it is a whole number of the products' steps,
// or if these are so small that no code of the result tells the difference.
// - In a loop's body: numbers that are the same in each step are computed in front of the loop.
namespace t2o::rewriters {
namespace {

bool is_op(const Value* v, const char* op) { return v && v->producer() && v->producer()->op() == op; }

// A DequantizeLinear of constants alone.
bool is_of_constants(const ir::Node& n) {
  return n.op() == "DequantizeLinear" && std::all_of(n.inputs().begin(), n.inputs().end(),
                                                     [](const Value* v) { return !v || v->constant(); });
}

const ir::Node* dequantized_weights(const Value* v) {
  return is_op(v, "DequantizeLinear") && is_of_constants(*v->producer()) ? v->producer() : nullptr;
}

int permute(ir::Graph& g, ir::Node& transpose, const onnx::Target& target) {
  const ir::Node* dq = dequantized_weights(transpose.input(0));
  const auto* perm = transpose.attr_if<Ints>("perm");
  if (!dq || !perm || only_reader(dq->output()) != &transpose || dq->attr("block_size")) return 0;
  if (bit_width(dq->input(0)->dtype()) < 8) return 0;
  Attrs attrs = dq->attrs();
  for (ir::NamedAttr& a : attrs) {
    auto* axis = a.name == "axis" ? std::get_if<std::int64_t>(&a.value) : nullptr;
    if (!axis) continue;
    const std::int64_t from = from_front(*axis, static_cast<int>(perm->size()));
    *axis = std::find(perm->begin(), perm->end(), from) - perm->begin();
  }
  Emitter e(g, target, dq->shared_origin(), &transpose);
  Values inputs = dq->inputs();
  inputs[0] = e.transpose(inputs[0], *perm);
  replace_value(g, transpose.output(), e.emit("DequantizeLinear", inputs, attrs));
  g.erase(transpose);
  return 1;
}

int unsqueeze_codes(ir::Graph& g, ir::Node& unsqueeze, const onnx::Target& target) {
  const ir::Node* dq = dequantized_weights(unsqueeze.input(0));
  const auto axes = unsqueeze.input(1) ? constant_ints(unsqueeze.input(1)) : std::nullopt;
  if (!dq || !axes || only_reader(dq->output()) != &unsqueeze || dq->attr("block_size")) return 0;
  if (bit_width(dq->input(0)->dtype()) < 8 || axes->size() != 1 || (*axes)[0] != 0) return 0;
  Attrs attrs = dq->attrs();
  for (ir::NamedAttr& a : attrs)
    if (auto* axis = a.name == "axis" ? std::get_if<std::int64_t>(&a.value) : nullptr; axis && *axis >= 0)
      ++*axis;
  Emitter e(g, target, dq->shared_origin(), &unsqueeze);
  Values inputs = dq->inputs();
  inputs[0] = e.unsqueeze(inputs[0], {0});
  replace_value(g, unsqueeze.output(), e.emit("DequantizeLinear", inputs, attrs));
  g.erase(unsqueeze);
  return 1;
}

// A value of one scale for each place along the axis; `v` has one for all of them.
Value* repeated(Emitter& e, Value* v, std::int64_t count) { return e.expand(v, e.ints({count})); }

int join_codes(ir::Graph& g, ir::Node& concat, const onnx::Target& target) {
  const auto* axis = concat.attr_if<std::int64_t>("axis");
  if (!axis || concat.input_count() < 2 || target.opset < 13) return 0;
  std::vector<const ir::Node*> parts;
  for (const Value* v : concat.inputs()) {
    const ir::Node* dq = dequantized_weights(v);
    if (!dq || only_reader(v) != &concat || dq->input_count() != 3 || !dq->input(1)->shape().is_scalar())
      return 0;
    if (bit_width(dq->input(0)->dtype()) < 8 ||
        dq->input(0)->dtype() != concat.input(0)->producer()->input(0)->dtype())
      return 0;
    parts.push_back(dq);
  }
  Emitter e(g, target, concat.shared_origin(), &concat);
  const std::int64_t along = from_front(*axis, concat.input(0)->shape().rank());
  Values codes, scales, zero_points;
  for (const ir::Node* dq : parts) {
    const std::int64_t count = dq->input(0)->shape()[static_cast<int>(along)];
    codes.push_back(dq->input(0));
    scales.push_back(repeated(e, dq->input(1), count));
    zero_points.push_back(repeated(e, dq->input(2), count));
  }
  Value* all = e.concat(codes, along);
  Value* scale = e.concat(scales, 0);
  Value* zero_point = e.concat(zero_points, 0);
  replace_value(g, concat.output(), e.emit("DequantizeLinear", {all, scale, zero_point}, {{"axis", along}}));
  g.erase(concat);
  return 1;
}

// The scales of the codes behind a value, whose elements may have moved since; empty: it has none of 8 bits.
Floats scales_of(const Value* v) {
  while (is_op(v, "MaxPool") || is_op(v, "Reshape") || is_op(v, "Transpose")) v = v->producer()->input(0);
  if (!is_op(v, "DequantizeLinear") || v->producer()->attr("block_size")) return {};
  const ir::Node& dq = *v->producer();
  const DType codes = dq.input(0)->dtype();
  if ((codes != DType::u8 && codes != DType::i8) || !dq.input(1)->constant()) return {};
  Floats scales;
  for (const double s : dq.input(1)->constant()->to_floats()) scales.push_back(static_cast<float>(s));
  return scales;
}

// The scale of the codes that are made of a layer's result, also behind an activation; 0: none are.
float scale_behind(const ir::Node& layer) {
  const ir::Node* reader = only_reader(layer.output());
  while (reader && (reader->op() == "Relu" || reader->op() == "Clip" || reader->op() == "Transpose"))
    reader = only_reader(reader->output());
  if (!reader || reader->op() != "QuantizeLinear" || reader->attr("block_size")) return 0;
  const Value* scale = reader->input(1);
  return scale->constant() && scale->constant()->elements() == 1
             ? static_cast<float>(scale->constant()->float_at(0))
             : 0;
}

// The numbers of the products' steps; empty: some are no whole numbers, and the rounding would be of use to a
// result whose codes lie `result` apart.
std::vector<std::int32_t> whole_steps(const Tensor& bias, const Floats& steps, float result) {
  constexpr double kHighest = 1.001 * (1 << 30);  // TensorFlow's converter has up to 2^30; products are added
  constexpr float kOfCode = 1.0F / 16;
  const bool may_round = *std::max_element(steps.begin(), steps.end()) <= kOfCode * result;
  std::vector<std::int32_t> codes;
  for (std::int64_t i = 0; i < bias.elements(); ++i) {
    const double q =
        bias.float_at(i) / static_cast<double>(steps[steps.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
    const double off = std::abs(q - std::round(q));
    if (!(std::abs(q) <= kHighest) || (!may_round && off > 1e-6 * std::abs(q) + 1e-3)) return {};
    codes.push_back(static_cast<std::int32_t>(std::round(q)));
  }
  return codes;
}

int quantize_bias(ir::Graph& g, ir::Node& layer, const onnx::Target& target) {
  const Value* bias = layer.input(2);
  if (!bias || !bias->constant() || bias->dtype() != DType::f32 || bias->shape().rank() != 1) return 0;
  const Floats x = scales_of(layer.input(0)), w = scales_of(layer.input(1));
  const auto channels = static_cast<std::size_t>(bias->shape()[0]);
  if (x.size() != 1 || w.empty() || (w.size() != 1 && w.size() != channels)) return 0;
  Floats steps;
  for (const float s : w) steps.push_back(x[0] * s);
  const auto codes = whole_steps(*bias->constant(), steps, scale_behind(layer));
  if (codes.size() != channels || channels == 0) return 0;
  const bool is_one = steps.size() == 1;
  const Ints dims = is_one ? Ints{} : Ints{static_cast<std::int64_t>(channels)};
  Emitter e(g, target, layer.shared_origin(), &layer);
  Value* of_codes =
      e.constant(Tensor::of<std::int32_t>({static_cast<std::int64_t>(channels)}, codes), "bias");
  Value* scale = e.constant(Tensor::of<float>(dims, steps), "bias_scale");
  Value* zero = e.constant(Tensor::of<std::int32_t>(dims, std::vector<std::int32_t>(steps.size(), 0)),
                           "bias_zero_point");
  const Attrs axis = is_one ? Attrs{} : Attrs{{"axis", std::int64_t{0}}};
  g.set_input(layer, 2, e.emit("DequantizeLinear", {of_codes, scale, zero}, axis));
  return 1;
}

int move_in_front(ir::Graph& g, ir::Node& loop, ir::Graph& body) {
  int changes = 0;
  for (ir::Node& n : body.nodes()) {
    for_each_subgraph(n, [&](ir::Graph& inner) {
      if (n.op() == "Loop" || n.op() == "Scan") changes += move_in_front(body, n, inner);
    });
  }
  for (ir::Node& n : body.nodes()) {
    if (!is_of_constants(n) || n.output()->is_graph_output()) continue;
    Values inputs;
    for (const Value* v : n.inputs())
      inputs.push_back(v ? g.add_constant(v->name(), v->constant()) : nullptr);
    ir::NodeSpec spec{
        .op = n.op(), .inputs = inputs, .attrs = n.attrs(), .origin = n.shared_origin(), .name_later = true};
    spec.outputs = {{"", n.output()->dtype(), n.output()->shape()}};
    body.replace_all_uses(n.output(), g.add(std::move(spec), &loop).output());
    body.erase(n);
    ++changes;
  }
  if (changes != 0) body.erase_dead();
  return changes;
}

}  // namespace

Rewriter permute_codes(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      if (n.op() == "Transpose")
        changes += permute(g, n, target);
      else if (n.op() == "Unsqueeze")
        changes += unsqueeze_codes(g, n, target);
      else if (n.op() == "Concat")
        changes += join_codes(g, n, target);
    }
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"permute_codes", run, {"DequantizeLinear"}};
}

Rewriter quantized_weights(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      if (n.op() == "Conv" || n.op() == "Gemm") {
        changes += quantize_bias(g, n, target);
      } else if (!g.parent() && (n.op() == "Loop" || n.op() == "Scan")) {
        for_each_subgraph(n, [&](ir::Graph& body) { changes += move_in_front(g, n, body); });
      }
    }
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"quantized_weights", run, {"DequantizeLinear"}};
}

}  // namespace t2o::rewriters
