#pragma once
#include <string>
#include <string_view>

#include "diagnostics.h"

namespace t2o {

// Why a node is not converted, and what the user can do about it (remedies.h).
struct Refusal {
  std::string why, remedy;
  Code code = Code::unsupported_op;
};
Refusal refusal_of(std::string_view op);  // for an op without rows

}  // namespace t2o
