#pragma once
#include <set>
#include <string>
#include <vector>

#include "tf/import.h"

namespace t2o::tf {

// A variable of the graph. While nodes read and write it by its handle, the handle is a value of type resource.
struct Variable {
  VariableRef ref;
  Value* handle = nullptr;
  Value* initial = nullptr;  // what the run finds in it: a constant or an input of the graph. Null: nothing needs it
  Value* last = nullptr;     // what the run leaves in it. Null: it does not change it
  TensorPtr stored;          // of a variable that is an input: its value before the first run
};

// Replaces the handles by the values that they stand for. The nodes of each graph run in the order in which they stand: a read gives
// what the last write before it left, also if one of them is in a loop or in a branch. A loop that writes a variable carries its value;
// a conditional returns it. The first value is a constant; with request.keep_state, it is an input for each variable that is written.
// `changed`: the identities of all variables that the model changes, also where the graph does not.
void lift_variables(ir::Graph& main, std::vector<Variable>&, const std::set<std::string>& changed, const ImportRequest&,
                    Diagnostics&);

}  // namespace t2o::tf
