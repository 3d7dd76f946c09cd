#pragma once
#include <memory>
#include <string_view>

#include "ir/graph.h"

namespace t2o::onnx {

// The elements of the small list of integers that `op` computes from lists with known elements, for operators of shape
// arithmetic that onnx itself propagates nothing for. Entries as in Value::known_elements. Null if unknown.
std::shared_ptr<const Ints> elements_of_result(std::string_view op, const Values& inputs, const Attrs&, Symbols&);

// Adds dims that follow from symbols and that onnx's inference leaves open: the size that a Reshape infers, the length of a
// Range, the result of a convolution of a symbolic size. Returns `inferred` if there is nothing to add.
Shape refined_shape(std::string_view op, const Values& inputs, const Attrs&, const Shape& inferred, Symbols&);

}  // namespace t2o::onnx
