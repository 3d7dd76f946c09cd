#pragma once
#include <map>
#include <string>
#include <vector>

#include "op_mappers/context.h"

namespace t2o {

// Ops that are not mapped but kept as they are, for a runtime that has them: by TensorFlow's name, the domain they get.
class CustomOps {
 public:
  void add(const std::string& op);  // "Op" or "Op:domain"

  std::vector<std::string> names() const;
  const std::string* domain_of(const std::string& op) const;  // null: not one of them

 private:
  std::map<std::string, std::string> domains_;
};

void warn_of_idle(const CustomOps&, ir::Graph& source, Diagnostics&);  // of those that no node is

// Does the node make a handle (of a table, a queue, an iterator ...), whose contents other operations put there? The
// outputs do not need those operations, so that a converted graph has the handle alone.
bool has_contents_elsewhere(const ir::Node&);

// Can the node be kept as a custom op: are the types of its outputs known, and does it take and give no handle?
bool may_be_custom(const ir::Node&);

// The node with its inputs and attributes under another domain. TensorFlow's types become ONNX's numbers, its shapes lists of
// integers with -1 for what is not known; what ONNX has no attribute for (functions) is left out.
Values keep_custom(MapperContext&, const std::string& domain);

}  // namespace t2o
