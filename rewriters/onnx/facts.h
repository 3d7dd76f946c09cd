#pragma once
#include <optional>

#include "ir/graph.h"
#include "onnx/facts.h"
#include "onnx/opset_table.h"
#include "onnx/schema.h"

// Facts about values and nodes of an ONNX graph.
namespace t2o::rewriters {

using onnx::is_never_negative;
using onnx::uniform_number;

bool is_op(const ir::Node*, std::string_view op);  // false for null
const Ints* perm_of(const ir::Node*);              // the attribute of a Transpose; null for others, and if it is missing

// The letters of an Einsum of two operands, "a,b->y", without blanks. Nullopt for other nodes.
struct EinsumLetters {
  std::string a, b, y;
};
std::optional<EinsumLetters> einsum_letters(const ir::Node&);
bool repeats_elements(const ir::Node*);  // a Resize that only repeats elements, by constant scales; false for null

// The only reader of the value. Null if the value has several readers, a reader in another graph, or is a graph output.
ir::Node* only_reader(const Value*);

std::optional<double> number_of(const Value*);  // the element of a one-element constant; accepts null
bool is_number(const Value*, double number);    // a constant with this one element
bool is_scalar_constant(const Value*);          // a single floating-point number

std::optional<Ints> axes_of(const ir::Node&);  // from the attribute or, in later opsets, the constant input; unchanged

int from_front(std::int64_t axis, int rank);        // -1 is the last
int axis_of(const ir::Node&, const Value* of, std::int64_t otherwise);  // attribute `axis`, else `otherwise`; counted from the front
bool reduces_some(const ir::Node&);                 // the axes are stated, and each result is known to combine at least one element

bool equal_dims(Dim, Dim);  // for certain
bool same_size(Dim, Dim);   // and not 0
// For a value [batch, row, heads, width of a head] that is certainly a split of [batch, row, width]: that tensor. Else null.
Value* before_heads(const Value*, std::int64_t width);

using onnx::kernel_types;
using onnx::op_info;

}  // namespace t2o::rewriters
