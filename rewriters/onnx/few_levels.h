#pragma once
#include <cstdint>

#include "ir/tensor.h"

namespace t2o::rewriters {

// Each channel of the weights along `axis` has few numbers that are whole ones times one constant, as binarized and ternarized
// weights have, and at least two of them that are not 0: sums of such weights are exact, or cancel. Trained weights, and those of
// 8 bits, have too many; they are told apart by their first numbers.
bool has_few_levels(const Tensor& weights, int axis);

// The same of all numbers together, even if there is but one.
bool has_few_numbers(const Tensor&);

}  // namespace t2o::rewriters
