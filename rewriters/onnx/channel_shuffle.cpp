#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/op_traits.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// Shuffles channels that are last by swapping groups, [n, h, w, g, c] to [n, h, w, c, g]. The same works with
// channels first and the pixels as one axis; layout folding then removes the Transposes around it.
namespace t2o::rewriters {
namespace {

using onnx::Trait;

constexpr int kDeepest = 8;

// Does it come, by way of what works on each element, from where channels are first?
bool comes_from_channels_first(const Value* v) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const ir::Node* n = v ? v->producer() : nullptr;
    if (!n) return false;
    if (const Ints* perm = perm_of(n)) return *perm == Ints{0, 2, 3, 1};
    if (!onnx::has(n->op(), Trait::elementwise | Trait::broadcasts) && n->op() != "Concat") return false;
    v = n->input(n->input(0)->constant() ? 1 : 0);
  }
  return false;
}

bool is_known_image(const Shape& s) {
  return s.ranked() && s.rank() == 4 &&
         std::all_of(s.dims().begin() + 1, s.dims().end(), [](Dim d) { return d > 0; });
}

int shuffle(ir::Node& swap, const onnx::Target& target) {
  const Ints* perm = perm_of(&swap);
  const ir::Node* parted = swap.input(0)->producer();
  ir::Node* merged = only_reader(swap.output());
  if (!perm || *perm != Ints{0, 1, 2, 4, 3} || !is_op(parted, "Reshape") || !merged ||
      merged->op() != "Reshape")
    return 0;
  Value* x = parted->input(0);
  const Shape &image = x->shape(), &groups = parted->output()->shape(), &y = merged->output()->shape();
  if (!is_known_image(image) || !is_known_image(y) ||
      !std::equal(image.dims().begin() + 1, image.dims().end(), y.dims().begin() + 1))
    return 0;
  if (groups[1] != image[1] || groups[2] != image[2] || groups[3] <= 0 || groups[4] <= 0 ||
      groups[3] * groups[4] != image[3])
    return 0;
  if (!only_reader(parted->output()) || !comes_from_channels_first(x)) return 0;
  Emitter e(*swap.graph(), target, swap.shared_origin(), merged);
  Value* first = e.transpose(x, {0, 3, 1, 2});
  Value* apart = e.reshape(first, {-1, groups[3], groups[4], image[1] * image[2]});
  Value* swapped = e.transpose(apart, {0, 2, 1, 3});
  Value* together = e.reshape(swapped, {-1, image[3], image[1], image[2]});
  replace_value(*swap.graph(), merged->output(), e.transpose(together, {0, 2, 3, 1}));
  return 1;
}

int run(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  for (ir::Node* n = g.first(); n; n = n->next())
    if (n->op() == "Transpose") changes += shuffle(*n, target);
  return changes;
}

}  // namespace

Rewriter channel_shuffle(const onnx::Target& target) {
  return {"channel_shuffle", [target](ir::Graph& g) { return run(g, target); }, {"Transpose"}};
}

}  // namespace t2o::rewriters
