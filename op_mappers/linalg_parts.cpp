#include <limits>
#include <numeric>

#include "op_mappers/linalg.h"
#include "op_mappers/segments.h"

namespace t2o::op_mappers {

namespace {
constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

DType work_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }
}  // namespace

Value* row_numbers(Emitter& e, Value* n) { return e.unsqueeze(iota(e, n), {1}); }  // [n, 1]

namespace {
// Without a rank: [product of the batch, rows, columns]
Value* transposed_of_any_rank(Emitter& e, Value* x) {
  Value* batch = e.dims(x, 0, -2);
  Value* rows = e.dims(x, -2, -1);
  Value* columns = e.dims(x, -1, std::numeric_limits<int>::max());
  Value* all = e.reduce("ReduceProd", batch, Ints{0}, true);
  Value* three = e.reshape_to(x, e.concat({all, rows, columns}, 0));
  return e.reshape_to(e.transpose(three, {0, 2, 1}), e.concat({batch, columns, rows}, 0));
}
}  // namespace

Value* transposed(Emitter& e, Value* x) {
  if (!x->shape().ranked()) return transposed_of_any_rank(e, x);
  Ints perm(static_cast<std::size_t>(x->shape().rank()));
  std::iota(perm.begin(), perm.end(), 0);
  if (perm.size() < 2) e.fail(Code::bad_model, "a matrix of fewer than two dimensions");
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return e.transpose(x, perm);
}

Value* eye_like(Emitter& e, Value* x, Value* n) {  // with the batch of x
  Value* rows = row_numbers(e, n);
  Value* eye = e.cast(e.equal(rows, iota(e, n)), x->dtype());
  if (x->shape().ranked() && x->shape().rank() == 2) return eye;
  Value* batch = e.dims(x, 0, -2);
  return e.expand(eye, e.concat({batch, e.ints({1, 1})}, 0));
}

Value* columns_from(Emitter& e, Value* x, Value* first) {
  Value* from = e.reshape(first, {1});
  Value* to = e.ints({kToEnd});
  return e.slice(x, from, to, e.ints({-1}));
}
Value* columns_before(Emitter& e, Value* x, Value* end) {
  Value* from = e.ints({0});
  Value* to = e.reshape(end, {1});
  return e.slice(x, from, to, e.ints({-1}));
}
Value* rows_from(Emitter& e, Value* x, Value* first) {
  Value* from = e.reshape(first, {1});
  Value* to = e.ints({kToEnd});
  return e.slice(x, from, to, e.ints({-2}));
}
Value* rows_before(Emitter& e, Value* x, Value* end) {
  Value* from = e.ints({0});
  Value* to = e.reshape(end, {1});
  return e.slice(x, from, to, e.ints({-2}));
}

Value* doubled(Emitter& e, Complex z) {
  Value* upper = e.concat({z.re, e.neg(z.im)}, -1);
  return e.concat({upper, e.concat({z.im, z.re}, -1)}, -2);
}

Value* smallest(Emitter& e, Value* like) {
  return e.scalar_like(like, like->dtype() == DType::f64
                                 ? std::numeric_limits<double>::min()
                                 : static_cast<double>(std::numeric_limits<float>::min()));
}

// As TensorFlow has it, a tail that has no square to speak of is left as it is.
Reflector reflector(Emitter& e, Value* x, Value* k, Value* m) {
  Value* zero = e.scalar_like(x, 0);
  Value* one = e.scalar_like(x, 1);
  Value* rows = row_numbers(e, m);
  Value* column = e.gather(x, k, -1);
  Value* head = e.gather(column, k, -2);
  Value* tail = e.where(e.greater(rows, k), column, zero);
  Value* tail_square = e.reduce("ReduceSum", e.mul(tail, tail), Ints{-2}, true);
  Value* norm = e.sqrt(e.add(e.mul(head, head), tail_square));
  Value* beta = e.where(e.less(head, zero), norm, e.neg(norm));
  Value* is_on = e.greater(tail_square, smallest(e, x));
  Value* tau = e.where(is_on, e.div(e.sub(beta, head), beta), zero);
  Value* scaled = e.where(is_on, e.div(tail, e.sub(head, beta)), zero);
  return {e.where(e.equal(rows, k), one, scaled), tau};
}

Value* reflected(Emitter& e, Value* x, const Reflector& r) {
  Value* projection = e.reduce("ReduceSum", e.mul(r.w, x), Ints{-2}, true);
  return e.sub(x, e.mul(e.mul(r.tau, r.w), projection));
}

Value* matrix(MapperContext& c, std::size_t input) {
  Value* x = c.in(input);
  if (is_complex(x->dtype()))
    c.fail(Code::unsupported_type, "linear algebra of complex numbers is not supported");
  return c.cast(x, work_type(x->dtype()));
}

}  // namespace t2o::op_mappers
