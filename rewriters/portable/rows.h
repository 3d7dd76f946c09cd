#pragma once
#include <vector>

#include "rewriters/runtime/table.h"

// Forms that more runtimes read, for --target-runtime any (table.cpp says who reads which). Each is exact, by the ONNX standard: it gives
// the same result as the operator that it replaces.
namespace t2o::rewriters {

Rewriter expand_tiles(const onnx::Target&);
Rewriter forward_time(const onnx::Target&);
Rewriter plain_activations(const onnx::Target&);
Rewriter plain_comparisons(const onnx::Target&);
Rewriter reduce_in_turn(const onnx::Target&);

}  // namespace t2o::rewriters

namespace t2o::portable {

std::vector<runtime::Row> rows();

}  // namespace t2o::portable
