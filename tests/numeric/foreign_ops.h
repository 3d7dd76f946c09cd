#pragma once
#include "harness.h"

namespace t2o::numeric {

// For ops that TensorFlow does not have; the graph as text.
void check_against(const engines::TfGraph& truth, const std::string& graph_text, const engines::Feeds& feeds,
                   const std::vector<int>& opsets, SourceLoc at = SourceLoc::here());

}  // namespace t2o::numeric
