#include <limits>
#include <optional>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// Of two pairs of QuantizeLinear and DequantizeLinear, one behind the other, ONNX Runtime makes one pair with
// a scale of its own. It looks for pairs whose two scales are equal. Here the numbers between the pairs are
// twice as large, and so are both scales there: the codes are the same, bit by bit.
namespace t2o::rewriters {
namespace {

constexpr double kFactor = 2;

struct Codes {
  double scale, zero_point;
  DType type;
  bool operator==(const Codes&) const = default;
};

// Of 8 bits, with one scale. `codes`: the side of the conversion that has them.
std::optional<Codes> codes_of(const ir::Node* n, const char* op) {
  if (!is_op(n, op)) return {};
  const Value* codes = op[0] == 'Q' ? n->output() : n->input(0);
  const auto scale = number_of(n->input(1)), zero_point = number_of(n->input(2));
  if (!scale || !zero_point || n->input(1)->dtype() != DType::f32 || bit_width(codes->dtype()) != 8)
    return {};
  return Codes{*scale, *zero_point, codes->dtype()};
}

// DequantizeLinear -> QuantizeLinear, between a pair in front and a pair behind it.
int keep_apart(ir::Graph& g, ir::Node& dq, const onnx::Target& target) {
  constexpr double kLargest = std::numeric_limits<float>::max() / 512;
  const auto first = codes_of(&dq, "DequantizeLinear");
  if (!first || only_reader(dq.input(0)) != &dq ||
      codes_of(dq.input(0)->producer(), "QuantizeLinear") != first)
    return 0;
  ir::Node* quantize = only_reader(dq.output());
  const auto second = codes_of(quantize, "QuantizeLinear");
  if (!second || *second == *first || second->type != first->type ||
      codes_of(only_reader(quantize->output()), "DequantizeLinear") != second)
    return 0;
  if (first->scale > kLargest || second->scale > kLargest) return 0;
  Emitter e(g, target, dq.shared_origin(), quantize);
  const auto doubled = [&](const Value* scale) { return e.scalar_like(scale, kFactor * *number_of(scale)); };
  Value* numbers = e.emit("DequantizeLinear", {dq.input(0), doubled(dq.input(1)), dq.input(2)}, dq.attrs());
  g.set_input(*quantize, 0, numbers);
  g.set_input(*quantize, 1, doubled(quantize->input(1)));
  return 1;
}

}  // namespace

Rewriter guard_pairs(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) changes += keep_apart(g, n, target);
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"guard_pairs", run, {"DequantizeLinear"}};
}

}  // namespace t2o::rewriters
