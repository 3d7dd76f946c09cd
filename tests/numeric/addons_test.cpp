#include <gtest/gtest.h>

#include <cmath>

#include "foreign_ops.h"

// TensorFlow does not have these ops: a formula says what they are.
namespace t2o::numeric {
namespace {

using Formula = std::function<float(float)>;

void check_unary(const std::string& op, const std::string& attrs, const Formula& f, SourceLoc at = SourceLoc::here()) {
  if (engines_missing()) return;
  std::vector<float> x, y;
  for (int i = -40; i <= 40; ++i) x.push_back(0.1F * static_cast<float>(i));
  for (const float v : x) y.push_back(f(v));
  const auto n = static_cast<std::int64_t>(x.size());
  engines::TfGraph truth;
  truth.placeholder("x", f32, Shape({n}));
  truth.constant("y", Tensor::of<float>({n}, y));
  const std::string text = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: " +
                           std::to_string(n) + " } } } } } node { name: 'y' op: '" + op + "' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } " + attrs + " }";
  check_against(truth, text, {{"x", Tensor::of<float>({n}, x)}}, {11, 17, 18, 20, 26}, at);
}

float mish(float v) { return v * std::tanh(std::log1p(std::exp(v))); }
float gelu(float v) { return 0.5F * v * (1 + std::erf(v * std::sqrt(0.5F))); }
float gelu_by_tanh(float v) { return 0.5F * v * (1 + std::tanh(0.7978845608F * (v + 0.044715F * v * v * v))); }

TEST(Addons, Activations) {
  for (const char* op : {"Mish", "Addons>Mish"}) check_unary(op, "", mish);
  check_unary("Swish", "", [](float v) { return v / (1 + std::exp(-v)); });
  check_unary("Addons>Lisht", "", [](float v) { return v * std::tanh(v); });
  check_unary("Addons>Tanhshrink", "", [](float v) { return v - std::tanh(v); });
  check_unary("Addons>Gelu", "", gelu_by_tanh);
  check_unary("Addons>Gelu", "attr { key: 'approximate' value { b: false } }", gelu);
}

// Beyond the image is zero.
std::vector<float> resampled(const std::vector<float>& image, std::int64_t h, std::int64_t w, const std::vector<float>& places) {
  std::vector<float> y;
  const auto pixel = [&](std::int64_t row, std::int64_t column) {
    return row < 0 || column < 0 || row >= h || column >= w ? 0 : image[static_cast<std::size_t>(row * w + column)];
  };
  for (std::size_t i = 0; i < places.size(); i += 2) {
    const float left = std::floor(places[i]), top = std::floor(places[i + 1]), right = places[i] - left, bottom = places[i + 1] - top;
    const auto x0 = static_cast<std::int64_t>(left), y0 = static_cast<std::int64_t>(top);
    y.push_back((1 - bottom) * ((1 - right) * pixel(y0, x0) + right * pixel(y0, x0 + 1)) + bottom * ((1 - right) * pixel(y0 + 1, x0) + right * pixel(y0 + 1, x0 + 1)));
  }
  return y;
}

TEST(Addons, Resampler) {
  if (engines_missing()) return;
  verify::Random random(3);
  for (const Ints& image : std::vector<Ints>{{1, 5, 4, 1}, {1, 1, 6, 1}}) {
    const TensorPtr x = verify::random_tensor(f32, image, random, {}), places = verify::random_tensor(f32, {1, 3, 7, 2}, random, verify::Range{-2, 6});
    const auto numbers = [](const TensorPtr& t) {
      const std::vector<double> wide = t->to_floats();
      return std::vector<float>(wide.begin(), wide.end());
    };
    engines::TfGraph truth;
    truth.placeholder("x", f32, Shape(image));
    truth.placeholder("places", f32, Shape({1, 3, 7, 2}));
    truth.constant("y", Tensor::of<float>({1, 3, 7, 1}, resampled(numbers(x), image[1], image[2], numbers(places))));
    for (const char* op : {"Resampler", "Addons>Resampler"}) {
      const auto placeholder = [](const std::string& name) {
        return "node { name: '" + name + "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: -1 } dim { size: -1 } dim { size: -1 } dim { size: -1 } } } } }\n";
      };
      check_against(truth, placeholder("x") + placeholder("places") + "node { name: 'y' op: '" + op + "' input: 'x' input: 'places' attr { key: 'T' value { type: DT_FLOAT } } }",
                    {{"x", x}, {"places", places}}, {16, 18, 20, 22, 26});
    }
  }
}

TEST(Addons, Shrinking) {
  const std::string bounds = "attr { key: 'lower' value { f: -1.02 } } attr { key: 'upper' value { f: 2.04 } }";
  check_unary("Addons>Hardshrink", bounds, [](float v) { return v < -1.02F || v > 2.04F ? v : 0; });
  check_unary("Addons>Softshrink", bounds, [](float v) { return v < -1.02F ? v + 1.02F : v > 2.04F ? v - 2.04F : 0; });
  check_unary("Addons>Hardshrink", "", [](float v) { return std::abs(v) > 0.5F ? v : 0; });
}

}  // namespace
}  // namespace t2o::numeric
