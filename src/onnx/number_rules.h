#pragma once
#include <string_view>
#include <vector>

#include "ir/findings.h"
#include "onnx/numbers.h"

namespace t2o::onnx {

using AskNumbers = ir::Findings<Numbers>::Ask;

// The numbers of a value from those of the values it is computed from. The first one reads no weights: the elements of big constants
// may be any.
Numbers numbers_without_weights(const Value*, const AskNumbers&);
Numbers numbers_from_weights(const Value*, const AskNumbers&);

std::vector<std::string_view> ops_with_number_rules();  // in the order of the table, for tests

bool is_list_of_sizes(const Value*);  // its known elements are sizes

}  // namespace t2o::onnx
