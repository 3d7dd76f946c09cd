#pragma once
#include "tf/region.h"

namespace t2o::tf {

// Makes a StatelessIf (StatelessCase for _SwitchN) of each outermost conditional of the graph, whose loops
// are functional. Conditionals inside of it go into its branches as they are. True when there were any.
bool functionalize_conditionals(ir::Graph&, Renames&);

void drop_guards(ir::Graph&);                // and Switches whose side is known
bool inline_branches(ir::Graph&, Renames&);  // of conditionals by a constant
void refuse_leftovers(const ir::Graph&);     // nodes of loops and conditionals that form none

}  // namespace t2o::tf
