#include "sized_mapping.h"

#include <map>

#include "ir/nesting.h"
#include "onnx/required_sizes.h"
#include "support/lists.h"

namespace t2o {
namespace {

// Gives the symbols of a source graph their required sizes. False: its inputs have none of them.
bool set_sizes(ir::Graph& main, const std::map<Dim, onnx::RequiredSize>& sizes) {
  bool changed = false;
  const auto set = [&](ir::Graph& g, Value* v) {
    if (!v->shape().ranked()) return;
    Ints dims = v->shape().dims();
    for (Dim& d : dims) {
      if (!is_symbol(d)) continue;
      const Symbols::Affine a = g.symbols().affine_of(d);
      if (const auto it = sizes.find(a.base); it != sizes.end()) d = a.factor * it->second.size + a.offset;
    }
    if (dims == v->shape().dims()) return;
    g.set_type(v, v->dtype(), Shape(std::move(dims)));
    changed = true;
  };
  const auto set_inputs = [&](ir::Graph& g) {
    for (Value* v : g.inputs()) set(g, v);
  };
  set_inputs(main);
  if (!changed) return false;
  ir::for_each_node(main, [&](ir::Node& n) {
    for (Value* v : n.outputs()) set(*n.graph(), v);
    ir::for_each_subgraph(n, set_inputs);
  });
  return true;
}

void note_required(const ir::Graph& g, const std::map<Dim, onnx::RequiredSize>& sizes,
                   Diagnostics& diagnostics) {
  for (const auto& [symbol, required] : sizes)
    diagnostics.push_back({Severity::note, Code::bad_model,
                           "the size '" + g.symbols().name(symbol) + "' of the inputs is " +
                               std::to_string(required.size) + " in the export: the model takes no other",
                           "", required.by->origin(), SourceLoc::here()});
}

}  // namespace

GraphPtr map_with_required_sizes(ir::Graph& model, const ConversionRegistry& registry,
                                 Diagnostics& diagnostics, const CutOptions& cuts) {
  while (true) {
    Diagnostics found;
    GraphPtr mapped = map_ops(model, registry, found, cuts);
    const auto sizes =
        has_errors(found) ? std::map<Dim, onnx::RequiredSize>() : onnx::required_sizes(*mapped);
    if (sizes.empty() || !set_sizes(model, sizes)) {
      append(diagnostics, found);
      return mapped;
    }
    note_required(*mapped, sizes, diagnostics);
  }
}

}  // namespace t2o
