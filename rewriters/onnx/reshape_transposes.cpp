#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o::rewriters {
namespace {

bool moves_only_ones(const ir::Node& n) {
  const Ints* perm = perm_of(n);
  return perm && n.input(0)->shape().ranked() && !n.input(0)->constant() &&
         Form(*perm).moves_only_ones(n.input(0)->shape());
}

// A Reshape; where more than one size is not known, the axes of size 1 are taken out and put in again.
Value* reshaped(Emitter& e, const ir::Node& n) {
  const Form form(*perm_of(n));
  const Shape y = form.shape(n.input(0)->shape());
  Ints dims = y.dims(), ones;
  std::replace_if(
      dims.begin(), dims.end(), [](Dim d) { return !is_known(d); }, std::int64_t{-1});
  const auto open = std::count(dims.begin(), dims.end(), -1);
  if (open <= 1 && std::find(dims.begin(), dims.end(), 0) == dims.end()) return e.reshape(n.input(0), dims);
  for (int i = 0; i < y.rank(); ++i)
    if (y[i] == 1) ones.push_back(i);
  Ints taken;
  for (const std::int64_t i : ones) taken.push_back(form.perm()[static_cast<std::size_t>(i)]);
  std::sort(taken.begin(), taken.end());
  Value* bare = e.squeeze(n.input(0), taken);
  return e.unsqueeze(bare, ones);
}

}  // namespace

Rewriter reshape_transposes(const onnx::Target& target) {
  auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      if (!moves_only_ones(n)) continue;
      Emitter e(g, target, n.shared_origin(), &n);
      Value* y = reshaped(e, n);
      g.set_type(y, y->dtype(), n.output()->shape());
      if (take_over(g, n.output(), y)) ++changes;
    }
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"reshape_transposes", run, {"Transpose"}};
}

}  // namespace t2o::rewriters
