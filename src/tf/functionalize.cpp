#include "tf/functionalize.h"

#include <algorithm>

#include "ir/nesting.h"
#include "tf/conditionals.h"
#include "tf/loops.h"
#include "tf/tensor_arrays.h"

namespace t2o::tf {
namespace {

void finish_step(ir::Graph& g, Renames& renames) {
  put_in_order(g);
  rename_all(renames);  // before what is dead goes, with the values of its subgraphs
  renames.clear();
  g.erase_dead();
}

bool has_control_flow(const ir::Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(),
                     [](const ir::Node& n) { return draws_control_flow(op_kind(n.op())); });
}

// Most graphs have nothing for the steps below, each of which looks at all nodes.
bool has_work(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes()) {
    const bool is_handle = !n.outputs().empty() &&
                           (n.output()->dtype() == DType::resource || n.output()->dtype() == DType::variant);
    if (is_handle || ir::holds_subgraph(n) || n.op().starts_with("TensorArray") ||
        draws_control_flow(op_kind(n.op())))
      return true;
  }
  return false;
}

void functionalize_one(ir::Graph& g) {
  Renames renames;
  if (functionalize_loops(g, renames)) finish_step(g, renames);
  if (has_control_flow(g)) {
    functionalize_conditionals(g, renames);
    drop_guards(g);
    finish_step(g, renames);
    refuse_leftovers(g);
  }
  if (inline_branches(g, renames)) finish_step(g, renames);
}

}  // namespace

void functionalize(ir::Graph& main) {
  if (!has_work(main)) return;
  std::vector<ir::Graph*> work = {&main};
  for (std::size_t i = 0; i < work.size(); ++i) {
    replace_tensor_arrays(*work[i]);
    for (const ir::Node& n : work[i]->nodes())
      ir::for_each_subgraph(n, [&](ir::Graph& sub) { work.push_back(&sub); });
  }
  work = {&main};
  while (!work.empty()) {
    ir::Graph& g = *work.back();
    work.pop_back();
    functionalize_one(g);
    for (const ir::Node& n : g.nodes())
      ir::for_each_subgraph(n, [&](ir::Graph& sub) {
        check_nesting(g, &n);
        work.push_back(&sub);
      });
  }
}

}  // namespace t2o::tf
