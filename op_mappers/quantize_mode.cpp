#include "op_mappers/quantize_mode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

// --quantize-mode. qdq: fake quantization with known ranges and up to 8 bits becomes codes. Activations
// become uint8 with a QuantizeLinear and a DequantizeLinear; what is constant (weights) becomes stored codes
// with a DequantizeLinear. All else stays exact: ranges that are known at run time alone, finer codes, a
// range for each channel of an activation, which no runtime has an integer kernel for.
namespace t2o {
namespace {

using tf2onnx::QuantizeMode;

constexpr std::int64_t kHighestCode = 255;

// The numbers scale * (code - zero) for the codes lowest .. highest, which are unsigned. Several scales lie
// along an axis.
struct Grid {
  Floats scales = {};
  Ints zeros = {};
  std::int64_t lowest = 0, highest = kHighestCode;
  std::int64_t axis = -1;
};

Values exactly(MapperContext& c) { return tf_registry().find(c.node().op(), c.target().opset)->map(c); }

std::optional<Floats> known(const Value* v) {
  if (!v->constant() || v->dtype() != DType::f32) return {};
  Floats numbers;
  for (const double x : v->constant()->to_floats()) numbers.push_back(static_cast<float>(x));
  return numbers;
}

// ---- FakeQuant: zero becomes one of the codes, in TensorFlow's own arithmetic.

std::optional<Grid> fake_quant_grid(MapperContext& c, const Floats& min, const Floats& max) {
  const auto bits = c.attr_or<std::int64_t>("num_bits", 8);
  if (bits < 2 || bits > 8 || min.size() != max.size()) return {};
  Grid g;
  g.lowest = c.flag("narrow_range") ? 1 : 0;
  g.highest = (std::int64_t{1} << bits) - 1;
  const auto low = static_cast<float>(g.lowest), high = static_cast<float>(g.highest);
  for (std::size_t i = 0; i < min.size(); ++i) {
    const float scale = (max[i] - min[i]) / (high - low);
    if (!std::isnormal(scale) || scale < 0) return {};
    const float zero = std::clamp(low - min[i] / scale, low, high);
    g.scales.push_back(scale);
    g.zeros.push_back(static_cast<std::int64_t>(std::floor(zero + 0.5F)));
  }
  return g;
}

// ---- QuantizeAndDequantize: zero is the middle code, or the first one if there are no negative numbers.

std::optional<Grid> symmetric_grid(MapperContext& c, std::int64_t bits, const Floats& min,
                                   const Floats& max) {
  if (bits < 2 || bits > 8 || min.size() != max.size()) return {};
  const bool is_signed = c.attr_or<std::int64_t>("signed_input", 1) != 0;
  const std::int64_t half = std::int64_t{1} << (bits - 1), zero = is_signed ? half : 0;
  Grid g;
  g.lowest = is_signed && c.flag("narrow_range") ? 1 : 0;
  g.highest = 2 * half - 1;
  const auto low = static_cast<float>(g.lowest - zero), high = static_cast<float>(g.highest - zero);
  for (std::size_t i = 0; i < min.size(); ++i) {
    const float below = low < 0 && min[i] < 0 ? min[i] / low : 0, above = max[i] > 0 ? max[i] / high : 0;
    const float scale = std::max(below, above);
    if (!std::isnormal(scale)) return {};
    g.scales.push_back(scale);
    g.zeros.push_back(zero);
  }
  return g;
}

// By element of a tensor: the number of its channel. Without an axis there is one.
class Channels {
 public:
  Channels(const Ints& dims, std::int64_t axis) {
    if (axis < 0) return;
    count_ = static_cast<std::size_t>(dims[static_cast<std::size_t>(axis)]);
    run_ = 1;
    for (auto i = static_cast<std::size_t>(axis) + 1; i < dims.size(); ++i)
      run_ *= static_cast<std::size_t>(dims[i]);
  }
  std::size_t count() const { return count_; }
  std::size_t of(std::size_t element) const { return element / run_ % count_; }

