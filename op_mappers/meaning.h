#pragma once
#include "onnx/emitter.h"
#include "onnx/meaning.h"

namespace t2o::op_mappers {

// States what the node means that has just computed y (onnx/meaning.h); casts behind it do not matter. A value that was
// folded to a constant needs none. Returns y.
inline Value* meaning(Emitter& e, Value* y, std::string_view attr, std::string_view value) {
  onnx::set_meaning(e.graph(), y, attr, value);
  return y;
}

}  // namespace t2o::op_mappers
