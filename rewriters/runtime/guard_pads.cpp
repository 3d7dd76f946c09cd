#include <algorithm>
#include <string>
#include <string_view>

#include "onnx/emitter.h"
#include "rewriters/names.h"
#include "rewriters/onnx/zero_pad.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime takes a Pad of zeros in front of a pool for the pool's own padding, which is of the lowest
// number, and takes pads that are larger than the window, which it then refuses. What it finds to be such a
// Pad is kept away from it here.
namespace t2o::rewriters {
namespace {

bool is_pool(const ir::Node& n) { return n.op().ends_with("MaxPool") || n.op().ends_with("AveragePool"); }

// A pool reads it, maybe behind what a runtime moves out of the way.
bool reaches_pool(const Value* v, int depth = 4) {
  static constexpr std::string_view between[] = {"Transpose", "Identity", "Reshape",
                                                 "Unsqueeze", "Squeeze",  "Cast"};
  return std::any_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) {
    const bool moves = std::find(std::begin(between), std::end(between), u.node->op()) != std::end(between);
    return is_pool(*u.node) || (moves && depth != 0 && reaches_pool(u.node->output(), depth - 1));
  });
}

// What ONNX Runtime does not know before it runs: the size of a tensor less itself.
Value* computed_zero(ir::Graph& g, ir::Node& pad) {
  const DType type = pad.input(0)->dtype();
  const std::string name = name_below(pad, "zero");
  const auto scalar = [&](const char* op, Values in, DType of, Attrs attrs) {
    return g
        .add({op, std::move(in), std::move(attrs), {{name, of, Shape::scalar()}}, pad.shared_origin()}, &pad)
        .output();
  };
  Value* size = scalar("Size", {pad.input(0)}, DType::i64, {});
  Value* none = scalar("Sub", {size, size}, DType::i64, {});
  return type == DType::i64 ? none : scalar("Cast", {none}, type, {{"to", type}});
}

// From opset 18 on with all axes spelled out, below with a 0 that is computed: neither is what is looked for.
bool keep_away(ir::Graph& g, ir::Node& pad, const Target& target) {
  const auto rank = static_cast<std::int64_t>(pad.input(1)->constant()->elements() / 2);
  if (target.opset < 18) {
    if (bit_width(pad.input(0)->dtype()) < 8) return false;
    Value* fill = computed_zero(g, pad);
    if (pad.input_count() < 3)
      g.add_node_input(pad, fill);
    else
      g.set_input(pad, 2, fill);
    return true;
  }
  Ints axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  while (pad.input_count() < 3) g.add_node_input(pad, nullptr);
  g.add_node_input(pad, g.add_constant(name_below(pad, "axes"), Tensor::of<std::int64_t>({rank}, axes)));
  return true;
}

}  // namespace

Rewriter guard_pads(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (ir::Node* n = g.first(); n; n = n->next())
      if ((is_zero_pad(*n) || is_zero_pad(*n, false)) && reaches_pool(n->output()) &&
          keep_away(g, *n, target))
        ++changes;
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"guard_pads", run, {"Pad"}};
}

}  // namespace t2o::rewriters