 private:
  std::size_t count_ = 1, run_ = 1;
};

// The smallest and the largest number of each channel.
std::pair<Floats, Floats> ends_of(const Tensor& t, std::int64_t axis) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Channels channels(t.dims(), axis);
  std::pair<Floats, Floats> ends{Floats(channels.count(), kInfinity), Floats(channels.count(), -kInfinity)};
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const std::size_t k = channels.of(static_cast<std::size_t>(i));
    const auto x = static_cast<float>(t.float_at(i));
    ends.first[k] = std::min(ends.first[k], x);
    ends.second[k] = std::max(ends.second[k], x);
  }
  return ends;
}

// ---- what they become

// Codes of 8 bits, with their zero points.
struct Codes {
  DType type = DType::u8;
  std::vector<std::uint8_t> all, zeros;
};

// The codes of numbers that lie on the grid, signed ones around 0 where they fit: the kernels that multiply
// by these are the quickest. None: 8 bits do not hold them, since TensorFlow cuts nothing where it takes the
// range of the tensor itself.
std::optional<Codes> codes_of(const Tensor& numbers, const Grid& g) {
  const Channels channels(numbers.dims(), g.axis);
  const auto steps = [&](std::int64_t i, std::size_t k) {
    return std::llround(numbers.float_at(i) / static_cast<double>(g.scales[k]));
  };
  Codes codes{DType::u8, std::vector<std::uint8_t>(static_cast<std::size_t>(numbers.elements())), {}};
  bool fits_signed = true, fits_unsigned = true;
  for (std::int64_t i = 0; i < numbers.elements(); ++i) {
    const std::size_t k = channels.of(static_cast<std::size_t>(i));
    const std::int64_t code = steps(i, k), from_first = code + g.zeros[k];
    fits_signed = fits_signed && code >= -128 && code <= 127;
    fits_unsigned = fits_unsigned && from_first >= 0 && from_first <= kHighestCode;
    codes.all[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(code);
  }
  if (!fits_signed && !fits_unsigned) return {};
  codes.zeros.assign(g.zeros.begin(), g.zeros.end());
  if (fits_signed) {
    codes.type = DType::i8;
    std::ranges::fill(codes.zeros, std::uint8_t{0});
    return codes;
  }
  for (std::size_t i = 0; i < codes.all.size(); ++i) codes.all[i] += codes.zeros[channels.of(i)];
  return codes;
}

Value* stored(MapperContext& c, const Tensor& exact, const Grid& g) {
  const auto codes = codes_of(exact, g);
  if (!codes) return nullptr;
  const Ints dims = g.axis < 0 ? Ints{} : Ints{static_cast<std::int64_t>(g.scales.size())};
  const auto of_type = [&](const Ints& d, const std::vector<std::uint8_t>& v) {
    return Tensor::of<std::uint8_t>(d, v)->with_dtype(codes->type);
  };
  Value* all = c.constant(of_type(exact.dims(), codes->all), "codes");
  Value* scale = c.constant(Tensor::of<float>(dims, g.scales), "scale");
  Value* zero = c.constant(of_type(dims, codes->zeros), "zero_point");
  const Attrs axis = g.axis < 0 ? Attrs{} : Attrs{{"axis", g.axis}};
  return c.emit("DequantizeLinear", {all, scale, zero}, axis);
}

// Codes beyond the grid are cut as codes, so that a layer in front of the QuantizeLinear has it beside
// itself.
Value* passed(MapperContext& c, const Grid& g) {
  Value* scale = c.constant(Tensor::scalar(g.scales[0]), "scale");
  Value* zero = c.constant(Tensor::scalar(static_cast<std::uint8_t>(g.zeros[0])), "zero_point");
  Value* codes = c.emit("QuantizeLinear", {c.in(0), scale, zero});
  if (g.lowest > 0 || g.highest < kHighestCode)
    codes = c.clip(codes, static_cast<double>(g.lowest), static_cast<double>(g.highest));
  return c.emit("DequantizeLinear", {codes, scale, zero});
}

// One scale for all elements, or as many along the axis as there are channels.
bool fits(const Grid& g, const Shape& s) {
  if (g.axis < 0) return g.scales.size() == 1;
  return s[static_cast<int>(g.axis)] == static_cast<std::int64_t>(g.scales.size());
}

Values as_codes(MapperContext& c, std::optional<Grid> g) {
  constexpr int kOpsetOfAxes = 13;
  const bool is_constant = c.in(0)->constant() != nullptr;
  if (!g || c.in(0)->dtype() != DType::f32 || !fits(*g, c.in(0)->shape())) return exactly(c);
  if (!is_constant) return g->axis < 0 ? Values{passed(c, *g)} : exactly(c);
  if (g->axis >= 0 && c.target().opset < kOpsetOfAxes) return exactly(c);
  const Values exact = exactly(c);
  const TensorPtr& numbers = exact[0]->constant();
  Value* codes = numbers ? stored(c, *numbers, *g) : nullptr;
  return codes ? Values{codes} : exact;
}

std::int64_t rank_of(const Value* v) { return v->shape().ranked() ? v->shape().rank() : 0; }

Values fake_quant_args(MapperContext& c) {
  return as_codes(c, fake_quant_grid(c, {c.attr_or("min", -6.0F)}, {c.attr_or("max", 6.0F)}));
}

Values fake_quant_vars(MapperContext& c) {
  const auto min = known(c.in(1)), max = known(c.in(2));
  return as_codes(c, min && max ? fake_quant_grid(c, *min, *max) : std::nullopt);
}

Values fake_quant_channels(MapperContext& c) {
  const auto min = known(c.in(1)), max = known(c.in(2));
  auto g = min && max ? fake_quant_grid(c, *min, *max) : std::nullopt;
  const std::int64_t rank = rank_of(c.in(0));
  if (!g || rank == 0) return exactly(c);
  g->axis = rank - 1;
  return as_codes(c, g);
}

Values quantize_and_dequantize(MapperContext& c, std::int64_t bits, std::optional<Floats> min,
                               std::optional<Floats> max) {
  const auto axis = c.attr_or<std::int64_t>("axis", -1);
  if (axis >= rank_of(c.in(0)) || c.in(0)->dtype() != DType::f32) return exactly(c);
  if (!c.flag("range_given")) {
    if (!c.in(0)->constant()) return exactly(c);
    std::tie(min, max) = ends_of(*c.in(0)->constant(), axis);
  }
  auto g = min && max ? symmetric_grid(c, bits, *min, *max) : std::nullopt;
  if (g) g->axis = axis < 0 ? -1 : axis;
  return as_codes(c, g);
}

Values quantize_and_dequantize_v1(MapperContext& c) {
  return quantize_and_dequantize(c, c.attr_or<std::int64_t>("num_bits", 8),
                                 Floats{c.attr_or("input_min", 0.0F)}, Floats{c.attr_or("input_max", 0.0F)});
}
Values quantize_and_dequantize_v2(MapperContext& c) {
  return quantize_and_dequantize(c, c.attr_or<std::int64_t>("num_bits", 8), known(c.in(1)), known(c.in(2)));
}
Values quantize_and_dequantize_v3(MapperContext& c) {
  const auto bits = c.maybe_ints(3);
  if (!bits || bits->size() != 1) return exactly(c);
  return quantize_and_dequantize(c, (*bits)[0], known(c.in(1)), known(c.in(2)));
}

Values left_out(MapperContext& c) { return {c.in(0)}; }

struct ModeRow {
  std::vector<std::string> ops;
  Values (*as_codes)(MapperContext&);
};

}  // namespace

OpRegistry quantize_mode_rows(QuantizeMode mode) {
  OpRegistry rows;
  if (mode == QuantizeMode::exact) return rows;
  const std::vector<std::string> attrs = {"min",          "max",         "num_bits",   "narrow_range",
                                          "signed_input", "range_given", "round_mode", "axis",
                                          "input_min",    "input_max"};
  const std::vector<ModeRow> all = {
      {{"FakeQuantWithMinMaxArgs"}, fake_quant_args},
      {{"FakeQuantWithMinMaxVars"}, fake_quant_vars},
      {{"FakeQuantWithMinMaxVarsPerChannel"}, fake_quant_channels},
      {{"QuantizeAndDequantize"}, quantize_and_dequantize_v1},
      {{"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}, quantize_and_dequantize_v2},
      {{"QuantizeAndDequantizeV3"}, quantize_and_dequantize_v3}};
  for (const ModeRow& r : all)
    rows.ops(r.ops).ignores(attrs).by(mode == QuantizeMode::as_float ? left_out : r.as_codes);
  add_uniform_rows(rows, mode);
  return rows;
}

}  // namespace t2o
