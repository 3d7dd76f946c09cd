#pragma once
#include "onnx/loop.h"

namespace t2o::op_mappers {

using onnx::counted_loop;
using onnx::counted_loop_of_any_size;
using onnx::Step;

}  // namespace t2o::op_mappers
