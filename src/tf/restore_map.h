#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "tf/graph_def.h"

namespace t2o::tf {

struct RestoredFrom {
  std::string key, slice;  // of the checkpoint; slice as in RestoreV2's shape_and_slices, "" for the whole
};

// Which entry of a checkpoint the graph itself would restore into which variable, by the name of the
// variable's node (a VarHandleOp, VariableV2 ...) at top level. This is exact even where several variables
// share a name. restore_op is the saver's: a call of a restore function (TensorFlow 2) or a NoOp behind
// Assign nodes (TensorFlow 1).
using RestoreMap = std::unordered_map<std::string, RestoredFrom>;
RestoreMap read_restore_map(const GraphDef&, std::string_view restore_op);

}  // namespace t2o::tf
