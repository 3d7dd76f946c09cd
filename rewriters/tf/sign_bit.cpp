#include <limits>

#include "rewriters/all.h"
#include "tf/op_builder.h"

// Keras reads the sign bit of a float from its bits, in signbit and, to tell -0 from 0, in argmax and argmin.
// Below opset 26 ONNX cannot read the bits of floats; about forty nodes compute them. A NaN counts as
// positive, since its sign depends on the machine that made it.
namespace t2o::rewriters {
namespace {

Pat whole_number(std::int64_t wanted) {
  return constant().where([wanted](const Value* v) {
    const TensorPtr& t = v->constant();
    return t && is_int(t->dtype()) && t->elements() == 1 && t->rank() == 0 && t->int_at(0) == wanted;
  });
}

Pat zero() {
  return constant().where([](const Value* v) {
    const TensorPtr& t = v->constant();
    return t && t->dtype() == DType::f32 && t->rank() == 0 && t->float_at(0) == 0;
  });
}

Pat float_value() {
  return any().where([](const Value* v) { return v->dtype() == DType::f32; });
}

Pat float_bits(const Pat& x) { return op("Bitcast", x).with("type", Attr(DType::i32)); }

Pat sign_bit(const Pat& x) {
  const Pat bit = op("BitwiseAnd", float_bits(x), whole_number(std::numeric_limits<std::int32_t>::min()));
  return op("Less", bit, whole_number(0)) | op("NotEqual", bit, whole_number(0)) |
         op("Less", float_bits(x), whole_number(0));
}

struct Parts {
  const Match& m;
  Rewrite& r;

  Value* make(const char* op, Values in) const { return r.make(tf::op_spec(op, std::move(in))); }
  Value* none() const { return r.constant(Tensor::of<float>({}, {0.0F})); }
  Value* is_zero(Value* x) const { return make("Equal", {x, none()}); }
};

// 1 / -0 is -inf.
Rewriter negative_zero() {
  const Pat x = float_value();
  const Pat both = op("LogicalAnd", op("Equal", x, zero()), sign_bit(x));
  return rewriter("sign_bit", both, [=](const Match& m, Rewrite& r) {
    const Parts p{m, r};
    Value* is_zero = p.is_zero(m[x]);
    Value* inverse = p.make("Reciprocal", {m[x]});
    Value* is_below = p.make("Less", {inverse, p.none()});
    return r.make("LogicalAnd", {is_zero, is_below});
  });
}

Rewriter negative() {
  const Pat x = float_value();
  return rewriter("sign_bit", sign_bit(x), [=](const Match& m, Rewrite& r) {
    const Parts p{m, r};
    Value* is_zero = p.is_zero(m[x]);
    Value* inverse = p.make("Reciprocal", {m[x]});
    Value* told = p.make("SelectV2", {is_zero, inverse, m[x]});
    return r.make("Less", {told, p.none()}, {{"T", DType::f32}});
  });
}

}  // namespace

Rewriter sign_bit() { return in_turn("sign_bit", {negative_zero(), negative()}, {"Bitcast"}); }

}  // namespace t2o::rewriters
