#pragma once
#include "tf/region.h"

namespace t2o::tf {

// An identity that is only there when its second input is: what a control edge from a conditional's side says of a value that
// reads nothing of it. The importer makes it, drop_guards() takes it away.
inline constexpr std::string_view kGuarded = "t2o.Guarded";

// Makes a StatelessIf (StatelessCase for _SwitchN) of each outermost conditional of the graph, whose loops are functional.
// Conditionals inside of it go into its branches as they are. True when there were any.
bool functionalize_conditionals(ir::Graph&, Renames&);

void drop_guards(ir::Graph&);            // and Switches whose side is known
bool inline_branches(ir::Graph&, Renames&);  // of conditionals by a constant
void refuse_leftovers(const ir::Graph&);  // nodes of loops and conditionals that form none

}  // namespace t2o::tf
