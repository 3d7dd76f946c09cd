#pragma once
#include <optional>
#include <string_view>

#include "ir/attr.h"
#include "ir/graph.h"

namespace t2o::tf {

// TensorFlow's DataType number; a reference type gives its base. Refuses numbers that have no DType.
DType dtype_from_number(std::uint64_t number);
std::uint64_t dtype_number(DType);  // refuses what TensorFlow does not have

// What an AttrValue may need from outside.
struct AttrContext {
  Owner owner;                            // kept by tensors
  const Attrs* function_attrs = nullptr;  // what placeholders ("$T") stand for
};

// Booleans become 0 and 1. `type` is the op definition's ("list(shape)"): an empty list does not tell its
// kind itself.
Attr decode_attr(Bytes attr_value, const AttrContext&, std::string_view type = {});
bool is_of_type(const Attr&, std::string_view type);
Strings function_names(Bytes attr_value);  // of an attribute of type func or list(func)

Shape decode_shape(Bytes shape_proto);
TensorPtr decode_tensor(Bytes tensor_proto, const Owner&);  // views tensor_content where the layout allows

}  // namespace t2o::tf
