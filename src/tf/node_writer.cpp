#include "tf/node_writer.h"

#include "support/wire_writer.h"

namespace t2o::tf {

std::string shape_proto(const Shape& s) {
  std::string out;
  if (!s.ranked()) {
    append_number(out, 3, 1);
    return out;
  }
  for (const Dim d : s.dims()) {
    std::string dim;
    append_number(dim, 1, static_cast<std::uint64_t>(is_known(d) ? d : -1));
    append_field(out, 2, dim);
  }
  return out;
}

std::string type_value(DType t) {
  std::string out;
  append_number(out, 6, dtype_number(t));
  return out;
}

std::string types_value(const DTypes& types) {
  std::string list, out;
  for (const DType t : types) append_number(list, 6, dtype_number(t));
  append_field(out, 1, list);
  return out;
}

std::string shape_value(const Shape& s) {
  std::string out;
  append_field(out, 7, shape_proto(s));
  return out;
}

std::string function_value(std::string_view name) {
  std::string function, out;
  append_field(function, 1, name);
  append_field(out, 10, function);
  return out;
}

NodeWriter::NodeWriter(std::string_view name, std::string_view op) {
  append_field(text_, 1, name);
  append_field(text_, 2, op);
}

NodeWriter& NodeWriter::input(std::string_view tensor) {
  append_field(text_, 3, tensor);
  return *this;
}

NodeWriter& NodeWriter::device(std::string_view device) {
  if (!device.empty()) append_field(text_, 4, device);
  return *this;
}

NodeWriter& NodeWriter::attr(std::string_view name, std::string_view attr_value) {
  std::string entry;
  append_field(entry, 1, name);
  append_field(entry, 2, attr_value);
  append_field(text_, 5, entry);
  return *this;
}

}  // namespace t2o::tf
