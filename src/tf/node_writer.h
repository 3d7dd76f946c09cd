#pragma once
#include <string>
#include <string_view>

#include "tf/attr_value.h"

// Serialized NodeDefs and AttrValues.
namespace t2o::tf {

std::string type_value(DType);
std::string types_value(const DTypes&);
std::string shape_value(const Shape&);
std::string function_value(std::string_view name);

std::string shape_proto(const Shape&);

class NodeWriter {
 public:
  NodeWriter(std::string_view name, std::string_view op);
  NodeWriter& input(std::string_view tensor);
  NodeWriter& device(std::string_view);
  NodeWriter& attr(std::string_view name, std::string_view attr_value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace t2o::tf
