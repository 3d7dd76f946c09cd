#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// The mean along one axis whose size may be 0. TensorFlow's is NaN then, so the mapper divides a mean by the
// minimum of the size and 1. The sum divided by the size is NaN by itself, with one node less.
namespace t2o::rewriters {
namespace {

constexpr int kPartsOfShapes = 15;  // the opset from which on Shape gives a single size

}  // namespace

Rewriter mean_of_steps(const onnx::Target& target) {
  const Pat x = any();
  const Pat one = constant().where([](const Value* v) { return is_number(v, 1); });
  const Pat mean = op("ReduceMean", x, constant()) | op("ReduceMean", x);
  const Pat y = op("Div", mean, op("Cast", op("Min", op("Size", x), one)));
  Rewriter done = rewriter("mean_of_steps", y, [=](const Match& m, Rewrite& r) -> Value* {
    ir::Node& root = *m.root()->producer();
    const ir::Node& reduce = *m[mean]->producer();
    const Shape& s = m[x]->shape();
    const DType type = m[x]->dtype();
    const auto axes = axes_of(reduce);
    if (target.opset < kPartsOfShapes || !axes || axes->size() != 1 || !s.ranked() || s.rank() < 2 ||
        (type != DType::f32 && type != DType::f64))
      return nullptr;
    const bool keeps = reduce.attr_or<std::int64_t>("keepdims", 1) != 0;
    const int axis = static_cast<int>((*axes)[0] < 0 ? (*axes)[0] + s.rank() : (*axes)[0]);
    Emitter e(root, target);
    Value* sum = e.reduce("ReduceSum", m[x], Ints{axis}, keeps);
    return r.make("Div", {sum, e.cast(e.dims(m[x], axis, axis + 1), type)});
  });
  done.looks_for = {"ReduceMean"};
  return done;
}

}  // namespace t2o::rewriters
