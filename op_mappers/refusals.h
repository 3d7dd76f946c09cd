#pragma once
#include <string>

namespace t2o {

struct Refusal {
  std::string why, remedy;
};

// Of an op that has no row and never will: the reason. Null where nothing particular is to be said.
const Refusal* refusal(const std::string& op);

}  // namespace t2o
