#pragma once
#include "ir/graph.h"

namespace t2o::test {

// Remembers which rows of the registry the graph's nodes have at this opset, and with which dtype of their first input (of the
// first output, where they have none). When the process ends, all are written as lines "op since dtype ..." to the file that
// T2O_COVERAGE_FILE names.
void record_coverage(const ir::Graph& source, int opset);

}  // namespace t2o::test
