#pragma once
#include <string>

namespace t2o::numeric {

// Remembers that a row of the registry was run and compared. When the process ends, all are written as lines
// "op since" to the file that T2O_COVERAGE_FILE names; lines of other processes there are kept.
void record_coverage(const std::string& op, int opset);

}  // namespace t2o::numeric
