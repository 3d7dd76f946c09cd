#include <algorithm>

#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime's MatMul does not broadcast a batch of 1 to a batch of 0, nor a plain matrix to an empty batch
// in the second operand. A Transpose of the first operand, which it takes into the product, must not meet a
// plain matrix if the batch is empty.
namespace t2o::rewriters {
namespace {

constexpr std::int64_t kBigWeights = std::int64_t{1} << 16;  // too big to repeat

// The size of the batch axis that is the i-th before the matrix; 1 where there is none.
Dim batch_dim(const Value* v, int i) {
  const int axis = v->shape().rank() - 3 - i;
  return axis < 0 ? Dim{1} : v->shape()[axis];
}

bool is_matrix(const Value* v) { return v->shape().ranked() && v->shape().rank() == 2; }

bool is_empty(const Value* v) {
  const Ints& dims = v->shape().dims();
  return contains(dims, 0);
}

bool may_have_no_batch(const Value* v) {
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
  if (v->constant() && v->shape().elements().value_or(0) > kBigWeights) return Repeats::none;
  Repeats most = Repeats::none;
  for (int i = 0; i < batch_rank; ++i) {
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

bool swaps_last_two(const ir::Node* n) {
  const Ints* perm = perm_of(n);
  if (!perm || perm->size() < 3) return false;
  const auto rank = static_cast<std::int64_t>(perm->size());
  return (*perm)[perm->size() - 1] == rank - 2 && (*perm)[perm->size() - 2] == rank - 1;
}

struct Plan {
  Repeats a = Repeats::none, b = Repeats::none;
  bool sums_nothing = false;
};

Plan plan(const Value* a, const Value* b) {
  const Repeats for_batch_of_a = may_have_no_batch(a) ? Repeats::to_nothing : Repeats::none;
  if (is_matrix(b)) return {.b = swaps_last_two(a->producer()) ? for_batch_of_a : Repeats::none};
  if (is_matrix(a) && !b->shape().ranked()) return {.a = Repeats::to_nothing};
  const Shape &x = a->shape(), &y = b->shape();
  if (!x.ranked() || !y.ranked() || x.rank() < 2 || y.rank() < 2) return {};
  const int batch_rank = std::max(x.rank(), y.rank()) - 2;
  if (is_one_for_all(b, batch_rank)) return {};
  const bool sums_nothing = may_sum_nothing(a, b);
  return {repeats(a, b, batch_rank, sums_nothing), repeats(b, a, batch_rank), sums_nothing};
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

int guard(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  Value *a = n.input(0), *b = n.input(1);
  const Plan p = plan(a, b);
  if (p.a == Repeats::none && p.b == Repeats::none) return 0;
  if (!may_be_empty(target, a) && !may_be_empty(target, b)) return 0;
  Emitter e(n, target);
  const bool counts = p.sums_nothing && p.a == Repeats::to_nothing;
  Value* summed = counts ? e.dims(a, a->shape().rank() - 1, a->shape().rank()) : nullptr;
  Value* left = repeated(e, a, b, p.a, summed);
  Value* right = repeated(e, b, a, p.b);
  g.set_input(n, 0, left);
  g.set_input(n, 1, right);
  return 1;
}

}  // namespace

Rewriter empty_batches(const onnx::Target& target) {
  return change_each("empty_batches", {"MatMul"}, target, guard);
}

}  // namespace t2o::rewriters
