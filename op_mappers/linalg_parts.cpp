#include <algorithm>
#include <cmath>
#include <limits>

#include "op_mappers/linalg.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

DType work_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// Without a rank: [product of the batch, rows, columns]
Value* transposed_of_any_rank(Emitter& e, Value* x) {
  Value* batch = e.dims(x, 0, -2);
  Value* rows = e.dims(x, -2, -1);
  Value* columns = e.dims(x, -1, std::numeric_limits<int>::max());
  Value* all = e.product(batch);
  Value* three = e.reshape_to(x, e.concat({all, rows, columns}, 0));
  return e.reshape_to(e.transpose(three, {0, 2, 1}), e.concat({batch, columns, rows}, 0));
}

}  // namespace

Value* row_numbers(Emitter& e, Value* n) { return e.unsqueeze(iota(e, n), {1}); }  // [n, 1]

Value* transposed(Emitter& e, Value* x) {
  if (!x->shape().ranked()) return transposed_of_any_rank(e, x);
  Ints perm = ints_from(0, x->shape().rank());
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
  Value* to = e.ints({onnx::kToEnd});
  return e.slice(x, from, to, e.ints({-1}));
}
Value* columns_before(Emitter& e, Value* x, Value* end) {
  Value* from = e.ints({0});
  Value* to = e.reshape(end, {1});
  return e.slice(x, from, to, e.ints({-1}));
}
Value* rows_from(Emitter& e, Value* x, Value* first) {
  Value* from = e.reshape(first, {1});
  Value* to = e.ints({onnx::kToEnd});
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

// Column j of the bands has what row j of the matrix has: of a lower triangle from the main diagonal down, of
// an upper one to the main diagonal.
Value* matrix_of_bands(Emitter& c, Value* bands, bool lower) {
  Value* n = c.dim(bands, -1);
  Value* count = c.dim(bands, -2);
  Value* last = c.sub(count, c.i64(1));
  Value* rows = row_numbers(c, n);
  Value* band = c.sub(rows, iota(c, n));
  if (!lower) band = c.add(band, last);
  Value* place = c.minimum(c.maximum(band, c.i64(0)), last);
  Value* side = c.reshape(n, {1});
  Value* square = c.concat({c.dims(bands, 0, -2), side, side}, 0);
  Value* at = c.expand(place, square);
  Value* entries = c.emit("GatherElements", {transposed(c, bands), at}, {{"axis", -1}});
  return c.where(c.equal(band, place), entries, c.scalar_like(bands, 0));
}

Value* matrix_of_diagonals(MapperContext& c, Value* diagonals) {
  if (c.flag("perturb_singular"))
    c.fail(Code::unsupported_attr, "perturb_singular is not supported", "solve without it");
  c.flag("partial_pivoting");
  Value* n = c.dim(diagonals, -1);
  Value* rows = row_numbers(c, n);
  Value* distance = c.sub(iota(c, n), rows);
  Value* dense = c.scalar_like(diagonals, 0);
  for (const std::int64_t i : {0, 1, 2}) {  // above, on and below the main diagonal
    Value* entries = transposed(c, c.gather(diagonals, c.ints({i}), -2));
    Value* here = c.equal(distance, c.i64(1 - i));
    dense = c.where(here, entries, dense);
  }
  return dense;
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

namespace {

// Exponents of two. Numbers below `small` are scaled by `more`, those above `great` by `less`. Then the
// squares of the smallest and the greatest numbers, and the sums of these, have all their digits.
struct Magnitudes {
  int small, more, great, less;
};
constexpr Magnitudes kMagnitudes32{-40, 90, 50, -80}, kMagnitudes64{-400, 640, 450, -600};

}  // namespace

Value* scale_of(Emitter& e, Value* most) {
  const Magnitudes m = most->dtype() == DType::f64 ? kMagnitudes64 : kMagnitudes32;
  const auto power = [&](int exponent) { return e.scalar_like(most, std::ldexp(1.0, exponent)); };
  Value* is_great = e.greater(most, power(m.great));
  Value* less = power(m.less);
  less = e.where(is_great, less, power(0));
  Value* is_small = e.less(most, power(m.small));
  return e.where(is_small, power(m.more), less);
}

// By a sum of magnitudes, which is 0 where there are none.
Value* scale_of_matrix(Emitter& e, Value* absolute) {
  Value* rows = e.reduce("ReduceSum", absolute, Ints{-2}, true);
  return scale_of(e, e.reduce("ReduceSum", rows, Ints{-1}, true));
}

bool wants_vectors(const MapperContext& c, std::initializer_list<std::size_t> outputs) {
  return std::ranges::any_of(outputs, [&](std::size_t i) {
    return i < c.node().outputs().size() &&
           (c.node().output(i)->is_used() || c.node().output(i)->is_graph_output());
  });
}

Values with_vectors(MapperContext& c, const std::string& attr, Value* values, std::size_t count) {
  Values out{values};
  const bool none = c.attr_or<std::int64_t>(attr, 1) == 0;
  for (std::size_t i = 0; i < count; ++i) out.push_back(none ? c.scalar_like(values, 0) : nullptr);
  return out;
}

Value* matrix(MapperContext& c, std::size_t input) {
  Value* x = c.in(input);
  if (is_complex(x->dtype()))
    c.fail(Code::unsupported_type, "linear algebra of complex numbers is not supported");
  return c.cast(x, work_type(x->dtype()));
}

}  // namespace t2o::op_mappers
