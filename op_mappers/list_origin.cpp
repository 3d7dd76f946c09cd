#include "op_mappers/list_origin.h"

#include <algorithm>
#include <string_view>

#include "ir/nesting.h"
#include "tfgraph/loop.h"

namespace t2o::op_mappers {
namespace {

// The list before it was written to.
const Value* before_writes(const Value* list) {
  list = tfgraph::through_identities(list);
  while (list->producer() &&
         (list->producer()->op() == "TensorListSetItem" || list->producer()->op() == "TensorListPushBack" ||
          list->producer()->op() == "TensorListResize" || list->producer()->op() == "TensorListPopBack"))
    list = tfgraph::through_identities(list->producer()->input(0));
  return list;
}

// The conditional or loop that holds the graph.
const ir::Node* holder_of(const ir::Graph& g) {
  if (!g.parent()) return nullptr;
  for (const ir::Node& n : g.parent()->nodes()) {
    bool holds = false;
    ir::for_each_subgraph(n, [&](const ir::Graph& sub) { holds = holds || &sub == &g; });
    if (holds) return &n;
  }
  return nullptr;
}

// Each round of the loop hands variable i on, written to at most.
bool keeps_list(const ir::Node& loop, std::size_t i) {
  const auto view = tfgraph::Loop::view(loop);
  return view && view->argument(before_writes(view->body().outputs()[i])) == static_cast<int>(i);
}

// One step outwards: the value around the graph that an argument is, or what a loop began with. Null: another
// list.
const Value* handed_in(const Value* list) {
  const ir::Node* n = list->producer();
  if (n) return keeps_list(*n, list->index()) ? n->input(list->index()) : nullptr;
  const auto& arguments = list->graph()->inputs();
  const auto i =
      static_cast<std::size_t>(std::find(arguments.begin(), arguments.end(), list) - arguments.begin());
  n = holder_of(*list->graph());
  if (!n || i == arguments.size()) return nullptr;
  const bool is_branch = n->op().ends_with("If") || n->op().ends_with("Case");
  if (is_branch) return i + 1 < n->input_count() ? n->input(i + 1) : nullptr;
  return keeps_list(*n, i) ? n->input(i) : nullptr;
}

}  // namespace

const Value* as_it_was_made(const Value* list) {
  for (int steps = 0; steps < ir::kDeepestNesting; ++steps) {
    list = before_writes(list);
    const Value* outside = handed_in(list);
    if (!outside) return list;
    list = outside;
  }
  return list;
}

bool was_written(const Value* list) {
  for (list = tfgraph::through_identities(list); list->producer();
       list = tfgraph::through_identities(list->producer()->input(0))) {
    const std::string_view op = list->producer()->op();
    if (op == "TensorListSetItem" || op == "TensorListPushBack" || op == "TensorListFromTensor") return true;
    if (op != "TensorListResize" && op != "TensorListPopBack") return false;
  }
  return false;
}

}  // namespace t2o::op_mappers
