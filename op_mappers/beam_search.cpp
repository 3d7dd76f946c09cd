#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

Value* gathered(Emitter& e, Value* x, Value* at) { return e.emit("GatherElements", {x, at}, {{"axis", 1}}); }

// From the last step of each batch entry to the first: where a beam's id came from. Steps behind the last one
// have the end token.
Value* followed(MapperContext& c, Value* ids, Value* parents, Value* lengths, Value* end) {
  Value* steps = c.dim(ids, 0);
  Value* beams = c.dim(ids, 2);
  Value* highest = c.sub(beams, c.i64(1));
  Value* first = c.expand(iota(c, beams), c.dims(ids, 1, 3));
  const auto step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    Value* time = e.sub(e.sub(steps, e.i64(1)), k);
    Value* is_within = e.less(time, lengths);
    Value* id = gathered(e, e.squeeze(e.gather(ids, time, 0), {0}), state[0]);
    Value* parent = gathered(e, e.squeeze(e.gather(parents, time, 0), {0}), state[0]);
    Value* place = e.minimum(e.maximum(parent, e.i64(0)), highest);
    return {e.where(is_within, place, state[0]), e.where(is_within, id, end)};
  };
  Value* backwards = counted_loop(c, steps, {first}, step)[1];
  return c.slice(backwards, {-1}, {std::numeric_limits<std::int64_t>::min()}, {0}, {-1});
}

// What stands behind a first end token is the end token too.
Value* ended(MapperContext& c, Value* ids, Value* end) {
  Value* ends = c.cast(c.equal(ids, end), DType::i32);
  Value* before = c.cumsum(ends, c.i64(0), true, false);
  return c.where(c.greater(before, c.scalar(DType::i32, 0)), end, ids);
}

Values map_gather_tree(MapperContext& c) {
  Value* ids = c.in(0);
  Value* end = c.reshape(c.in(3), {});
  Value* parents = c.cast(c.in(1), DType::i64);
  Value* lengths = c.unsqueeze(c.cast(c.in(2), DType::i64), {1});
  Value* y = ended(c, followed(c, ids, parents, lengths, end), end);
  c.graph().set_type(y, y->dtype(), ids->shape().ranked() ? ids->shape() : Shape::unknown_dims(3));
  return {y};
}

}  // namespace

void register_beam_search(OpRegistry& r) {
  r.op("GatherTree", "Addons>GatherTree")
      .note("a parent out of range is replaced by the nearest one instead of an error")
      .by(map_gather_tree);
}

}  // namespace t2o::op_mappers
