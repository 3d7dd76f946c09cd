#pragma once
#include <string>

#include "tf/checkpoint.h"
#include "tf/meta_graph.h"

namespace t2o::tf {

struct SavedModel {
  std::string directory;
  MetaGraph meta_graph;
  CheckpointPtr checkpoint;  // null when the model has no variables
};

// `tags`: comma-separated; empty: the MetaGraph tagged "serve", else the only one.
SavedModel open_saved_model(const std::string& directory, const std::string& tags);

}  // namespace t2o::tf
