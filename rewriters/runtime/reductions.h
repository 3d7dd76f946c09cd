#pragma once
#include <optional>
#include <string>

#include "onnx/emitter.h"

// What the rows of reductions share.
namespace t2o::rewriters {

bool keeps_dims(const ir::Node&);
std::optional<Ints> reduced_axes(const ir::Node&);  // from the front, ascending, each once; none where they are not known
Value* reduce_like(Emitter&, const std::string& op, Value* x, const ir::Node& like, bool keeps_dims);  // over the same axes

}  // namespace t2o::rewriters
