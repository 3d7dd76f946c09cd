#pragma once
#include "tflite/op.h"

namespace t2o::tflite {

// The input x of a fully connected layer of floats whose weights are 8-bit codes. LiteRT rounds x to 8 bits in each run; the export
// computes with x itself, which is more exact. In a loop whose results are its next inputs the difference may grow from round to round
// without end. There the export rounds as XNNPACK does, whatever the file says of `asymmetric_quantize_inputs`: each row has a range of its
// own. The last axis of x must be that of the weights.
Value* rounded_if_fed_back(Op&, Value* x);

}  // namespace t2o::tflite
