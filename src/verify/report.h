#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "verify/verify.h"

namespace t2o::verify {

std::string to_text(const VerifyReport&);  // aligned tables, and what bisecting found
nlohmann::ordered_json to_json(const VerifyReport&);

}  // namespace t2o::verify
