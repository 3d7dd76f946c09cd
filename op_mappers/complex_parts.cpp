#include "op_mappers/complex.h"

#include <limits>

#include "onnx/facts.h"
#include "op_mappers/apply.h"

namespace t2o::op_mappers {
namespace {

bool is_minus_one(const std::optional<Ints>& v) { return v && *v == Ints{-1}; }

// What an Unsqueeze gave a last axis of size 1.
Value* without_last_axis(Emitter& e, Value* v) {
  if (v->constant()) return e.squeeze(v, {-1});
  const ir::Node* n = v->producer();
  if (!n || n->op() != "Unsqueeze") return nullptr;
  const Ints* attr = n->attr_if<Ints>("axes");
  return is_minus_one(attr ? std::optional(*attr) : constant_ints(n->input(1))) ? n->input(0) : nullptr;
}

// The pairs that v is part number `index` of.
Value* whole_of(const Value* v, std::int64_t index) {
  const ir::Node* n = v->producer();
  if (!n || n->op() != "Gather" || !n->input(1)->shape().is_scalar()) return nullptr;
  const Shape& shape = n->input(0)->shape();
  if (!shape.ranked() || shape.rank() == 0 || shape[-1] != 2) return nullptr;
  return n->attr_or<std::int64_t>("axis", 0) == -1 && constant_ints(n->input(1)) == Ints{index} ? n->input(0)
                                                                                                : nullptr;
}

bool is_complex_output(const MapperContext& c, std::size_t i) {
  return is_complex(c.node().output(i)->dtype());
}

}  // namespace

std::optional<Complex> known_parts(Emitter& e, Value* z) {
  const ir::Node* n = z->producer();
  if (!n || n->op() != "Concat" || n->input_count() != 2) return std::nullopt;
  if (n->attr_or<std::int64_t>("axis", 0) != -1) return std::nullopt;
  Value* re = without_last_axis(e, n->input(0));
  Value* im = re ? without_last_axis(e, n->input(1)) : nullptr;
  return im ? std::optional(Complex{re, im}) : std::nullopt;
}

Complex parts(Emitter& e, Value* z) {
  if (const auto known = known_parts(e, z)) return *known;
  Value* re = e.gather(z, e.i64(0), -1);
  Value* im = e.gather(z, e.i64(1), -1);
  return {re, im};
}

Value* pairs(Emitter& e, Complex z) {
  Value* whole = whole_of(z.re, 0);
  if (whole && whole == whole_of(z.im, 1)) return whole;
  Value* re = e.unsqueeze(z.re, {-1});
  Value* im = e.unsqueeze(z.im, {-1});
  return e.concat({re, im}, -1);
}

// Squares of f32 neither overflow nor vanish in f64.
Value* absolute(Emitter& e, Complex z) {
  const DType type = z.re->dtype();
  const auto square = [&](Value* part) {
    Value* wide = e.cast(part, DType::f64);
    return e.mul(wide, wide);
  };
  Value* re = square(z.re);
  Value* size = e.cast(e.sqrt(e.add(re, square(z.im))), type);
  Value* is_infinite = e.emit("IsInf", {z.re});
  is_infinite = e.logical_or(is_infinite, e.emit("IsInf", {z.im}));
  return e.where(is_infinite, e.scalar(type, std::numeric_limits<double>::infinity()), size);
}

bool surely_zero(const Value* v) { return is_float(v->dtype()) && onnx::magnitude_of(v) == 0; }

Mapper by_parts(Mapper real) {
  return [real = std::move(real)](MapperContext& c) {
    Values re_in = c.inputs(), im_in = c.inputs();
    for (std::size_t i = 0; i < re_in.size(); ++i)
      if (is_complex(c.node().input(i)->dtype())) {
        const Complex z = parts(c, c.in(i));
        re_in[i] = z.re;
        im_in[i] = z.im;
      }
    MapperContext re(c.node(), std::move(re_in), c.graph(), c.target());
    MapperContext im(c.node(), std::move(im_in), c.graph(), c.target());
    Values out = real(re);
    const Values im_out = real(im);
    c.also_read_by(re);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] && is_complex_output(c, i)) out[i] = pairs(c, {out[i], im_out[i]});
    return out;
  };
}

Mapper of_one(Complex (*f)(MapperContext&, Complex)) {
  return [f](MapperContext& c) { return Values{pairs(c, f(c, parts(c, c.in(0))))}; };
}

Mapper of_two(Complex (*f)(MapperContext&, Complex, Complex)) {
  return [f](MapperContext& c) {
    const Complex a = parts(c, c.in(0));
    const Complex b = parts(c, c.in(1));
    return Values{pairs(c, f(c, a, b))};
  };
}

}  // namespace t2o::op_mappers
