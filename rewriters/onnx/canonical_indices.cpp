#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// Gather counts negative indices from the end by itself: Keras adds the size to them first.
namespace t2o::rewriters {
namespace {

// v is the size d for certain.
bool is_size(const Value* v, Dim d) {
  if (v->constant()) return is_known(d) && is_number(v, static_cast<double>(d));
  const auto& known = v->known_elements();
  return known && known->size() == 1 && d != kUnknownDim && (*known)[0] == d;
}

Dim gathered_size(const ir::Node& gather) {
  const Shape& x = gather.input(0)->shape();
  const auto at = gather.attr_or<std::int64_t>("axis", 0);
  if (!x.ranked() || at < -x.rank() || at >= x.rank()) return kUnknownDim;
  return x[static_cast<int>(at)];
}

}  // namespace

// x[where(i < 0, i + size, i)] -> x[i]
Rewriter canonical_indices() {
  const Pat x = any(), index = any(), size = any();
  const Pat zero = constant().where([](const Value* v) { return is_number(v, 0); });
  const Pat y = op("Gather", x, op("Where", op("Less", index, zero), op("Add", index, size), index));
  return rewriter("canonical_indices", y, [=](const Match& m, Rewrite& r) -> Value* {
    const ir::Node& gather = *m.root()->producer();
    const Value* i = m[index];
    if (!is_int(i->dtype()) || !i->shape().ranked() || i->shape().rank() != gather.input(1)->shape().rank() ||
        !is_size(m[size], gathered_size(gather)))
      return nullptr;
    return r.make("Gather", {m[x], m[index]}, gather.attrs());
  });
}

}  // namespace t2o::rewriters
