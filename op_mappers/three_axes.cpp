#include "op_mappers/three_axes.h"

#include <limits>

#include "onnx/reshape.h"

namespace t2o::op_mappers {

Sides sides(Emitter& e, Value* x, Value* axis) {
  Value* dims = e.shape_of(x);
  Value* next = e.add(axis, e.i64(1));
  Value* first = e.ints({0});
  Value* end = e.ints({std::numeric_limits<std::int64_t>::max()});
  Value* along = e.ints({0});
  return {e.slice(dims, first, axis, along), e.slice(dims, axis, next, along),
          e.slice(dims, next, end, along)};
}

Value* as_three(Emitter& e, Value* x, const Sides& s) {
  Value* outer = e.product(s.before);
  Value* inner = e.product(s.after);
  return reshape_even_if_empty(e, x, e.concat({outer, s.size, inner}, 0));
}

Value* from_three(Emitter& e, Value* y, const Sides& s) {
  return reshape_even_if_empty(e, y, e.concat({s.before, e.dims(y, 1, 2), s.after}, 0));
}

Value* counted_from_front(Emitter& e, Value* axes, Value* x) {
  Value* rank = e.maximum(e.rank_of(x), e.i64(1));
  return e.mod(e.reshape(e.cast(axes, DType::i64), {-1}), rank);
}

}  // namespace t2o::op_mappers
