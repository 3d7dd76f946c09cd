#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "diagnostics.h"
#include "tf/body.h"

namespace t2o::tf {

struct MainScope {
  std::vector<std::uint32_t> roots;          // the nodes that the fetches read
  std::vector<bool>* needed;                 // by data edges
  std::function<bool(const InputRef&)> cut;  // at a feed
  bool keep_changes = false;
};

// Variables are frozen. An error where TensorFlow would read one after the graph has changed it; a warning
// where a change is lost and nothing reads it later. Where changes are kept, the nodes that make them are
// needed from now on, and those in loops and branches are errors.
void check_state_effects(Bodies&, const MainScope&, Diagnostics&);

}  // namespace t2o::tf
