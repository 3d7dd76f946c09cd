#pragma once
#include <string>
#include <vector>

#include "diagnostics.h"

namespace t2o {

// Models of earlier conversions that read their weights from `data_path`, which is about to be replaced: a warning for each. `written`
// are replaced with it.
Diagnostics warn_of_stale_models(const std::string& data_path, const std::vector<std::string>& written);

}  // namespace t2o
