#include "op_mappers/apply.h"

#include "onnx/raise_opset.h"
#include "op_mappers/registry.h"

namespace t2o::op_mappers {

Values apply(MapperContext& c, const std::string& op, Values inputs) {
  const OpRegistry::Entry* row = tf_registry().find(op, c.opset());
  if (!row) {
    if (!tf_registry().knows(op))
      c.fail(Code::internal, "no row for " + op, "this is a bug: please report it with the model");
    const int lowest = tf_registry().lowest_opset(op);
    c.fail(Code::opset_too_low, "needs " + op + ", which needs opset " + std::to_string(lowest),
           onnx::raise_opset(lowest, c.target()));
  }
  if (!row->map) c.fail(Code::internal, op + " is mapped with its graph and cannot be applied to values");
  MapperContext inner(c.node(), std::move(inputs), c.graph(), c.target());
  Values out = row->map(inner);
  c.also_read_by(inner);
  return out;
}

}  // namespace t2o::op_mappers
