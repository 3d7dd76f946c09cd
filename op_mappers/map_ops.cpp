#include "op_mappers/map_ops.h"

#include <algorithm>
#include <unordered_set>

#include "op_mappers/walk.h"

namespace t2o {
namespace {

// The nodes that can be mapped if each unknown size of the inputs is a number and each unknown rank is one of
// a few.
class WithShapes {
 public:
  WithShapes(const ir::Graph& source, const ConversionRegistry& registry,
             const std::vector<Walk::Failure>& failures)
      : source_(source), registry_(registry), failures_(failures) {}

  bool help(const ir::Node& n) {  // tried once for all nodes
    if (!tried_) try_all();
    return done_.contains(&n);
  }

 private:
  static constexpr Dim kSize = 8;
  static constexpr int kHighestRank = 5;

  void try_all() {
    tried_ = true;
    const auto& inputs = source_.inputs();
    const bool open = std::ranges::any_of(inputs, [](const Value* v) { return is_open(*v); });
    const bool ranked = std::ranges::all_of(inputs, [](const Value* v) { return v->shape().ranked(); });
    for (int rank = ranked ? kHighestRank : 1; open && rank <= kHighestRank; ++rank)
      walk(source_, registry_, inputs_of(rank), [&](const Walk& w) {
        for (const Walk::Failure& f : failures_)
          if (w.has_mapped(*f.node)) done_.insert(f.node);
      });
  }

  SupposedShapes inputs_of(int rank) const {
    SupposedShapes shapes;
    for (const Value* v : source_.inputs()) {
      Ints dims = v->shape().ranked() ? v->shape().dims() : repeated(kSize, rank);
      std::ranges::replace_if(
          dims, [](Dim d) { return !is_known(d); }, kSize);
      shapes[v] = Shape(std::move(dims));
    }
    return shapes;
  }

  const ir::Graph& source_;
  const ConversionRegistry& registry_;
  const std::vector<Walk::Failure>& failures_;
  bool tried_ = false;
  std::unordered_set<const ir::Node*> done_;
};

void settle_remedies(Walk& w, const ir::Graph& source, const ConversionRegistry& registry,
                     const CutOptions& cuts) {
  WithShapes with_shapes(source, registry, w.failures());
  for (const Walk::Failure& f : w.failures()) {
    Diagnostic& d = w.diagnostics()[f.diagnostic];
    if (d.remedy.empty() && d.code != Code::bad_model && d.code != Code::internal) d.remedy = "{cut}";
    d.remedy = settled_remedy(d.remedy, *f.node, *f.top, cuts, [&] { return with_shapes.help(*f.node); });
  }
}

// Each output is a value of its own: not an input, not a constant, not an output twice.
void set_outputs(Walk& w, const ir::Graph& source, const Target& target) {
  ir::Graph& out = *w.graph();
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (const Value* v : source.outputs()) {
    Value* to = w.mapped(v);
    if (!to && !has_errors(w.diagnostics()))
      fail(Code::internal, "nothing computes the output '" + v->name() + "'");
    if (!to) continue;
    const bool own = to->producer() && taken.insert(to).second;
    if (!own) {
      static const auto kNoOrigin = std::make_shared<const Origin>();
      Emitter e(out, target, v->producer() ? v->producer()->shared_origin() : kNoOrigin);
      const DType t = to->dtype();
      ir::Node& n =
          out.add({"Identity", {to}, {}, {{"", t, to->shape()}}, e.shared_origin(), v->name() + "/Identity"});
      to = n.output();
    }
    out.rename(to, v->name());
    out.mark_source(to);
    outputs.push_back(to);
  }
  out.set_outputs(std::move(outputs));
}

}  // namespace

GraphPtr map_ops(const ir::Graph& source, const ConversionRegistry& registry, Diagnostics& diagnostics,
                 const CutOptions& cuts) {
  GraphPtr result;
  walk(source, registry, {}, [&](Walk& w) {
    settle_remedies(w, source, registry, cuts);
    set_outputs(w, source, registry.target());
    diagnostics.insert(diagnostics.end(), w.diagnostics().begin(), w.diagnostics().end());
    result = w.graph();
  });
  result->erase_dead();
  result->name_rest();
  return result;
}

void infer_shapes(ir::Graph& source, const ConversionRegistry& registry) {
  walk(source, registry, {}, [&](const Walk& w) {  // its errors come again when the graph is mapped
    for (const ir::Node& n : source.nodes())
      for (Value* v : n.outputs()) {
        const Mapped* to = w.find(v);
        if (!to || to->kind != Kind::tensor) continue;
        if (const auto shape = merge(v->shape(), to->value->shape())) source.set_type(v, v->dtype(), *shape);
      }
  });
}

}  // namespace t2o
