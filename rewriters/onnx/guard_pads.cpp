#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/zero_pad.h"

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

// The negative number next to 0.
TensorPtr below_zero(DType type) {
  if (type == DType::f64) return Tensor::scalar(-std::numeric_limits<double>::denorm_min());
  if (type == DType::f32) return Tensor::scalar(-std::numeric_limits<float>::denorm_min());
  const std::array<std::byte, 2> half = {std::byte{0x01}, std::byte{0x80}};
  return std::make_shared<Tensor>(type, Ints{}, heap_storage({half.begin(), half.end()}));
}

// One Cast in between is looked through, two are not.
bool cast_twice(ir::Graph& g, ir::Node& pad, const Target& target) {
  const auto is_cast = [](const ir::Use& u) { return u.node->op() == "Cast"; };
  const auto& uses = pad.output()->uses();
  if (uses.size() == 1 && is_cast(uses[0]) &&
      std::all_of(uses[0].node->output()->uses().begin(), uses[0].node->output()->uses().end(), is_cast))
    return false;
  const DType type = pad.input(0)->dtype();
  Emitter e(g, target, pad.shared_origin(), pad.next());
  Value* padded = e.emit("Pad", {pad.input(0), pad.input(1), e.scalar(type, 0)});
  Value* wide = e.emit("Cast", {padded}, {{"to", type == DType::i64 ? DType::u64 : DType::i64}});
  return take_over(g, pad.output(), e.emit("Cast", {wide}, {{"to", type}}));
}

// From opset 18 on with all axes spelled out, below with a number for 0 that is next to it, or of integers in
// front of two casts: all are not what is looked for.
bool keep_away(ir::Graph& g, ir::Node& pad, const Target& target) {
  const DType type = pad.input(0)->dtype();
  const auto rank = static_cast<std::int64_t>(pad.input(1)->constant()->elements() / 2);
  if (target.opset < 18) {
    if (!is_float(type)) return cast_twice(g, pad, target);
    if (bit_width(type) < 16) return false;
    Value* fill = g.add_constant(pad.output()->name() + "/zero", below_zero(type));
    if (pad.input_count() < 3)
      g.add_node_input(pad, fill);
    else
      g.set_input(pad, 2, fill);
    return true;
  }
  Ints axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  while (pad.input_count() < 3) g.add_node_input(pad, nullptr);
  g.add_node_input(pad,
                   g.add_constant(pad.output()->name() + "/axes", Tensor::of<std::int64_t>({rank}, axes)));
  return true;
}

}  // namespace

Rewriter guard_pads(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    if (!target.for_ort()) return 0;
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
