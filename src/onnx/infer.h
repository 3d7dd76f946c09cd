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

TensorPtr as_tensor(const Inferred&);   // a constant if every element is known, else null
TensorPtr as_nothing(const Inferred&);  // an empty constant if a size is known to be 0 (a runtime may not be able to compute it), else null

// The types and shapes of a node's outputs, from the ONNX schema's own inference. Throws ConversionError (bad_model) if the
// inference finds a contradiction.
std::vector<Inferred> infer(const OpInfo&, const Values& inputs, const Attrs&, std::size_t outputs, Symbols&);

}  // namespace t2o::onnx
