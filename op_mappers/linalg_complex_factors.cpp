#include "op_mappers/linalg_complex.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

// Lu and Qr of complex numbers, step by step like those of real ones.
namespace t2o::op_mappers {
namespace {

// The numbers of the rows are exchanged like these.
Values map_lu(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  Value* n = c.dim(z.re, -2);
  Value* numbers = c.cast_like(row_numbers(c, n), z.re);
  Value* order = c.expand(numbers, c.concat({c.dims(z.re, 0, -2), c.ints({1, 1})}, 0));
  const auto step = [n](Emitter& e, Value* k, const Values& state) -> Values {
    Complex x{state[0], state[1]};
    Value* zero = e.scalar_like(x.re, 0);
    Value* rows = row_numbers(e, n);
    const Complex column = at(e, x, k, -1);
    Value* above = e.less(rows, k);
    Value* scale = scale_from(e, column, above);
    Value* sizes = square_of(e, scaled(e, column, scale));
    Value* candidates = e.where(above, e.scalar_like(x.re, -1), sizes);
    Value* best = e.emit("ArgMax", {candidates}, {{"axis", -2}, {"keepdims", 1}});
    Value* is_best = e.equal(rows, best);
    Value* is_k = e.equal(rows, k);
    const auto picked = [&](Value* v) {
      return e.reduce("ReduceSum", e.where(is_best, v, zero), Ints{-2}, true);
    };
    const auto exchanged = [&](Value* v, Value* row) {
      return e.where(is_k, row, e.where(is_best, e.gather(v, k, -2), v));
    };
    Value* re = picked(x.re);
    const Complex row{re, picked(x.im)};
    Value* place = exchanged(state[2], picked(state[2]));
    re = exchanged(x.re, row.re);
    x = {re, exchanged(x.im, row.im)};
    const Complex pivot = scaled(e, at(e, row, k, -1), scale);
    const Complex factor = quotient(e, scaled(e, at(e, x, k, -1), scale), pivot);
    Value* is_below = e.greater(rows, k);
    Value* columns = iota(e, n);
    Value* is_rest = e.logical_and(is_below, e.greater(columns, k));
    Value* is_factor = e.logical_and(is_below, e.equal(columns, k));
    const Complex rest = taken(e, is_rest, difference(e, x, product(e, factor, row)), x);
    const Complex y = taken(e, is_factor, factor, rest);
    return {y.re, y.im, place};
  };
  const Values out = counted_loop(c, n, {z.re, z.im, order}, step);
  return {pairs(c, {out[0], out[1]}), c.cast(c.squeeze(out[2], {-1}), c.output_dtype(1))};
}

Values map_qr(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  Value* m = c.dim(z.re, -2);
  Value* n = c.dim(z.re, -1);
  Value* least = c.minimum(m, n);
  Value* eye = eye_like(c, z.re, m);
  Value* none = c.mul(eye, c.scalar_like(eye, 0));
  Value* re = c.concat({z.re, eye}, -1);
  Value* im = c.concat({z.im, none}, -1);
  const auto step = [m](Emitter& e, Value* k, const Values& state) -> Values {
    const Complex before{state[0], state[1]};
    const Complex x = reflected(e, before, reflector(e, before, k, m));
    return {x.re, x.im};
  };
  const Values out = counted_loop(c, least, {re, im}, step);
  Value* below = c.greater(row_numbers(c, m), iota(c, n));
  const bool full = c.flag("full_matrices");
  const auto r_part = [&](Value* v) {
    Value* r = c.where(below, c.scalar_like(v, 0), columns_before(c, v, n));
    return full ? r : rows_before(c, r, least);
  };
  const auto q_part = [&](Value* v) {
    Value* q = transposed(c, columns_from(c, v, n));
    return full ? q : columns_before(c, q, least);
  };
  Value* q_re = q_part(out[0]);
  Value* q = pairs(c, {q_re, c.neg(q_part(out[1]))});
  Value* r_re = r_part(out[0]);
  return {q, pairs(c, {r_re, r_part(out[1])})};
}

}  // namespace

Value* scale_from(Emitter& e, Complex column, Value* above) {
  Value* re = e.abs(column.re);
  Value* absolute = e.maximum(re, e.abs(column.im));
  absolute = e.where(above, e.scalar_like(re, 0), absolute);
  return scale_of(e, e.reduce("ReduceMax", absolute, Ints{-2}, true));
}

// As TensorFlow has it, what has no square to speak of is left as it is.
ComplexReflector reflector(Emitter& e, Complex x, Value* k, Value* m) {
  Value* zero = e.scalar_like(x.re, 0);
  Value* one = e.scalar_like(x.re, 1);
  Value* rows = row_numbers(e, m);
  const Complex column = at(e, x, k, -1), head = at(e, column, k, -2);
  const Complex nothing{zero, zero};
  const Complex tail = taken(e, e.greater(rows, k), column, nothing);
  Value* rest = e.reduce("ReduceSum", square_of(e, tail), Ints{-2}, true);
  Value* norm = e.sqrt(e.add(square_of(e, head), rest));
  Value* beta = e.where(e.less(head.re, zero), norm, e.neg(norm));
  Value* most = e.maximum(rest, e.mul(head.im, head.im));
  Value* is_on = e.greater(most, smallest(e, x.re));
  const Complex less{e.sub(head.re, beta), head.im};
  const Complex scaled = taken(e, is_on, quotient(e, tail, less), nothing);
  Value* tau_re = e.where(is_on, e.neg(e.div(less.re, beta)), zero);  // conj((beta - head) / beta)
  Value* tau_im = e.where(is_on, e.div(less.im, beta), zero);
  return {taken(e, e.equal(rows, k), {one, zero}, scaled), {tau_re, tau_im}};
}

Complex reflected(Emitter& e, Complex x, const ComplexReflector& r) {
  const Complex projection = sum_of_rows(e, product(e, conjugated(e, r.w), x));
  return difference(e, x, product(e, product(e, r.tau, r.w), projection));
}

void register_linalg_complex_factors(OpRegistry& r) {
  r.complex("Lu").note("a singular matrix gives infinities or NaN instead of an error").by(map_lu);
  r.complex("Qr").by(map_qr);
}

}  // namespace t2o::op_mappers
