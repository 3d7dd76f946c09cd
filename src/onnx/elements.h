#pragma once
#include <memory>
#include <string_view>

#include "ir/graph.h"

namespace t2o::onnx {

// The elements of a small list of integers that `op` makes of lists whose elements are known, for the operators of shape
// arithmetic for which onnx itself propagates nothing. Entries as Value::known_elements. Null: not known.
std::shared_ptr<const Ints> elements_of_result(std::string_view op, const Values& inputs, const Attrs&, Symbols&);

// Dims that onnx's inference leaves open though they follow from the symbols: the size that a Reshape infers, the length of a
// Range, what a convolution of a symbolic size gives. `inferred` where there is nothing to add.
Shape refined_shape(std::string_view op, const Values& inputs, const Attrs&, const Shape& inferred, Symbols&);

}  // namespace t2o::onnx
