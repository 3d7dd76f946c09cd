#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
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

struct StateEffects {
  std::vector<LostChange> lost;
  std::set<std::string> changed;  // the identities (identity_of) of all variables that the model changes
};

// Finds the nodes that write variables and whose effect is exported: something that is needed reads the variable later in
// the run, or all changes are kept. Marks them and what they need as needed, and sets Body::order where there are such nodes. Reports
// an error where the order is not known.
StateEffects follow_state(Bodies&, const MainScope&, Diagnostics&);

}  // namespace t2o::tf
