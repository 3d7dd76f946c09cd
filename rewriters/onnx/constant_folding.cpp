#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/fold.h"
#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

// Of a Shape or a part of one; null where it is not known.
TensorPtr known_shape(const ir::Node& n) {
  const Shape& s = n.input(0)->shape();
  if (!s.ranked()) return nullptr;
  const auto place = [&](const char* name, std::int64_t fallback) {
    const auto at = n.attr_or<std::int64_t>(name, fallback);
    return std::clamp<std::int64_t>(at < 0 ? at + s.rank() : at, 0, s.rank());
  };
  const std::int64_t from = place("start", 0), to = std::max(from, place("end", s.rank()));
  const Ints dims(s.dims().begin() + from, s.dims().begin() + to);
  if (!std::ranges::all_of(dims, is_known)) return nullptr;
  return Tensor::of<std::int64_t>({to - from}, dims);
}

TensorPtr known_result(const ir::Node& n, int opset) {
  if (n.op() == "Shape") return known_shape(n);
  std::vector<TensorPtr> in;
  for (const Value* v : n.inputs()) {
    if (v && !v->constant()) return nullptr;
    in.push_back(v ? v->constant() : nullptr);
  }
  const auto results = in.empty() ? std::nullopt : onnx::fold(n.op(), in, n.attrs(), opset);
  return results && results->size() == 1 ? (*results)[0] : nullptr;
}

}  // namespace

// Shapes that became known after their readers were made, as behind a branch that is always taken, become
// constants, and so does what follows from them. A runtime's own inference may refuse some of them otherwise.
Rewriter constant_folding(const onnx::Target& target) {
  return for_each_node("constant_folding", {"Shape"}, [target](ir::Graph& g, ir::Node& n) {
    if (n.outputs().size() != 1 || n.output()->is_graph_output()) return false;
    TensorPtr known = known_result(n, target.opset);
    if (!known || known->dtype() != n.output()->dtype()) return false;
    Emitter e(n, target);
    g.replace_all_uses(n.output(), e.constant(std::move(known), n.op()));
    return true;
  });
}

}  // namespace t2o::rewriters
