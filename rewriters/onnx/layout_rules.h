#pragma once
#include <vector>

#include "onnx/opset_table.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o::rewriters {

// How a node takes part in a change of form.
struct Role {
  enum class Kind : std::uint8_t {
    fixed,     // works on tensors as they are
    tied,      // its data and its outputs are in one form, whichever
    absorbs,   // its data may come in either form, its outputs stay as they are
    produces,  // its inputs stay as they are, its output may be in either form
  };
  Kind kind = Kind::fixed;
  std::vector<std::size_t> data;  // the inputs that have a form; of a constant among them, the permuted one is made
  std::int64_t cost = 0;          // what permuting the node itself takes: bytes that it then transposes when the model runs
};
Role role_of(const ir::Node&, const Form&, const onnx::Target&);

// Makes the node, whose role is not fixed, work on permuted tensors: attributes, axes, operands of lower rank. Its data and its
// outputs are the caller's.
void permute(ir::Node&, const Form&, const onnx::Target&);

std::int64_t transposed_bytes(const Shape&, DType);  // what a Transpose costs; a guess where dims are not known

}  // namespace t2o::rewriters
