#pragma once
#include <string>
#include <string_view>

namespace t2o {

// Why an op without a row has none, and what can be done about it.
struct Refusal {
  std::string why, remedy;
};
Refusal refusal_of(std::string_view op);

}  // namespace t2o
