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

// What the ONNX schema's own inference says of the outputs of a node. Throws ConversionError (bad_model) when the schema's
// inference finds a contradiction.
std::vector<Inferred> infer(const OpInfo&, const Values& inputs, const Attrs&, std::size_t outputs, Symbols&);

}  // namespace t2o::onnx
