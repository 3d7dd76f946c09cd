#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "onnx/emitter.h"
#include "onnx/op_traits.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime moves a Transpose of (0, 2, 3, 1) behind a Resize, which then is one of the axes 1 and 3, and
// has no kernel that interpolates those. The two axes change places where the transposes in front amount to
// that.
namespace t2o::rewriters {
namespace {

constexpr int kFar = 24;  // values that are looked at in front of a Resize

bool interpolates_planes(const ir::Node& n) {
  const auto* mode = n.op() == "Resize" ? n.attr_if<std::string>("mode") : nullptr;
  if (!mode || *mode == "nearest" || n.attr("axes")) return false;
  const Value* roi = n.input_count() > 1 ? n.input(1) : nullptr;
  return n.input(0)->shape().ranked() && n.input(0)->shape().rank() == 4 && (!roi || roi->constant());
}

// What a Transpose may be moved behind: the order of its axes is any.
bool keeps_axes(const ir::Node& n) {
  return onnx::has(n.op(), onnx::Trait::any_axes) && n.outputs().size() == 1 &&
         n.output()->shape().ranked() && n.output()->shape().rank() == 4;
}

// Some of the transposes between a value and the Resize, one after the other, are (0, 2, 3, 1).
class Search {
 public:
  bool finds(const Value* v, const Ints& axes) {
    const ir::Node* n = v ? v->producer() : nullptr;
    if (!n || !seen_.emplace(n, axes).second || seen_.size() > kFar) return false;
    if (n->op() == "Transpose") {
      const auto* perm = n->attr_if<Ints>("perm");
      if (!perm || perm->size() != axes.size()) return false;
      Ints all;
      for (const std::int64_t a : axes) all.push_back((*perm)[static_cast<std::size_t>(a)]);
      return all == Ints{0, 2, 3, 1} || finds(n->input(0), all);
    }
    if (!keeps_axes(*n)) return false;
    return std::any_of(n->inputs().begin(), n->inputs().end(),
                       [&](const Value* in) { return finds(in, axes); });
  }

 private:
  std::set<std::pair<const ir::Node*, Ints>> seen_;  // by way of other transposes it is another question
};

int guard(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  for (ir::Node* n = g.first(); n; n = n->next()) {
    if (!interpolates_planes(*n) || !Search().finds(n->input(0), {0, 1, 2, 3})) continue;
    Emitter e(g, target, n->shared_origin(), n);
    const Ints turned{0, 1, 3, 2};
    Values in = n->inputs();
    in[0] = e.transpose(in[0], turned);
    Value* order = e.ints(turned);
    for (std::size_t i = 2; i < in.size(); ++i)  // scales, sizes; where sizes are given scales may be of none
      if (in[i] && in[i]->shape().elements() != 0) in[i] = e.gather(in[i], order, 0);
    Value* y = e.emit("Resize", in, n->attrs());
    changes += take_over(g, n->output(), e.transpose(y, turned));
  }
  if (changes != 0) g.erase_dead();
  return changes;
}

}  // namespace

Rewriter guard_resizes(const onnx::Target& target) {
  return {"guard_resizes", [target](ir::Graph& g) { return guard(g, target); }, {"Resize"}};
}

}  // namespace t2o::rewriters
