#pragma once
#include <nlohmann/json.hpp>

#include "diagnostics.h"
#include "ir/graph.h"

namespace t2o::cli {

using Json = nlohmann::ordered_json;

Json to_json(const Diagnostics&);
Json to_json(const ir::Graph&,
             const Values&
                 interface);  // [{"name", "dtype", "shape"}]; a symbolic dim is a string, an unknown one null
std::string interface_text(const ir::Graph&, const Value*);  // "x  f32[batch,28,28,1]"
std::string printed(const Json&);                            // invalid UTF-8 in names becomes U+FFFD

}  // namespace t2o::cli
