#include "rewriters/onnx/norm_pattern.h"

#include <algorithm>

namespace t2o::rewriters {
namespace {

bool keeps_dims(const Value* v) { return v->producer()->attr_or<std::int64_t>("keepdims", 1) == 1; }

Pat number(double n) {
  return constant().where([n](const Value* v) { return is_number(v, n); });
}

Pat sum_of(const Pat& x) { return (op("ReduceSum", x, constant()) | op("ReduceSum", x)).where(keeps_dims); }

// Of a division of sums: the divisor is the sum of as many ones.
bool counts_ones(const Value* quotient) {
  const ir::Node *sum = quotient->producer()->input(0)->producer(),
                 *count = quotient->producer()->input(1)->producer();
  const Shape &x = sum->input(0)->shape(), &ones = count->input(0)->shape();
  const bool same = x.ranked() && x == ones && std::ranges::count(x.dims(), kUnknownDim) == 0;
  return same && uniform_number(count->input(0)) == 1 && axes_of(*sum) == axes_of(*count);
}

// As TensorFlow weighs, where the weights are 1: the mean of nothing is 0.
Pat weighted_mean_of(const Pat& x) {
  const Pat count = sum_of(any());
  const Pat quotient = op("Div", sum_of(x), count).where(counts_ones);
  return op("Where", op("Equal", count, number(0)), number(0), quotient);
}

}  // namespace

// Axes are an attribute or, since opset 18 or 13, an input.
Pat mean_of(const Pat& x) {
  const Pat plain = (op("ReduceMean", x, constant()) | op("ReduceMean", x)).where(keeps_dims);
  return plain | op("Div", plain, op("Cast", op("Min", op("Size", x), number(1)))) | weighted_mean_of(x);
}

std::optional<Ints> axes_of_mean(const Value* mean, int rank) {
  const ir::Node* n = mean->producer();
  if (n->op() == "Where") n = n->input(2)->producer();
  if (n->op() == "Div") n = n->input(0)->producer();
  std::optional<Ints> axes = axes_of(*n);
  if (!axes) return std::nullopt;
  for (std::int64_t& a : *axes)
    if (a < 0) a += rank;
  std::ranges::sort(*axes);
  return axes;
}

Pat squared(const Pat& x) { return op("Mul", x, x) | op("Pow", x, number(2)); }

// The difference stands twice where TensorFlow's SquaredDifference made one of its own.
NormPattern::NormPattern()
    : epsilon(constant().where(is_scalar_constant)),
      mean(mean_of(x)),
      variance(mean_of(squared(op("Sub", x, mean)))),
      difference(op("Sub", x, mean)),
      inverse(any()),
      deviation(op("Sqrt", op("Add", variance, epsilon))),
      scale(any()) {
  inverse = op("Reciprocal", deviation);
  scale = op("Mul", inverse, gamma);
}

Pat NormPattern::plain() const { return op("Mul", difference, inverse) | op("Div", difference, deviation); }

Pat NormPattern::scaled() const {
  return op("Mul", plain(), gamma) | op("Mul", difference, scale) |
         op("Div", op("Mul", difference, gamma), deviation) |
         op("Add", op("Mul", x, scale), op("Mul", op("Neg", mean), scale)) |
         op("Sub", op("Mul", x, scale), op("Mul", mean, scale));
}

Pat NormPattern::shifted() const {
  return op("Add",
            op("Mul", plain(), gamma) | op("Mul", difference, scale) |
                op("Div", op("Mul", difference, gamma), deviation),
            beta) |
         op("Add", op("Mul", x, scale), op("Sub", beta, op("Mul", mean, scale))) |
         op("Add", op("Mul", x, scale), op("Add", op("Mul", op("Neg", mean), scale), beta));
}

Pat NormPattern::shifted_only() const {
  return op("Add", plain(), beta) |
         op("Add", op("Mul", x, inverse), op("Sub", beta, op("Mul", mean, inverse))) |
         op("Add", op("Mul", x, inverse), op("Add", op("Mul", op("Neg", mean), inverse), beta));
}

}  // namespace t2o::rewriters
