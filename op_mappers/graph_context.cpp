#include "op_mappers/graph_context.h"

#include <algorithm>

#include "op_mappers/walk.h"

namespace t2o {

ListPlan& GraphContext::lists() { return walk_->lists(); }

MappedValues GraphContext::map(const ir::Graph& source, const MappedValues& inputs,
                               const std::vector<bool>& wanted, ir::Graph& into) {
  MappedValues out = walk_->map(source, inputs, wanted, into);
  for (std::size_t i = 0; i < out.size(); ++i) failed_ = failed_ || (wanted[i] && !out[i].value);
  return out;
}

std::vector<VariableType>& GraphContext::settled() { return walk_->settled(node()); }
std::size_t GraphContext::reported() const { return walk_->diagnostics().size(); }

void GraphContext::drop_notes(std::size_t before) {
  Diagnostics& all = walk_->diagnostics();
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(before);
  if (std::all_of(from, all.end(), [](const Diagnostic& d) { return d.severity == Severity::note; }))
    all.erase(from, all.end());
}

void GraphContext::forget(std::size_t before) {
  walk_->forget(before);
  failed_ = false;
}

}  // namespace t2o
