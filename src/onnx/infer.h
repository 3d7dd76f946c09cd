#pragma once
#include <memory>
#include <vector>

#include "ir/graph.h"
#include "onnx/schema.h"

namespace t2o::onnx {

struct Inferred {
  DType dtype = DType::undefined;
  Shape shape;
  std::shared_ptr<const Ints> elements;  // as Value::known_elements
};

TensorPtr as_tensor(const Inferred&);   // when every element is known, else null
TensorPtr as_nothing(const Inferred&);  // when a size is known to be 0: there is nothing to compute, nor may a runtime be able to

// What the ONNX schema's own inference says of the outputs of a node. Throws ConversionError (bad_model) when the schema's
// inference finds a contradiction.
std::vector<Inferred> infer(const OpInfo&, const Values& inputs, const Attrs&, std::size_t outputs, Symbols&);

}  // namespace t2o::onnx
