#pragma once
#include <memory>
#include <string_view>

#include "ir/graph.h"

namespace t2o::onnx {

// The elements of a small list of integers that `op` makes of lists whose elements are known, for the operators of shape
// arithmetic for which onnx itself propagates nothing. Entries as Value::known_elements. Null: not known.
std::shared_ptr<const Ints> elements_of_result(std::string_view op, const Values& inputs, const Attrs&);

}  // namespace t2o::onnx
