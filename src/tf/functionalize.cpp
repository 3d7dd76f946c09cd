#include "tf/functionalize.h"

#include "tf/conditionals.h"
#include "tf/handles.h"
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

bool has_any(const ir::Graph& g, std::initializer_list<std::string_view> ops) {
  for (const ir::Node& n : g.nodes())
    for (const std::string_view op : ops)
      if (is_op(n, op)) return true;
  return false;
}

void functionalize_one(ir::Graph& g) {
  Renames renames;
  if (functionalize_loops(g, renames)) finish_step(g, renames);
  if (has_any(g, {"Switch", "_SwitchN", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", kGuarded})) {
    functionalize_conditionals(g, renames);
    drop_guards(g);
    finish_step(g, renames);
    refuse_leftovers(g);
  }
  if (inline_branches(g, renames)) finish_step(g, renames);
}

}  // namespace

void functionalize(ir::Graph& main) {
  std::vector<ir::Graph*> work = {&main};
  for (std::size_t i = 0; i < work.size(); ++i) {
    resolve_handles(*work[i]);
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
      ir::for_each_subgraph(n, [&](ir::Graph& sub) { work.push_back(&sub); });
  }
}

}  // namespace t2o::tf
