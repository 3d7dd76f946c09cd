#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace t2o::tf {

// A node of one of TensorFlow's operators, by what TensorFlow declares of it. The attributes that name types and numbers of inputs
// follow from the inputs; `attrs` has the others, as far as they have no default or another value is wanted. The results get their
// number and their types, and these shapes; a shape that is not given is unknown. Refuses (internal) what the declaration does not
// allow: it is a mistake of the caller.
ir::NodeSpec op_spec(std::string op, Values inputs, Attrs attrs = {}, std::vector<Shape> shapes = {});

// The same from a NodeDef, which another format may hold, except for its inputs. Refuses what needs more of a TensorFlow graph:
// functions, variables, control flow.
ir::NodeSpec spec_of_node_def(Bytes node_def, const Owner&, Values inputs);

}  // namespace t2o::tf
