#include "onnx/meaning.h"

#include <string>

namespace t2o::onnx {
namespace {
constexpr std::string_view kMeanings[] = {kNan, kEmpty, kBits, kWindows};
}

void set_meaning(ir::Graph& g, Value* y, std::string_view attr, std::string_view value) {
  ir::Node* n = y->producer();
  while (n && n->op() == "Cast") n = n->input(0)->producer();
  if (n) g.set_attr(*n, std::string(attr), std::string(value));
}

bool take_meaning(ir::Graph& g, ir::Node& n, std::string_view attr, std::string_view value) {
  const auto* stated = n.attr_if<std::string>(attr);
  if (!stated || *stated != value) return false;
  g.remove_attr(n, attr);
  return true;
}

void copy_meanings(ir::Graph& g, const ir::Node& from, Value* to) {
  for (const std::string_view attr : kMeanings)
    if (const auto* stated = from.attr_if<std::string>(attr)) set_meaning(g, to, attr, *stated);
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
