#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/facts.h"
#include "rewriters/runtime/rows.h"

// Of a float that is cast to a wide integer and then to a narrower one, ONNX Runtime leaves out the first
// Cast, with its optimizer off as well. A number beyond the narrower type then becomes its lowest value,
// where the wide integer would wrap around. A Where between the two casts keeps both.
namespace t2o::rewriters {
namespace {

bool is_cast(const ir::Use& u) { return u.node->op() == "Cast"; }

// A float becomes an integer that is wider than what processors make of floats. ONNX Runtime leaves out what
// nothing but casts read.
bool is_left_out(const ir::Node& n) {
  if (n.op() != "Cast" || !is_float(n.input(0)->dtype())) return false;
  const Value* wide = n.output();
  const DType t = wide->dtype();
  if (t != DType::i64 && t != DType::u64 && t != DType::u32) return false;
  return !wide->is_graph_output() && std::all_of(wide->uses().begin(), wide->uses().end(), is_cast);
}

int guard(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  for (ir::Node* n = g.first(); n; n = n->next()) {
    if (!is_left_out(*n)) continue;
    Value* wide = n->output();
    std::vector<ir::Use> narrowing = wide->uses();
    std::erase_if(narrowing, [&](const ir::Use& u) {
      const DType t = u.node->output()->dtype();
      const onnx::Numbers x = onnx::numbers_of(n->input(0));
      const bool fits = onnx::convert(x, t) == onnx::convert(x, DType::i64);
      return !is_int(t) || bit_width(t) >= bit_width(wide->dtype()) || fits;
    });
    if (narrowing.empty()) continue;
    Emitter e(g, target, n->shared_origin(), n->next());
    Value* kept = e.where(e.constant(Tensor::of<bool>({}, {true})), wide, wide);
    for (const ir::Use& u : narrowing) g.set_input(*u.node, u.input, kept);
    ++changes;
  }
  return changes;
}

}  // namespace

Rewriter guard_casts(const onnx::Target& target) {
  return {"guard_casts", [target](ir::Graph& g) { return guard(g, target); }, {"Cast"}};
}

}  // namespace t2o::rewriters
