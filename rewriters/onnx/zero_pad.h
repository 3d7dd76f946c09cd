#pragma once
#include "ir/graph.h"

namespace t2o::rewriters {

// A Pad with zeros, with constant amounts for all axes.
inline bool is_zero_pad(const ir::Node& n, bool of_floats = true) {
  const auto* mode = n.attr_if<std::string>("mode");
  const Value* fill = n.input(2);
  return n.op() == "Pad" && is_float(n.input(0)->dtype()) == of_floats && (!mode || *mode == "constant") && n.input(1)->constant() && !n.input(3) &&
         (!fill || (fill->constant() && fill->constant()->elements() == 1 && fill->constant()->float_at(0) == 0));
}

}  // namespace t2o::rewriters
