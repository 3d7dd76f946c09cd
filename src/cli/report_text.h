#pragma once
#include "cli/json.h"
#include "report.h"

namespace t2o::cli {

std::string report_text(
    const GraphReport&);  // lines, each with its end; Transposes of one reason stand together
Json to_json(const GraphReport&);

}  // namespace t2o::cli
