#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tflite/activation_bounds.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"
#include "tflite/sums.h"

// Operators of each element, of elements that meet, and reductions.
namespace t2o::tflite {
namespace {

using namespace schema;

// x op y, then a fused activation
template <class Options>
Values with_activation(Op& op) {
  Value* y = op.make(op.row().tf, {op.in(0), op.in(1)});
  return {op.activation(y, op.options<Options>().fused_activation_function())};
}

template <class Options>
Values sum(Op& op, bool is_difference) {
  const auto f = op.options<Options>().fused_activation_function();
  if (const auto of_codes = sum_of_codes(op, is_difference, f)) return *of_codes;
  return with_activation<Options>(op);
}
Values add(Op& op) { return sum<AddOptions>(op, false); }
Values subtract(Op& op) { return sum<SubOptions>(op, true); }

// Integers are divided towards zero.
Values divide(Op& op) {
  Value *x = op.in(0), *y = op.in(1);
  Value* quotient = op.make(is_int(x->dtype()) ? "TruncateDiv" : "RealDiv", {x, y});
  return {op.activation(quotient, op.options<DivOptions>().fused_activation_function())};
}

Attrs keep_dims(const Op& op) {
  return {{"keep_dims", std::int64_t{op.options<ReducerOptions>().keep_dims()}}};
}
Attrs leaky_relu(const Op& op) { return {{"alpha", op.options<LeakyReluOptions>().alpha()}}; }
Attrs output_type_of_argmax(const Op& op) {
  return {{"output_type", type_option(op, op.options<ArgMaxOptions>().output_type())}};
}
Attrs output_type_of_argmin(const Op& op) {
  return {{"output_type", type_option(op, op.options<ArgMinOptions>().output_type())}};
}
Attrs cumsum(const Op& op) {
  const auto& o = op.options<CumsumOptions>();
  return {{"exclusive", std::int64_t{o.exclusive()}}, {"reverse", std::int64_t{o.reverse()}}};
}
Attrs fake_quant(const Op& op) {
  const auto& o = op.options<FakeQuantOptions>();
  return {{"min", o.min()},
          {"max", o.max()},
          {"num_bits", std::int64_t{o.num_bits()}},
          {"narrow_range", std::int64_t{o.narrow_range()}}};
}
Attrs boundaries(const Op& op) {
  const auto all = items(op.options<BucketizeOptions>().boundaries());
  return {{"boundaries", Floats(all.begin(), all.end())}};
}

bool has_bytes(const Op& op) { return is_byte(op.input_type(0)) && is_byte(op.output_type()); }

// The code of each 8-bit code: what LiteRT computes in arithmetic of its own.
template <class F>
Values by_table(Op& op, F&& code_of) {
  const DType from = op.input_type(0), to = op.output_type();
  const auto lowest = [](DType t) { return t == DType::i8 ? -128 : 0; };
  std::vector<std::uint8_t> table(256);
  for (std::int64_t i = 0; i < 256; ++i)
    table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(
        std::clamp<std::int64_t>(code_of(i + lowest(from)), lowest(to), lowest(to) + 255));
  Value* index = op.make("Cast", {op.codes(0)}, {{"DstT", DType::i32}});
  if (from == DType::i8) index = op.make("AddV2", {index, op.scalar(DType::i32, 128)});
  Value* all = op.constant(t2o::Tensor::of<std::uint8_t>({256}, table)->with_dtype(to));
  op.as_codes(true);
  return {op.make("GatherV2", {all, index, op.scalar(DType::i32, 0)})};
}

// LiteRT's factors have 8 bits behind the point.
Values leaky_relu_of(Op& op) {
  const auto x = op.quantization(0), y = op.output_quantization();
  if (!x || !y || !has_bytes(op)) return {op.make("LeakyRelu", {op.in(0)}, leaky_relu(op))};
  const double scale = static_cast<double>(x->scales[0]) / static_cast<double>(y->scales[0]);
  const double low_scale = scale * static_cast<double>(op.options<LeakyReluOptions>().alpha());
  if (!(scale < 128) || !(std::abs(low_scale) < 128))
    return {op.make("LeakyRelu", {op.in(0)}, leaky_relu(op))};
  return by_table(op, [&](std::int64_t code) {
    const std::int64_t number = code - x->zero_points[0];
    const auto factor = std::llrint(256 * (number < 0 ? low_scale : scale));
    return ((number * factor + 128) >> 8) + y->zero_points[0];
  });
}

Values clip(Op& op, double low, double high) {
  Value* x = op.in(0);
  Value* from = op.scalar_like(x, low);
  Value* to = op.scalar_like(x, high);
  return {op.make("ClipByValue", {x, from, to})};
}

// A product with a factor of 31 bits, as LiteRT computes it: rounded, then shifted and rounded again.
std::int64_t rescaled(std::int64_t number, double factor) {
  int exponent = 0;
  std::int64_t bits = std::llround(std::ldexp(std::frexp(factor, &exponent), 31));
  if (bits == std::int64_t{1} << 31) bits /= 2, ++exponent;
  const std::int64_t product = (number << std::max(exponent, 0)) * bits, half = std::int64_t{1} << 30;
  const std::int64_t high = (product + (product >= 0 ? half : 1 - half)) / (std::int64_t{1} << 31);
  const int shift = std::min(std::max(-exponent, 0), 31);
  const std::int64_t mask = (std::int64_t{1} << shift) - 1;
  return (high >> shift) + ((high & mask) > (mask >> 1) + (high < 0 ? 1 : 0) ? 1 : 0);
}

// The factor of codes that LiteRT rescales and rounds twice: then it is no more than 1/2.
std::optional<double> twice_rounded(const Op& op) {
  const auto x = op.quantization(0), y = op.output_quantization();
  if (!x || !y || !has_bytes(op)) return {};
  const double factor = static_cast<double>(x->scales[0]) / static_cast<double>(y->scales[0]);
  return factor > 0 && factor <= 0.5 ? std::optional(factor) : std::nullopt;
}

// One of the ReLU operators.
Values relu(Op& op, double low, double high) {
  const auto factor = twice_rounded(op);
  if (!factor) {
    const auto result = op.output_quantization();
    const double from = bound_of_codes(low, result), to = bound_of_codes(high, result);
    const bool is_plain = op.row().tf && from == low && to == high;
    return is_plain ? Values{op.make(op.row().tf, {op.in(0)})} : clip(op, from, to);
  }
  const auto x = op.quantization(0), y = op.output_quantization();
  const auto code_of = [&](double number) {
    return y->zero_points[0] +
           std::llround(std::clamp(number / static_cast<double>(y->scales[0]), -512.0, 512.0));
  };
  return by_table(op, [&](std::int64_t code) {
    return std::clamp<std::int64_t>(y->zero_points[0] + rescaled(code - x->zero_points[0], *factor),
                                    code_of(low), code_of(high));
  });
}
Values plain_relu(Op& op) { return relu(op, 0, std::numeric_limits<double>::infinity()); }
Values relu_6(Op& op) { return relu(op, 0, 6); }
Values relu_n1_to_1(Op& op) { return relu(op, -1, 1); }
Values relu_0_to_1(Op& op) { return relu(op, 0, 1); }

Values abs_of(Op& op) {
  const auto factor = twice_rounded(op);
  if (!factor) return {op.make("Abs", {op.in(0)})};
  const auto x = op.quantization(0), y = op.output_quantization();
  return by_table(op, [&](std::int64_t code) {
    return y->zero_points[0] + rescaled(std::abs(code - x->zero_points[0]), *factor);
  });
}

// LiteRT sums the codes as integers. If the ratio of the scales has few digits, many means lie in the middle
// of two codes; the DequantizeLinear gets the ratio for a scale, and the QuantizeLinear a power of 2, so that
// the sums are exact.
Values mean(Op& op) {
  auto x = op.quantization(0), y = op.output_quantization();
  const auto plain = [&] { return Values{op.make(op.row().tf, {op.in(0), op.in(1)}, keep_dims(op))}; };
  if (!x || !y || !has_bytes(op) || !x->is_per_tensor() || !y->is_per_tensor() || !op.is_only_reader(0))
    return plain();
  const float ratio = x->scales[0] / y->scales[0];
  if (!(ratio >= 0x1p-8F && ratio <= 0x1p8F) || std::trunc(256 * ratio) != 256 * ratio) return plain();
  y->scales[0] = std::ldexp(1.0F, std::ilogb(y->scales[0]));
  x->scales[0] = ratio * y->scales[0];
  Value* result = op.make(op.row().tf, {op.numbers_of_codes(0, *x), op.in(1)}, keep_dims(op));
  op.as_codes(true);
  return {op.codes_of_result(result, *y)};
}

// LiteRT rounds down, in floats.
Values sqrt_of(Op& op) {
  const auto x = op.quantization(0), y = op.output_quantization();
  if (!x || !y || !has_bytes(op)) return {op.make("Sqrt", {op.in(0)})};
  const float inverse = 1.0F / y->scales[0];
  return by_table(op, [&](std::int64_t code) {
    const auto number = static_cast<float>(std::max<std::int64_t>(code - x->zero_points[0], 0));
    const float root = std::sqrt(x->scales[0] * number) * inverse;
    return static_cast<std::int64_t>(root > 0 ? std::min(root, 512.0F) : 0.0F) + y->zero_points[0];
  });
}

// The place of the largest code is that of the largest number.
Values arg_of_codes(Op& op) {
  return op.make_all(op.row().tf, {op.codes(0), op.codes(1)}, op.row().attrs(op));
}

Values prelu(Op& op) { return {op.make_own("t2o.PRelu", {op.in(0), op.in(1)}, {})}; }

// x * relu6(x + 3) / 6
Values hard_swish(Op& op) {
  Value* x = op.in(0);
  Value* gate = op.make("Relu6", {op.make("AddV2", {x, op.scalar_like(x, 3)})});
  Value* product = op.make("Mul", {x, gate});
  return {op.make("Mul", {product, op.scalar_like(x, 1.0 / 6)})};
}

// x / max(sqrt(sum(x^2)), 1e-6), along the last axis
Values l2_normalization(Op& op) {
  Value* x = op.in(0);
  Value* axes = op.ints({-1});
  Value* sum = op.make("Sum", {op.make("Square", {x}), axes}, {{"keep_dims", std::int64_t{1}}});
  Value* length = op.make("Maximum", {op.make("Sqrt", {sum}), op.scalar_like(x, 1e-6)});
  Value* y = op.make("RealDiv", {x, length});
  return {op.activation(y, op.options<L2NormOptions>().fused_activation_function())};
}

// softmax(beta * x)
Values softmax(Op& op) {
  Value* x = op.in(0);
  const float beta = op.options<SoftmaxOptions>().beta();
  if (beta != 1) x = op.make("Mul", {x, op.scalar_like(x, static_cast<double>(beta))});
  return {op.make("Softmax", {x})};
}

// LiteRT casts the codes of a quantized tensor, and what it casts to one are codes.
Values cast(Op& op) {
  op.output();
  const auto result = op.lowering().quantization_in_file(op.scope(), op.raw().outputs()->Get(0));
  if ((op.quantization_in_file(0) && !op.quantization(0)) || (result && !op.output_quantization()))
    op.fail(Code::unsupported_op, "it casts codes, which a dequantized model does not have",
            "convert without --dequantize");
  Value* y = op.make("Cast", {op.codes(0)}, {{"DstT", op.output_type()}});
  op.as_codes(result.has_value());
  return {y};
}

Values gelu(Op& op) {
  const std::string kind = op.options<GeluOptions>().approximate() ? "tanh" : "none";
  return {op.make_own("t2o.Gelu", {op.in(0)}, {{"approximate", kind}})};
}

constexpr Codes kMoved = Codes::moved;

constexpr Row kRows[] = {
    {B::ABS, "Abs", nullptr, abs_of},
    {B::ADD, "AddV2", nullptr, add},
    {B::ADD_N, "AddN"},
    {B::ARG_MAX, "ArgMax", output_type_of_argmax, arg_of_codes},
    {B::ARG_MIN, "ArgMin", output_type_of_argmin, arg_of_codes},
    {B::ATAN2, "Atan2"},
    {B::BITWISE_XOR, "BitwiseXor"},
    {B::BUCKETIZE, "Bucketize", boundaries},
    {B::CAST, nullptr, nullptr, cast},
    {B::CEIL, "Ceil"},
    {B::COMPLEX_ABS, "ComplexAbs"},
    {B::COS, "Cos"},
    {B::CUMSUM, "Cumsum", cumsum},
    {B::DIV, nullptr, nullptr, divide},
    {B::ELU, "Elu"},
    {B::EQUAL, "Equal"},
    {B::EXP, "Exp"},
    {B::FAKE_QUANT, "FakeQuantWithMinMaxArgs", fake_quant},
    {B::FLOOR, "Floor"},
    {B::FLOOR_DIV, "FloorDiv"},
    {B::FLOOR_MOD, "FloorMod"},
    {B::GELU, nullptr, nullptr, gelu},
    {B::GREATER, "Greater"},
    {B::GREATER_EQUAL, "GreaterEqual"},
    {B::HARD_SWISH, nullptr, nullptr, hard_swish},
    {B::IMAG, "Imag"},
    {B::L2_NORMALIZATION, nullptr, nullptr, l2_normalization},
    {B::LEAKY_RELU, nullptr, nullptr, leaky_relu_of},
    {B::LESS, "Less"},
    {B::LESS_EQUAL, "LessEqual"},
    {B::LOG, "Log"},
    {B::LOGICAL_AND, "LogicalAnd"},
    {B::LOGICAL_NOT, "LogicalNot"},
    {B::LOGICAL_OR, "LogicalOr"},
    {B::LOGISTIC, "Sigmoid"},
    {B::LOG_SOFTMAX, "LogSoftmax"},
    {B::MAXIMUM, "Maximum"},
    {B::MEAN, "Mean", nullptr, mean},
    {B::MINIMUM, "Minimum"},
    {B::MUL, "Mul", nullptr, with_activation<MulOptions>},
    {B::NEG, "Neg"},
    {B::NOT_EQUAL, "NotEqual"},
    {B::POW, "Pow"},
    {B::PRELU, nullptr, nullptr, prelu},
    {B::REAL, "Real"},
    {B::REDUCE_ALL, "All", keep_dims},
    {B::REDUCE_ANY, "Any", keep_dims},
    {B::REDUCE_MAX, "Max", keep_dims, nullptr, kMoved},
    {B::REDUCE_MIN, "Min", keep_dims, nullptr, kMoved},
    {B::REDUCE_PROD, "Prod", keep_dims},
    {B::RELU, "Relu", nullptr, plain_relu},
    {B::RELU6, "Relu6", nullptr, relu_6},
    {B::RELU_0_TO_1, nullptr, nullptr, relu_0_to_1},
    {B::RELU_N1_TO_1, nullptr, nullptr, relu_n1_to_1},
    {B::RIGHT_SHIFT, "RightShift"},
    {B::ROUND, "Round"},
    {B::RSQRT, "Rsqrt"},
    {B::SIGN, "Sign"},
    {B::SIN, "Sin"},
    {B::SOFTMAX, nullptr, nullptr, softmax},
    {B::SQRT, nullptr, nullptr, sqrt_of},
    {B::SQUARE, "Square"},
    {B::SQUARED_DIFFERENCE, "SquaredDifference"},
    {B::SUB, "Sub", nullptr, subtract},
    {B::SUM, "Sum", keep_dims},
    {B::TANH, "Tanh"},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace t2o::tflite
