#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
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

// A change of a variable that is not exported, and that nothing reads later.
struct LostChange {
  std::string variable;      // the name of its node
  Origin origin;             // of the node that changes it
  bool can_be_kept = false;  // as a state
};

// Variables are frozen. An error where TensorFlow would read one after the graph has changed it. Where changes
// are kept, the nodes that make them are needed from now on, and those in loops and branches are errors; else
// the result has those that are lost.
std::vector<LostChange> check_state_effects(Bodies&, const MainScope&, Diagnostics&);

// Can the operator's change of a variable be handed on as a state (changes.cpp)?
bool can_be_handed_on(std::string_view op);

}  // namespace t2o::tf
