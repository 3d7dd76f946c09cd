#pragma once
#include "rewriters/pattern.h"

namespace t2o::rewriters {

Rewriter ragged_rows();  // rows of a ragged tensor that a loop takes from a list are slices of its values

Rewriter ragged_results();  // rows of different lengths that a loop collects are one tensor, and their lengths

}  // namespace t2o::rewriters
