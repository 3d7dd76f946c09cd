#include <gtest/gtest.h>

#include <random>

#include "harness.h"

// Networks of signs, and of few levels: sums are whole numbers, or whole numbers times a constant, and many lie on a threshold.
// A factor that moves into the weights, here or in ONNX Runtime, would put them on one side of it.
namespace t2o::numeric {
namespace {

using Layer = std::function<std::string(Builder&, const std::string&)>;

TensorPtr chosen(const Ints& dims, const std::vector<float>& levels) {
  std::minstd_rand random(static_cast<unsigned>(dims.size() + levels.size()));
  std::vector<float> v(static_cast<std::size_t>(element_count(dims)));
  for (float& x : v) x = levels[random() / 7 % levels.size()];
  return Tensor::of<float>(dims, v);
}

std::string scalar(Builder& b, double v) { return b.const_input(Tensor::of<float>({}, {static_cast<float>(v)})); }
std::string times(Builder& b, const std::string& x, double v) { return b.op("Mul", {x, scalar(b, v)}); }

std::string convolved(Builder& b, const std::string& x, const TensorPtr& w, const char* op = "Conv2D") {
  return b.op(op, {x, b.const_input(w)}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
}

std::string normalized(Builder& b, const std::string& x, std::int64_t channels) {
  std::vector<float> scale, mean, zero(static_cast<std::size_t>(channels), 0);
  for (std::int64_t i = 0; i < channels; ++i) {
    scale.push_back(0.3F + 0.07F * static_cast<float>(i));
    mean.push_back(static_cast<float>(i % 3 - 1));
  }
  const std::vector<float> variance(scale.rbegin(), scale.rend());
  return b.op("FusedBatchNormV3",
              {x, b.constant_of<float>({channels}, scale), b.constant_of<float>({channels}, zero),
               b.constant_of<float>({channels}, mean), b.constant_of<float>({channels}, variance)},
              {{"is_training", false}, {"epsilon", 1e-3F}});
}

struct Way {
  const char* name;
  Layer sums;
  std::int64_t channels;
};

// 8 channels in, 16 or 8 out: with and without blocks of channels.
std::vector<Way> convolutions(const std::vector<float>& levels) {
  const auto way = [&](const char* op, const Ints& dims) -> Layer {
    return [=](Builder& b, const std::string& x) { return convolved(b, x, chosen(dims, levels), op); };
  };
  return {{"Conv2D", way("Conv2D", {3, 3, 8, 16}), 16},
          {"of few channels", way("Conv2D", {3, 3, 8, 3}), 3},
          {"depthwise", way("DepthwiseConv2dNative", {3, 3, 8, 1}), 8}};
}

std::string image(Builder& b) { return b.input(f32, {2, 6, 6, 8}, verify::Range{-1, 1}); }

void check_signs(const char* title, const Layer& data, const Way& way, const Layer& behind) {
  graph_case(std::string(title) + ": " + way.name,
             [=](Builder& b) { b.output(b.op("Sign", {behind(b, way.sums(b, data(b, image(b))))})); })
      .tol(0, 0)
      .only_opsets({11, 18, 24})
      .without({Mode::dims, Mode::rank})
      .check();
}

const Layer kSigns = [](Builder& b, const std::string& x) { return b.op("Sign", {x}); };
const Layer kNothing = [](Builder&, const std::string& x) { return x; };

TEST(Binarized, FactorBehindSums) {
  for (const std::vector<float>& levels : {std::vector<float>{-1, 1}, {-1, 0, 1}, {-2, -1, 0, 1}})
    for (const Way& way : convolutions(levels)) {
      check_signs("a number", kSigns, way, [](Builder& b, const std::string& x) { return times(b, x, 0.3); });
      check_signs("a number for each channel", kSigns, way, [&](Builder& b, const std::string& x) {
        return b.op("Mul", {x, b.const_input(chosen({way.channels}, {0.3F, 0.7F, 0.1F}))});
      });
      check_signs("a normalization", kSigns, way,
                  [&](Builder& b, const std::string& x) { return normalized(b, x, way.channels); });
      check_signs("a number, a pool and a normalization", kSigns, way, [&](Builder& b, const std::string& x) {
        const std::string pool = b.op("MaxPool", {times(b, x, 0.3)},
                                      {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "VALID"}});
        return normalized(b, pool, way.channels);
      });
    }
}

// Each result is the difference of two numbers, one after the other in `dims`, which is rounded once: thirds have sums of their own
// in each order otherwise.
TensorPtr differences(const Ints& dims) {
  const std::int64_t out = dims.back(), in = dims[dims.size() - 2];
  const bool depthwise = out == 1;
  std::vector<float> w(static_cast<std::size_t>(element_count(dims)), 0);
  for (std::int64_t tap = 0; tap < 2; ++tap)
    for (std::int64_t i = 0; i < in; ++i)
      for (std::int64_t o = 0; o < out; ++o)
        if (depthwise || o % in == i) w[static_cast<std::size_t>((tap * in + i) * out + o)] = tap == 0 ? 1 : -1;
  return Tensor::of<float>(dims, w);
}

// As DoReFa has it: of 2 bits, thirds.
TEST(Binarized, FactorInFrontOfSums) {
  const Layer thirds = [](Builder& b, const std::string& x) {
    const std::string clipped = b.op("ClipByValue", {x, scalar(b, 0), scalar(b, 1)});
    return times(b, b.op("Round", {times(b, clipped, 3)}), 1.0 / 3);
  };
  const Layer quotients = [](Builder& b, const std::string& x) {
    return b.op("RealDiv", {b.op("Round", {times(b, x, 3)}), scalar(b, 3)});
  };
  const auto way = [](const char* op, const Ints& dims) -> Layer {
    return [=](Builder& b, const std::string& x) { return convolved(b, x, differences(dims), op); };
  };
  const std::vector<Way> ways = {{"Conv2D", way("Conv2D", {1, 2, 8, 16}), 16},
                                 {"of few channels", way("Conv2D", {1, 2, 8, 3}), 3},
                                 {"depthwise", way("DepthwiseConv2dNative", {1, 2, 8, 1}), 8}};
  for (const Layer& data : {thirds, quotients})
    for (const Way& w : ways) {
      check_signs("thirds", data, w, kNothing);
      check_signs("thirds, and a number behind a Relu", data, w, [&](Builder& b, const std::string& x) {
        return times(b, b.op("Relu", {x}), 0.7);
      });
    }
}

TEST(Binarized, Dense) {
  const auto dense = [](const char* title, const Layer& data, const Layer& behind) {
    graph_case(title,
               [=](Builder& b) {
                 const std::string x = data(b, b.input(f32, {16, 200}, verify::Range{-2, 2}));
                 const std::string y = b.op("MatMul", {x, b.const_input(chosen({200, 24}, {-1, 1}))});
                 b.output(b.op("Sign", {behind(b, y)}));
               })
        .tol(0, 0)
        .only_opsets({11, 18, 24})
        .without({Mode::dims, Mode::rank})
        .check();
  };
  dense("a number behind", kSigns, [](Builder& b, const std::string& x) { return times(b, x, 0.3); });
  dense("a quotient behind", kSigns,
        [](Builder& b, const std::string& x) { return b.op("RealDiv", {x, scalar(b, 3)}); });
  dense("a number for each column", kSigns, [](Builder& b, const std::string& x) {
    return b.op("Mul", {x, b.const_input(chosen({24}, {0.3F, 0.7F, 0.1F}))});
  });
  dense("a bias and a number", kSigns, [](Builder& b, const std::string& x) {
    return times(b, b.op("BiasAdd", {x, b.const_input(chosen({24}, {1, 2, -3}))}), 0.3);
  });
}

// The largest of whole numbers, of which several are equal.
TEST(Binarized, Classes) {
  graph_case("the class of equal scores",
             [](Builder& b) {
               const std::string x = b.op("Sign", {b.input(f32, {64, 12}, verify::Range{-2, 2})});
               const std::string y = times(b, b.op("MatMul", {x, b.const_input(chosen({12, 10}, {-1, 1}))}), 0.3);
               b.output(b.op("ArgMax", {y, b.constant_of<std::int32_t>({}, {1})}, {{"output_type", DType::i32}}));
             })
      .tol(0, 0)
      .only_opsets({11, 24})
      .check();
}

// What is quantized without a layer in between, or by a pool.
TEST(Binarized, WithoutWeights) {
  for (const auto& [first, second] : std::vector<std::pair<double, double>>{{0.1, 30}, {1.0 / 3, 1.5}, {0.2, 0.5}})
    graph_case("two numbers",
               [=, a = first, c = second](Builder& b) {
                 const std::string x = b.op("Round", {b.input(f32, {20, 20}, verify::Range{-60, 60})});
                 const std::string y = times(b, times(b, x, a), c);
                 b.output(b.op("Floor", {y}));
                 b.output(b.op("Round", {y}));
               })
        .tol(0, 0)
        .only_opsets({11, 24})
        .check();
  graph_case("most of nine signs", [](Builder& b) {
    const std::string x = b.op("Sign", {b.op("Round", {b.input(f32, {1, 30, 30, 12}, verify::Range{-1, 1})})});
    b.output(b.op("Sign", {b.op("AvgPool", {x},
                                {{"ksize", Ints{1, 3, 3, 1}}, {"strides", Ints{1, 3, 3, 1}}, {"padding", "VALID"}})}));
  }).tol(0, 0).only_opsets({18, 24}).check();
}

}  // namespace
}  // namespace t2o::numeric
