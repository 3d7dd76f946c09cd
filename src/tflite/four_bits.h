#pragma once
#include <optional>

#include "tflite/op.h"

namespace t2o::tflite {

// A convolution of 8-bit codes with a filter of 4-bit codes. LiteRT computes it with its builtin kernel (XNNPACK has none), which
// rounds a result twice: to a fraction of a code, and then to a code. Both roundings are one, of a result that is half of the fraction
// higher, and that half is a part of the bias. It is less than one step of the products, so the filter's codes get three more bits:
// the number of each is the same, and the bias counts eighths of a step.
struct FourBitConv {
  Value* filter;  // numbers
  Value* bias;
};
std::optional<FourBitConv> four_bit_conv(Op&);  // nothing: another kind of convolution

}  // namespace t2o::tflite
