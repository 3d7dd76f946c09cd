#include "onnx/meaning.h"

#include <string>

namespace t2o::onnx {
namespace {
constexpr std::string_view kMeanings[] = {kNan, kEmpty, kBits, kWindows};
}

bool has_meaning(const ir::Node& n, std::string_view attr, std::string_view value) {
  const auto* stated = n.attr_if<std::string>(attr);
  return stated && *stated == value;
}

void copy_meanings(ir::Graph& g, const ir::Node& from, Value* to) {
  ir::Node* n = to->producer();
  while (n && n->op() == "Cast") n = n->input(0)->producer();
  for (const std::string_view attr : kMeanings)
    if (const auto* stated = from.attr_if<std::string>(attr); n && stated)
      g.set_attr(*n, std::string(attr), *stated);
}

bool drop_meanings(ir::Graph& g, ir::Node& n) {
  bool changed = false;
  for (const std::string_view attr : kMeanings)
    if (n.attr(attr)) {
      g.remove_attr(n, attr);
      changed = true;
    }
  return changed;
}

}  // namespace t2o::onnx
