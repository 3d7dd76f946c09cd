#include "op_mappers/wide_integers.h"

#include <algorithm>
#include <limits>

namespace t2o::op_mappers {
namespace {

bool are_sizes(const Value* a, const Value* b) { return a->known_elements() && b->known_elements(); }

// With the least number behind it, which is what TensorFlow gives of no numbers.
Value* not_empty(Emitter& e, Value* x, std::int64_t axis, bool of_max) {
  if (!x->shape().ranked() || x->shape()[static_cast<int>(axis)] > 0) return x;
  Value* worst = e.constant(of_max ? std::numeric_limits<std::int64_t>::min()
                                   : std::numeric_limits<std::int64_t>::max());
  Ints pads(static_cast<std::size_t>(2 * x->shape().rank()), 0);
  pads[static_cast<std::size_t>(x->shape().rank() + axis)] = 1;
  return e.pad(x, e.ints(pads), worst);
}

}  // namespace

Value* larger(Emitter& e, Value* a, Value* b) {
  if (a->dtype() != DType::i64 || are_sizes(a, b)) return e.maximum(a, b);
  return e.where(e.greater(a, b), a, b);
}

Value* smaller(Emitter& e, Value* a, Value* b) {
  if (a->dtype() != DType::i64 || are_sizes(a, b)) return e.minimum(a, b);
  return e.where(e.less(a, b), a, b);
}

Value* reduced_wide(Emitter& e, const std::string& op, Value* x, const Ints& axes, bool keep_dims) {
  const bool of_max = op == "ReduceMax";
  Ints reduced;
  for (const std::int64_t a : axes) reduced.push_back(a < 0 ? a + x->shape().rank() : a);
  std::sort(reduced.begin(), reduced.end());
  reduced.erase(std::unique(reduced.begin(), reduced.end()), reduced.end());
  for (const std::int64_t axis : reduced) {
    x = not_empty(e, x, axis, of_max);
    Value* place = e.emit(of_max ? "ArgMax" : "ArgMin", {x}, {{"axis", axis}, {"keepdims", std::int64_t{1}}});
    x = e.emit("GatherElements", {x, place}, {{"axis", axis}});
  }
  return keep_dims || reduced.empty() ? x : e.squeeze(x, reduced);
}

}  // namespace t2o::op_mappers
