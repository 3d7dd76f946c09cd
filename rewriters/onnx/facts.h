#pragma once
#include <optional>

#include "ir/graph.h"
#include "onnx/opset_table.h"
#include "onnx/schema.h"

// What can be said of a value or a node of an ONNX graph.
namespace t2o::rewriters {

// The one node that reads the value, in this graph; null where there is another reader or it is a graph output.
ir::Node* only_reader(const Value*);

std::optional<double> number_of(const Value*);  // of a constant of one element, integer or floating-point; the value may be null
bool is_number(const Value*, double number);    // it is exactly that
std::optional<double> uniform_number(const Value*);      // that all its elements are, however many
bool is_scalar_constant(const Value*);          // a single floating-point number

bool is_never_negative(const Value*);  // no number of it is below zero; a NaN may be

std::optional<Ints> axes_of(const ir::Node&);  // an attribute or, in later opsets, a constant input, as they stand there

int from_front(std::int64_t axis, int rank);        // -1 is the last
int axis_of(const ir::Node&, const Value* of, std::int64_t otherwise);  // its `axis` among those of the value, counted from the front
bool reduces_some(const ir::Node&);                 // some numbers go into each result, as is known, along axes that are named

bool equal_dims(Dim, Dim);  // for certain
bool same_size(Dim, Dim);   // and not 0
// What was split into heads, [batch, row, width], when that is certain of [batch, row, heads, width of one]; else null.
Value* before_heads(const Value*, std::int64_t width);

// The element types that the runtime has a kernel for, of an operator that it has; else none.
onnx::DTypeSet kernel_types(const char* op, const onnx::Target&);

}  // namespace t2o::rewriters
