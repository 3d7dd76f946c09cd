#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o::rewriters {
namespace {

bool moves_only_ones(const ir::Node& n) {
  const Ints* perm = perm_of(&n);
  return perm && n.input(0)->shape().ranked() && !n.input(0)->constant() &&
         Form(*perm).moves_only_ones(n.input(0)->shape());
}

// A Reshape; where more than one size is not known, the axes of size 1 are taken out and put in again.
Value* reshaped(Emitter& e, const ir::Node& n) {
  const Form form(*perm_of(&n));
  const Shape y = form.shape(n.input(0)->shape());
  Ints dims = y.dims(), ones;
  std::ranges::replace_if(
      dims, [](Dim d) { return !is_known(d); }, std::int64_t{-1});
  const auto open = std::ranges::count(dims, -1);
  if (open <= 1 && !contains(dims, 0)) return e.reshape(n.input(0), dims);
  for (int i = 0; i < y.rank(); ++i)
    if (y[i] == 1) ones.push_back(i);
  Ints taken;
  for (const std::int64_t i : ones) taken.push_back(nth(form.perm(), i));
  std::ranges::sort(taken);
  Value* bare = e.squeeze(n.input(0), taken);
  return e.unsqueeze(bare, ones);
}

}  // namespace

Rewriter reshape_transposes(const onnx::Target& target) {
  return for_each_node("reshape_transposes", {"Transpose"}, [target](ir::Graph& g, ir::Node& n) {
    if (!moves_only_ones(n)) return false;
    Emitter e(n, target);
    Value* y = reshaped(e, n);
    g.set_type(y, y->dtype(), n.output()->shape());
    return take_over(g, n.output(), y);
  });
}

}  // namespace t2o::rewriters
