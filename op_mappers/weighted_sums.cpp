#include "op_mappers/weighted_sums.h"

#include <limits>

namespace t2o::op_mappers {

// The finite numbers' sum, and infinities wherever one of that sign counts; a NaN counts as both.
Value* weighted_sums(Emitter& e, Value* x, const Weights& weights,
                     const std::function<Value*(Value*, Value*)>& product) {
  Value* matrix = weights.matrix;
  if (!is_float(x->dtype()) || !e.strict()) return product(x, matrix);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value* zero = e.scalar_like(x, 0);
  Value* infinity = e.scalar_like(x, kInfinity);
  Value* minus_infinity = e.scalar_like(x, -kInfinity);
  Value* below = e.less(x, infinity);
  Value* above = e.greater(x, minus_infinity);
  Value* sum = product(e.where(e.logical_and(below, above), x, zero), matrix);
  Value* up = e.cast(e.logical_not(below), x->dtype());
  Value* down = e.cast(e.logical_not(above), x->dtype());
  Value* keeps = weights.keeps ? weights.keeps : e.cast(e.greater(matrix, zero), x->dtype());
  Value* ups = product(up, keeps);
  Value* downs = product(down, keeps);
  if (weights.turns) {
    ups = e.add(ups, product(down, weights.turns));
    downs = e.add(downs, product(up, weights.turns));
  }
  Value* raised = e.where(e.greater(ups, zero), infinity, sum);
  return e.where(e.greater(downs, zero), e.add(raised, minus_infinity), raised);
}

}  // namespace t2o::op_mappers
