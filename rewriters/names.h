#pragma once
#include <string>

#include "ir/graph.h"

namespace t2o {

// Of a constant that belongs to a node, such as "dense/MatMul/bias". The node's value may have no name yet.
inline std::string name_below(const ir::Node& n, const std::string& what) {
  const std::string& value = n.output()->name();
  const std::string& label = n.origin().label();
  return (!value.empty() ? value : !label.empty() ? label : n.op()) + "/" + what;
}

}  // namespace t2o
