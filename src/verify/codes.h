#pragma once
#include "verify/compare.h"

namespace t2o::verify {

// A quantized tensor holds codes. Two runtimes round their sums in other orders, so that a number between two codes becomes one or the
// other: one code is the last digit.
struct CodeTolerance {
  double near = 1, largest = 4;  // in codes
  double share = 0.999;          // of the elements that are near; none may be off by more than `largest`
};
// Codes of 16 bits are 256 times as fine as those of 8 bits. A sixteenth of that is allowed: LiteRT computes them with tables and in several
// rounded steps.
CodeTolerance code_tolerance(int bits);
// The model computes in floats what its source rounds and cuts to codes after each layer, which adds up. Measured with 130 models of 8 bits:
// up to 8 codes after a loop of 10 steps, and 26 where a number lay beyond the range of an inner tensor. With
// 16 bits, a quarter of what the finer codes would take is allowed.
CodeTolerance tolerance_of_dequantized(int bits);

// The numbers that an element stands for lie `step` apart; the step of codes themselves is 1. What is as near to the expected codes as
// `own` agrees as well: that is how near the reference's own kernels are to each other.
Comparison compare_codes(const Tensor& expected, const Tensor& got, double step, CodeTolerance tolerance,
                         const CodeCount* own = nullptr);

}  // namespace t2o::verify
