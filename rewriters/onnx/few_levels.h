#pragma once

#include "ir/tensor.h"

namespace t2o::rewriters {

// Whether each channel of the weights along `axis` holds only a few distinct numbers, all whole numbers times one constant, and at
// least two elements other than 0. Binarized and ternarized weights are such weights; their sums are exact, or cancel. Trained
// weights and 8-bit weights have too many distinct numbers, which already shows in their first elements.
bool has_few_levels(const Tensor& weights, int axis);

// The same for all elements together, even if there is only one.
bool has_few_numbers(const Tensor&);

}  // namespace t2o::rewriters
