#include "onnx/batches.h"

#include <algorithm>

namespace t2o::onnx {
namespace {

constexpr std::int64_t kBigWeights = std::int64_t{1} << 16;

// The size of the batch axis that is the i-th before the matrix; 1 where there is none.
Dim batch_dim(const Value* v, int i) {
  const int axis = v->shape().rank() - 3 - i;
  return axis < 0 ? Dim{1} : v->shape()[axis];
}

bool is_empty(const Value* v) {
  const Ints& dims = v->shape().dims();
  return contains(dims, 0);
}

bool may_be_empty(const Value* v) {
  const Shape& s = v->shape();
  if (!s.ranked()) return true;
  for (int i = 0; i + 2 < s.rank(); ++i)
    if (s[i] <= 0) return true;
  return false;
}

// The size over which products are summed may turn out to be 0. ONNX Runtime gives sums of nothing the batch
// of a alone where it has one.
bool may_sum_nothing(const Value* a, const Value* b) { return a->shape()[-1] < 0 && b->shape()[-2] < 0; }

enum class Repeats : std::uint8_t { none, to_nothing, to_all };

// Whether v is 1 somewhere where the other may be 0; where it is not 1, of products of nothing.
Repeats repeats(const Value* v, const Value* other, int batch_rank, bool sums_nothing = false) {
  Repeats most = Repeats::none;
  for (int i = 0; i < batch_rank && !are_too_big(v); ++i) {
    const Dim d = batch_dim(other, i);
    if (batch_dim(v, i) != 1 || d == 1) continue;
    if (is_empty(v) || is_empty(other)) return Repeats::to_all;
    if (d <= 0 || (sums_nothing && i + 2 < v->shape().rank())) most = Repeats::to_nothing;
  }
  return most;
}

bool is_one_for_all(const Value* v, int batch_rank) {
  for (int i = 0; i < batch_rank; ++i)
    if (batch_dim(v, i) != 1) return false;
  return true;
}

// Where the other has a batch of 0, so has it; else, unless it is to be there for each of the batch, it is
// one for all. Sums of nothing, if their number is given, are of each of the batch.
Value* repeated(Emitter& e, Value* v, Value* other, Repeats how, Value* summed = nullptr) {
  if (how == Repeats::none) return v;
  Value* batch = e.dims(other, 0, -2);
  if (how == Repeats::to_nothing) {
    Value* most = e.ints({1});
    if (summed) most = e.where(e.equal(summed, e.ints({0})), batch, most);
    batch = e.minimum(batch, most);
  }
  return e.expand(v, e.concat({batch, e.ints({1, 1})}, 0));
}

}  // namespace

bool are_too_big(const Value* weights) {
  return weights->constant() && weights->shape().elements().value_or(0) > kBigWeights;
}

Value* with_batch_of(Emitter& e, Value* matrix, Value* other) {
  return may_be_empty(other) ? repeated(e, matrix, other, Repeats::to_nothing) : matrix;
}

Operands with_common_batch(Emitter& e, Value* a, Value* b) {
  const Shape &x = a->shape(), &y = b->shape();
  if (!x.ranked() || !y.ranked() || x.rank() < 2 || y.rank() < 2) return {a, b};
  const int batch_rank = std::max(x.rank(), y.rank()) - 2;
  if (is_one_for_all(b, batch_rank)) return {a, b};
  const bool sums_nothing = may_sum_nothing(a, b);
  const Repeats of_a = repeats(a, b, batch_rank, sums_nothing);
  Value* summed = sums_nothing && of_a == Repeats::to_nothing ? e.dims(a, x.rank() - 1, x.rank()) : nullptr;
  return {repeated(e, a, b, of_a, summed), repeated(e, b, a, repeats(b, a, batch_rank))};
}

}  // namespace t2o::onnx
