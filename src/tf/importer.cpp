#include "tf/importer.h"

#include <algorithm>

#include "tf/find_fetches.h"
#include "tf/functionalize.h"
#include "tf/inner_cut.h"
#include "tf/lost_changes.h"
#include "tf/states.h"

namespace t2o::tf {

Importer::Importer(const GraphDef& graph, const ImportRequest& request, Diagnostics& diagnostics)
    : c_(graph, request, diagnostics), interface_(c_), nodes_(c_, interface_) {}

GraphPtr Importer::run() {
  GraphPtr graph = import();
  if (!graph && interface_.found_outputs() && !is_for_training(c_.bodies.main()))
    interface_.note_found_outputs(Severity::note);
  return graph;
}

GraphPtr Importer::import() {
  const std::size_t before = c_.diagnostics.size();
  const auto failed = [&] {
    return std::any_of(c_.diagnostics.begin() + static_cast<std::ptrdiff_t>(before), c_.diagnostics.end(),
                       [](const Diagnostic& d) { return d.severity == Severity::error; });
  };
  Body& main = c_.bodies.main();
  c_.bodies.prepare(main);
  interface_.find();
  if (failed()) return nullptr;
  StateEffects effects =
      follow_state(c_.bodies,
                   {interface_.roots(), &interface_.needed(),
                    [this](const InputRef& in) { return interface_.is_fed(in); }, c_.request.keep_state},
                   c_.diagnostics);
  lost_changes_ = std::move(effects.lost);
  plan_nodes(main, interface_.needed());
  push_frame({.body = &main, .graph = c_.graph.get()});
  while (!frames_.empty() && !gave_up_) step();
  if (!failed()) lift_variables(*c_.graph, nodes_.variables(), effects.changed, c_.request, c_.diagnostics);
  if (failed()) return nullptr;
  states_ = add_states(*c_.graph, nodes_.variables(), c_.diagnostics);
  functionalize(*c_.graph);
  c_.graph->erase_dead();
  return failed() ? nullptr : c_.graph;
}

void Importer::tell_lost_changes() {
  t2o::tf::tell_lost_changes(*c_.graph, nodes_.variables(), std::move(lost_changes_), c_.request,
                             c_.diagnostics);
}

GraphPtr import_graph(const GraphDef& graph, const ImportRequest& request, Diagnostics& diagnostics,
                      Interface* interface) {
  GraphPtr imported;
  collect(diagnostics, [&] {
    Importer importer(graph, request, diagnostics);
    imported = importer.run();
    if (imported && interface) *interface = importer.interface();
    if (imported && request.cuts_inside()) cut_inside(*imported, request, diagnostics);
    importer.tell_lost_changes();
  });
  return has_errors(diagnostics) ? nullptr : imported;
}

}  // namespace t2o::tf
