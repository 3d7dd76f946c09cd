#pragma once
#include <vector>

#include "onnx/opset_table.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o {
class Emitter;
}

namespace t2o::rewriters {

// The role of a node in a change of form.
struct Role {
  enum class Kind : std::uint8_t {
    fixed,     // works only on tensors in their original form
    tied,      // works in either form; its data and its outputs have the same form
    absorbs,   // its data may have either form, its outputs keep the original form
    produces,  // its inputs keep the original form, its output may have either form
  };
  Kind kind = Kind::fixed;
  std::vector<std::size_t> data;  // the inputs that have a form; a constant among them is permuted at conversion
  std::int64_t cost = 0;          // the bytes that the permuted node transposes at run time
};
Role role_of(const ir::Node&, const Form&, const onnx::Target&);

// Makes a node whose role is not `fixed` work on permuted tensors: changes its attributes, axes and operands of lower rank. The
// caller permutes its data and its outputs.
void permute(ir::Node&, const Form&, const onnx::Target&);

// A Reshape that gives its result in another form: whether its sizes can be stated for that, and the sizes.
bool can_reshape_into(const ir::Node& reshape, const Form& of_result);
Value* sizes_in(const ir::Node& reshape, const Form& of_result, Emitter&);

// The cost of a Transpose, the same for both forms of a tensor. An unknown dim is a guess, except the batch, which all images have:
// interface.h names it.
std::int64_t transposed_bytes(const Value&);
// The cost of Transpose(v in a form of this shape, perm): a Reshape costs little, and single elements cost a multiple of runs.
std::int64_t transposing_cost(const Value& v, const Shape&, const Ints& perm);

Value* transpose_or_reshape(Emitter&, Value*, const Ints& perm);

}  // namespace t2o::rewriters
