#include "onnx/meaning.h"

#include <string>

namespace t2o::onnx {

bool has_meaning(const ir::Node& n, std::string_view attr, std::string_view value) {
  const auto* stated = n.attr_if<std::string>(attr);
  return stated && *stated == value;
}

bool drop_meanings(ir::Graph& g, ir::Node& n) {
  bool changed = false;
  for (const std::string_view attr : {kNan, kEmpty, kBits})
    if (n.attr(attr)) {
      g.remove_attr(n, attr);
      changed = true;
    }
  return changed;
}

}  // namespace t2o::onnx
