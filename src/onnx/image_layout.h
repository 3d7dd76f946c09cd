#pragma once
#include "ir/graph.h"

// ONNX's operators on images have the channels as the second axis; TensorFlow's mostly have them as the last.
namespace t2o::onnx {

Ints channels_first_perm(int rank);           // of the Transpose from channels last: [0, 3, 1, 2]
Ints channels_last_perm(int rank);            // of the one back: [0, 2, 3, 1]
bool moves_channels_first(const Ints& perm);  // of an image, which has a spatial axis at least

}  // namespace t2o::onnx
