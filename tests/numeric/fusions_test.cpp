#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness.h"

// What rewriters make one operator of, beside TensorFlow's many.
namespace t2o::numeric {
namespace {

std::string scalar(Builder& b, double v) { return b.const_input(Tensor::of<float>({}, {static_cast<float>(v)})); }
std::string mul(Builder& b, const std::string& x, const std::string& y) { return b.op("Mul", {x, y}); }
std::string add(Builder& b, const std::string& x, const std::string& y) { return b.op("AddV2", {x, y}); }

using Function = std::function<std::string(Builder&, const std::string&)>;

using Operators = std::map<std::string, std::size_t>;

void activation(const char* name, const Function& f, const Operators& operators, int since = 0) {
  const std::vector<float> edges = {std::nanf(""), INFINITY, -INFINITY, -0.0F, 0.0F, 1e30F, -1e30F, 3.0F, -3.0F, 0.5F, -0.5F, 1.0F, -1.0F, 2.5F, -2.5F, 6.5F, -6.5F, 10.0F};
  graph_case(name, [f, edges](Builder& b) { b.output(f(b, b.input(Tensor::of<float>({3, 6}, edges)))); }).gives(operators, since).check();
  graph_case(name, [f](Builder& b) { b.output(f(b, b.input(f32, {4, 33}, verify::Range{-8, 8}))); }).gives(operators, since).check();
}

TEST(Fusions, HardSwishAndHardSigmoid) {
  const auto part = [](Builder& b, const std::string& x) { return b.op("Relu6", {add(b, x, scalar(b, 3))}); };
  activation("x relu6(x + 3) / 6", [=](Builder& b, const std::string& x) { return b.op("RealDiv", {mul(b, x, part(b, x)), scalar(b, 6)}); }, {{"HardSwish", 1}, {"Mul", 0}}, 15);
  activation("x (relu6(x + 3) / 6)", [=](Builder& b, const std::string& x) { return mul(b, x, mul(b, scalar(b, 1.0 / 6), part(b, x))); }, {{"HardSwish", 1}, {"Mul", 0}}, 15);
  activation("relu6(x + 3) / 6", [=](Builder& b, const std::string& x) { return b.op("RealDiv", {part(b, x), scalar(b, 6)}); }, {{"HardSigmoid", 1}, {"Clip", 0}, {"Add", 0}});
  activation("clipped line", [](Builder& b, const std::string& x) {
    const std::string line = add(b, mul(b, x, scalar(b, 0.2)), scalar(b, 0.5));
    return b.op("Maximum", {b.op("Minimum", {line, scalar(b, 1)}), scalar(b, 0)});
  }, {{"HardSigmoid", 1}, {"Clip", 0}, {"Mul", 0}});
}

TEST(Fusions, LeakyRelu) {
  const auto small = [](Builder& b, const std::string& x) { return mul(b, x, scalar(b, 0.1)); };
  activation("max(x, 0.1 x)", [=](Builder& b, const std::string& x) { return b.op("Maximum", {small(b, x), x}); }, {{"LeakyRelu", 1}, {"Max", 0}});
  activation("x > 0", [=](Builder& b, const std::string& x) { return b.op("SelectV2", {b.op("Greater", {x, scalar(b, 0)}), x, small(b, x)}); }, {{"LeakyRelu", 1}, {"Where", 0}});
  activation("x < 0", [=](Builder& b, const std::string& x) { return b.op("SelectV2", {b.op("Less", {x, scalar(b, 0)}), small(b, x), x}); }, {{"LeakyRelu", 1}, {"Where", 0}});
  // a threshold that is almost zero is another function
  const auto steep = [](Builder& b, const std::string& x) { return mul(b, x, scalar(b, -1e6)); };
  graph_case("x > 5e-7", [=](Builder& b) {
    const std::string x = b.input(Tensor::of<float>({4}, std::vector<float>{3e-7F, 1, -1, 0}));
    b.output(b.op("SelectV2", {b.op("Greater", {x, scalar(b, 5e-7)}), x, steep(b, x)}));
  }).gives({{"LeakyRelu", 0}}).check();
  activation("max(x, 2 x)", [=](Builder& b, const std::string& x) { return b.op("Maximum", {mul(b, x, scalar(b, 2)), x}); }, {{"LeakyRelu", 0}});
  activation("two rectifiers", [](Builder& b, const std::string& x) {
    const std::string below = mul(b, b.op("Relu", {b.op("Neg", {x})}), scalar(b, 0.3));
    return b.op("Sub", {b.op("Relu", {x}), below});
  }, {{"LeakyRelu", 1}, {"Relu", 0}});
}

TEST(Fusions, PRelu) {
  const auto slopes = [](Builder& b, std::vector<float> numbers) { return b.const_input(Tensor::of<float>({1, 1, 3}, numbers)); };
  const auto keras = [=](const char* name, std::vector<float> numbers, const Operators& operators) {  // relu(x) - a relu(-x)
    graph_case(name, [=](Builder& b) {
      const std::string x = b.input(f32, {2, 16, 16, 3}, verify::Range{-8, 8});
      b.output(add(b, b.op("Relu", {x}), mul(b, b.op("Neg", {slopes(b, numbers)}), b.op("Relu", {b.op("Neg", {x})}))));
    }).gives(operators).check();
  };
  keras("between 0 and 1", {0.25F, 0.5F, 1}, {{"Max", 1}, {"Relu", 0}});
  keras("both signs", {0.25F, -0.5F, 2}, {{"Clip", 1}, {"Relu", 1}, {"Neg", 0}});
  keras("one number", {-0.5F, -0.5F, -0.5F}, {{"LeakyRelu", 1}, {"Relu", 0}});
  const std::vector<float> edges = {std::nanf(""), INFINITY, -INFINITY, -0.0F, 0.0F, 1e30F, -1e30F, 3.0F, -3.0F, 0.5F, -0.5F, 1.0F};
  for (const float high : {0.5F, 2.0F}) {
    std::vector<float> many;
    for (int i = 0; i < 64; ++i) many.insert(many.end(), edges.begin(), edges.end());
    graph_case("special numbers", [=](Builder& b) {
      const std::string x = b.input(Tensor::of<float>({256, 3}, many)), a = b.const_input(Tensor::of<float>({3}, {0.25F, 0.5F, high}));
      b.output(add(b, b.op("Relu", {x}), mul(b, a, b.op("Minimum", {x, scalar(b, 0)}))));
    }).gives({{"PRelu", 0}, {"Min", 0}, {high == 2 ? "Clip" : "Max", 1}}).check();
  }
}

TEST(Fusions, BoundsAndMish) {
  activation("max(min(x, 2), -1)", [](Builder& b, const std::string& x) { return b.op("Maximum", {b.op("Minimum", {x, scalar(b, 2)}), scalar(b, -1)}); }, {{"Clip", 1}, {"Max", 0}, {"Min", 0}});
  activation("bounds the wrong way round", [](Builder& b, const std::string& x) { return b.op("Maximum", {b.op("Minimum", {x, scalar(b, -1)}), scalar(b, 2)}); }, {{"Clip", 0}});
  activation("min(relu(x), 6)", [](Builder& b, const std::string& x) { return b.op("Minimum", {b.op("Relu", {x}), scalar(b, 6)}); }, {{"Clip", 1}, {"Relu", 0}, {"Min", 0}});
  activation("max(x, 0)", [](Builder& b, const std::string& x) { return b.op("Maximum", {x, scalar(b, 0)}); }, {{"Relu", 1}, {"Max", 0}});
  activation("mish", [](Builder& b, const std::string& x) { return mul(b, x, b.op("Tanh", {b.op("Softplus", {x})})); }, {{"Mish", 1}, {"Softplus", 0}, {"Tanh", 0}}, 18);
}

// By way of the bits, as in Keras: also of -0, and of which zero an argmax takes.
TEST(Fusions, SignBit) {
  const auto bit = [](Builder& b, const std::string& x) {
    const std::string bits = b.op("Bitcast", {x}, {{"type", DType::i32}});
    const std::string mask = b.const_input(Tensor::of<std::int32_t>({}, {std::numeric_limits<std::int32_t>::min()}));
    return b.op("Less", {b.op("BitwiseAnd", {bits, mask}), b.const_input(Tensor::of<std::int32_t>({}, {0}))});
  };
  const std::vector<float> numbers = {INFINITY, -INFINITY, -0.0F, 0.0F, 1e30F, -1e30F, 3e38F, -3e38F, 0.5F, -0.5F, 2.0F, -2.0F};
  graph_case("sign bit", [=](Builder& b) { b.output(bit(b, b.input(Tensor::of<float>({3, 4}, numbers)))); }).gives({{"BitwiseAnd", 0}, {"BitCast", 0}, {"Reciprocal", 1}}).check();
  for (const char* op : {"ArgMax", "ArgMin"})
    graph_case(op, [=](Builder& b) {
      const std::string x = b.input(Tensor::of<float>({4, 3}, std::vector<float>{-0.0F, 0.0F, -1, 0, -0.0F, 0, 0, -0.0F, 1, -2, 3, 3}));
      const std::string minus_zero = b.op("LogicalAnd", {b.op("Equal", {x, scalar(b, 0)}), bit(b, x)});
      const std::string told = b.op("SelectV2", {minus_zero, scalar(b, -1.17549435e-38), x});
      b.output(b.op(op, {told, b.const_input(Tensor::of<std::int32_t>({}, {1}))}, {{"output_type", DType::i32}}));
    }).gives({{"BitwiseAnd", 0}, {"BitCast", 0}, {"Reciprocal", 1}}).check();
}

TEST(Fusions, LogSumExp) {
  const auto drawn = [](Builder& b, const std::string& x, const std::vector<std::int32_t>& axes, bool keep) {
    const auto over = [&] { return b.const_input(Tensor::of<std::int32_t>({std::ssize(axes)}, axes)); };
    const std::string most = b.op("Max", {x, over()}, {{"keep_dims", true}});
    const std::string m = b.op("SelectV2", {b.op("IsFinite", {most}), most, b.op("ZerosLike", {most})});
    const std::string log = b.op("Log", {b.op("Sum", {b.op("Exp", {b.op("Sub", {x, m})}), over()}, {{"keep_dims", keep}})});
    return b.op("AddV2", {log, keep ? m : b.op("Reshape", {m, b.op("Shape", {log})})});
  };
  const Operators fused = {{"ReduceMax", 1}, {"IsInf", 0}, {"Where", 0}};
  const float nan = std::nanf("");
  const std::vector<float> edges = {1, 2, 3, INFINITY, 1, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 1, 2,
                                    nan, 1, 2, 1, 2, nan, INFINITY, -INFINITY, 0, 3e38F, 1, 3e38F, -3e38F, -3e38F, -3e38F, nan, INFINITY, -INFINITY};
  for (const bool keep : {false, true}) {
    graph_case("edges", [=](Builder& b) { b.output(drawn(b, b.input(Tensor::of<float>({10, 3}, edges)), {1}, keep)); }).gives(fused).check();
    for (const DType t : {f32, f64, f16}) {
      graph_case("two axes", [=](Builder& b) { b.output(drawn(b, b.input(t, {2, 3, 4}, verify::Range{-9, 9}), {0, -1}, keep)); }).gives(fused).check();
      graph_case("all", [=](Builder& b) { b.output(drawn(b, b.input(t, {3, 4}, verify::Range{-9, 9}), {0, 1}, keep)); }).gives(fused).check();
    }
    graph_case("of nothing", [=](Builder& b) { b.output(drawn(b, b.input(f32, {2, 0}), {1}, keep)); }).gives(fused).check();
  }
}

TEST(Fusions, Gelu) {
  activation("0.5 x (1 + tanh(c (x + k x x x)))", [](Builder& b, const std::string& x) {
    const std::string cube = mul(b, mul(b, mul(b, scalar(b, 0.044715), x), x), x);
    const std::string t = b.op("Tanh", {mul(b, scalar(b, 0.7978845608), add(b, x, cube))});
    return mul(b, mul(b, scalar(b, 0.5), x), add(b, scalar(b, 1), t));
  }, {{"Gelu", 1}, {"Tanh", 0}, {"Mul", 0}}, 20);
  activation("x (1 + erf(x / sqrt(2))) / 2", [](Builder& b, const std::string& x) {
    const std::string e = b.op("Erf", {mul(b, x, scalar(b, std::sqrt(0.5)))});
    return b.op("RealDiv", {mul(b, x, add(b, e, scalar(b, 1))), scalar(b, 2)});
  }, {{"Gelu", 1}, {"Erf", 0}, {"Mul", 0}}, 20);
}

// ---- normalizations

struct Moments {
  std::string mean, variance;
};

Moments moments(Builder& b, const std::string& x, const std::vector<std::int32_t>& axes) {
  const auto over = [&] { return b.const_input(Tensor::of<std::int32_t>({std::ssize(axes)}, axes)); };
  const std::string mean = b.op("Mean", {x, over()}, {{"keep_dims", true}});
  const std::string square = b.op("SquaredDifference", {x, b.op("StopGradient", {mean})});
  return {mean, b.op("Mean", {square, over()}, {{"keep_dims", true}})};
}

std::string normalized(Builder& b, const std::string& x, const std::vector<std::int32_t>& axes, const Ints& weights, bool as_layer) {
  const Moments m = moments(b, x, axes);
  const std::string inverse = b.op("Rsqrt", {add(b, m.variance, scalar(b, 1e-3))});
  const std::string gamma = b.const_input(f32, weights), beta = b.const_input(f32, weights);
  if (as_layer) return add(b, mul(b, gamma, mul(b, b.op("Sub", {x, m.mean}), inverse)), beta);
  const std::string scale = mul(b, inverse, gamma);
  return add(b, mul(b, x, scale), b.op("Sub", {beta, mul(b, m.mean, scale)}));
}

Case normalization(const char* name, Ints dims, std::vector<std::int32_t> axes, Ints weights, bool as_layer) {
  return graph_case(name, [=](Builder& b) { b.output(normalized(b, b.input(f32, dims), axes, weights, as_layer)); });
}

TEST(Fusions, InstanceNormalization) {
  const Operators instance = {{"InstanceNormalization", 1}, {"ReduceMean", 0}}, layer = {{"LayerNormalization", 1}, {"ReduceMean", 0}};
  for (const bool as_layer : {false, true}) {
    normalization("channels last", {2, 4, 5, 3}, {1, 2}, {3}, as_layer).gives(instance).empty().check();
    normalization("channels first", {2, 3, 4, 5}, {2, 3}, {3, 1, 1}, as_layer).gives(instance).check();
    normalization("sequence", {2, 6, 3}, {1}, {3}, as_layer).gives(instance).check();
    normalization("volume", {2, 2, 3, 4, 3}, {1, 2, 3}, {3}, as_layer).gives(instance).check();
    normalization("one pixel", {2, 1, 1, 3}, {1, 2}, {3}, as_layer).gives(instance).check();
    normalization("not over all of the image", {2, 4, 5, 3}, {1}, {3}, as_layer).gives({{"InstanceNormalization", 0}}).check();
    normalization("layer", {2, 4, 5}, {-1}, {5}, as_layer).gives(layer, 17).empty().check();
  }
}

Case groups(std::int64_t groups, std::int64_t size, Ints image) {
  return graph_case("groups", [=](Builder& b) {
    const auto dims = [&](std::initializer_list<std::int64_t> last) {
      std::vector<std::int32_t> d{-1};
      for (std::size_t i = 1; i < image.size(); ++i) d.push_back(static_cast<std::int32_t>(image[i]));
      for (const std::int64_t l : last) d.push_back(static_cast<std::int32_t>(l));
      return b.const_input(Tensor::of<std::int32_t>({std::ssize(d)}, d));
    };
    Ints whole = image, weights(image.size(), 1);
    whole.push_back(groups * size);
    weights.push_back(groups);
    weights.push_back(size);
    std::vector<std::int32_t> axes;
    for (std::size_t i = 1; i < image.size(); ++i) axes.push_back(static_cast<std::int32_t>(i));
    axes.push_back(static_cast<std::int32_t>(image.size()) + 1);
    const std::string parts = b.op("Reshape", {b.input(f32, whole), dims({groups, size})});
    b.output(b.op("Reshape", {normalized(b, parts, axes, weights, false), dims({groups * size})}));
  });
}

TEST(Fusions, GroupNormalization) {
  const Operators instance = {{"InstanceNormalization", 1}, {"ReduceMean", 0}};
  groups(2, 3, {2, 4, 5}).gives(instance).empty().check();
  groups(1, 4, {2, 4, 5}).gives(instance).check();
  groups(4, 1, {2, 4, 5}).gives(instance).check();
  groups(2, 2, {3, 7}).gives(instance).check();
  groups(2, 3, {2, 4, 5}).options([](Options& o) { o.target_runtime = "any"; }).only_opsets({18, 21, 23})
      .gives({{"GroupNormalization", 1}, {"ReduceMean", 0}}, 21).check();
}

// As Keras 2 has it: moments that are weighted by ones.
Case weighted_groups(std::int64_t groups, std::int64_t size, Ints image) {
  return graph_case("weighted groups", [=](Builder& b) {
    const auto ints = [&](const std::vector<std::int32_t>& v) { return b.const_input(Tensor::of<std::int32_t>({std::ssize(v)}, v)); };
    Ints whole = image, weights(image.size(), 1);
    whole.push_back(groups * size);
    weights.insert(weights.end(), {groups, size});
    std::vector<std::int32_t> axes, dims{-1};
    for (std::size_t i = 1; i < image.size(); ++i) {
      axes.push_back(static_cast<std::int32_t>(i));
      dims.push_back(static_cast<std::int32_t>(image[i]));
    }
    axes.push_back(static_cast<std::int32_t>(image.size()) + 1);
    dims.insert(dims.end(), {static_cast<std::int32_t>(groups), static_cast<std::int32_t>(size)});
    const std::string in = b.input(f32, whole);
    const auto split = [&](const std::string& v) { return b.op("Reshape", {v, ints(dims)}); };
    const std::string x = split(in), w = split(b.op("OnesLike", {in}));
    const auto sum = [&](const std::string& v) { return b.op("Sum", {v, ints(axes)}, {{"keep_dims", true}}); };
    const std::string count = sum(add(b, w, b.op("ZerosLike", {x})));
    const std::string mean = b.op("DivNoNan", {sum(mul(b, w, x)), count});
    const std::string variance = b.op("DivNoNan", {sum(mul(b, w, b.op("SquaredDifference", {x, mean}))), count});
    const std::string scale = mul(b, b.op("Rsqrt", {add(b, variance, scalar(b, 1e-3))}), b.const_input(f32, weights));
    const std::string y = add(b, mul(b, x, scale), b.op("Sub", {b.const_input(f32, weights), mul(b, mean, scale)}));
    dims.resize(image.size());
    dims.push_back(static_cast<std::int32_t>(groups * size));
    b.output(b.op("Reshape", {y, ints(dims)}));
  });
}

TEST(Fusions, WeightedGroupNormalization) {
  const Operators instance = {{"InstanceNormalization", 1}, {"ReduceSum", 0}};  // where the count is no constant
  weighted_groups(2, 3, {2, 4, 5}).gives(instance, 13, {Mode::batch}).empty().check();
  weighted_groups(1, 4, {2, 4, 5}).gives(instance, 13, {Mode::batch}).check();
  weighted_groups(4, 1, {2, 4, 5}).gives(instance, 13, {Mode::batch}).check();
  weighted_groups(2, 2, {3, 7}).gives(instance, 13, {Mode::batch}).check();
}

// A bias of [1, n], as GPT-2 has it.
TEST(Fusions, DenseLayersWithAMatrixForABias) {
  graph_case("bias of one row", [](Builder& b) {
    const std::string x = b.input(f32, {2, 3, 4});
    const auto ints = [&](const std::vector<std::int32_t>& v) { return b.const_input(Tensor::of<std::int32_t>({std::ssize(v)}, v)); };
    const std::string y = b.op("MatMul", {b.op("Reshape", {x, ints({-1, 4})}), b.const_input(f32, {4, 5})});
    b.output(b.op("Reshape", {add(b, y, b.const_input(f32, {1, 5})), ints({-1, 3, 5})}));
  }).gives({{"MatMul", 1}, {"Add", 1}, {"Reshape", 0}}).check();
}

// Each layer asks for the sizes anew; ones and zeros of a tensor's shape; a softmax that is shifted.
TEST(Fusions, SizesAndNeutrals) {
  graph_case("sizes", [](Builder& b) {
    const std::string x = b.input(f32, {2, 3, 4});
    const std::string y = b.op("Relu", {mul(b, x, b.op("OnesLike", {x}))}), z = add(b, b.op("ZerosLike", {y}), y);
    const std::string dims = b.op("Shape", {z}, {{"out_type", i32}});
    b.output(b.op("Reshape", {b.op("Tanh", {z}), dims}));
    b.output(b.op("Softmax", {add(b, x, scalar(b, 1e-9))}));
    b.output(b.op("Fill", {b.op("Shape", {y}, {{"out_type", i32}}), scalar(b, 2)}));
  }).gives({{"Shape", 0}, {"Reshape", 0}, {"Add", 0}, {"Mul", 0}, {"Expand", 0}}).nan_inf().empty().check();
}

TEST(Fusions, BatchNormalizationOfRows) {
  graph_case("rows", [](Builder& b) {
    const std::string x = b.input(f32, {2, 3, 8});
    const auto ints = [&](const std::vector<std::int32_t>& v) { return b.const_input(Tensor::of<std::int32_t>({std::ssize(v)}, v)); };
    const auto whole = [&](std::int32_t v) { return b.const_input(Tensor::of<std::int32_t>({}, {v})); };
    const std::string shape = b.op("Shape", {x}, {{"out_type", i32}});
    const auto part = [&](std::int32_t begin, std::int32_t end, std::int64_t end_mask) {
      return b.op("StridedSlice", {shape, ints({begin}), ints({end}), ints({1})}, {{"end_mask", end_mask}});
    };
    const std::string rows = b.op("Prod", {part(0, 2, 0), ints({0})}), columns = b.op("Prod", {part(2, 0, 1), ints({0})});
    const std::string dims = b.op("Pack", {engines::TfInput(Strings{whole(1), rows, columns, whole(1)})}, {{"axis", std::int64_t{0}}});
    const std::string count = b.op("Pack", {engines::TfInput(Strings{rows})}, {{"axis", std::int64_t{0}}});
    const std::string ones = b.op("Fill", {count, scalar(b, 1)}), zeros = b.op("Fill", {count, scalar(b, 0)});
    const std::string nothing = b.const_input(Tensor::of<float>({0}, {})), none = b.const_input(Tensor::of<float>({0}, {}));
    const std::string y = b.op("FusedBatchNormV3", {b.op("Reshape", {x, dims}), ones, zeros, nothing, none},
                               {{"is_training", true}, {"data_format", "NCHW"}, {"epsilon", 1e-3F}});
    const std::string scaled = mul(b, b.op("Reshape", {y, shape}), b.const_input(f32, {8}));
    b.output(add(b, scaled, b.const_input(f32, {8})));
  }).gives({{"LayerNormalization", 1}, {"BatchNormalization", 0}, {"Mul", 0}}, 17).check();
}

// ONNX Runtime takes the Relu into the Clip, but not of doubles.
TEST(Fusions, ClipOfRelu) {
  for (const DType type : {f32, f64, f16})
    for (const double low : {-1.0, 0.0, 1.0})
      graph_case("Clip of Relu of " + std::string(t2o::name(type)), [=](Builder& b) {
        const auto number = [&](double v) { return b.op("Cast", {scalar(b, v)}, {{"DstT", type}}); };
        const std::string relu = b.op("Relu", {b.input(type, {3, 4}, verify::Range{-8, 8})});
        const std::string bounded = b.op("Maximum", {relu, number(low)});
        b.output(b.op("Minimum", {bounded, number(6)}));
      }).gives({{"Clip", 1}, {"Relu", 0}, {"Max", 0}, {"Min", 0}}, type == f64 ? 12 : 0).check();
}

// As additive attention scores its keys; also of nothing, and with infinities that meet zeros.
TEST(Fusions, WeightedSums) {
  const auto weighted = [](DType type, Ints x, Ints w, std::int32_t axis, bool keep) {
    return graph_case("weighted sum", [=](Builder& b) {
      const std::string products = b.op("Mul", {b.const_input(type, w), b.input(type, x)});
      b.output(b.op("Sum", {products, b.const_input(Tensor::of<std::int32_t>({1}, {axis}))}, {{"keep_dims", keep}}));
    });
  };
  for (const DType type : {f32, f64, f16})
    for (const bool keep : {false, true}) weighted(type, {2, 3, 4, 5}, {5}, 3, keep).nan_inf().empty().check();
  weighted(f32, {2, 3, 4, 5}, {5}, 3, false).gives({{"MatMul", 1}, {"ReduceSum", 0}, {"Mul", 0}}).check();
  weighted(f32, {2, 3, 4, 5}, {5}, 3, true).gives({{"MatMul", 1}, {"ReduceSum", 0}, {"Mul", 0}}).check();
  weighted(f32, {3, 1}, {1}, -1, false).check();
  weighted(f32, {3, 4}, {1, 4}, -1, false).gives({{"MatMul", 1}, {"ReduceSum", 0}, {"Mul", 0}}).check();
  weighted(f32, {3, 4}, {3, 1}, -1, true).gives({{"MatMul", 0}}).check();
  weighted(f32, {4, 4}, {4}, 0, true).gives({{"MatMul", 0}}).check();
}

// Of what is never negative: with NaN, infinities, sums that are too large for a number, and numbers too small for one.
TEST(Fusions, MaximaBehindRelu) {
  const std::vector<float> rows = {std::nanf(""), 1, -1, INFINITY, 2, 0, 3e38F, 3e38F, 2e38F, 1e-42F, 0, -3, -INFINITY, -1, -0.0F};
  for (const DType type : {f32, f64, f16})
    for (const bool keep : {false, true})
      graph_case("maximum of Relu", [=](Builder& b) {
        const std::string x = b.op("Relu", {b.op("Cast", {b.input(Tensor::of<float>({5, 3}, rows))}, {{"DstT", type}})});
        b.output(b.op("Max", {x, b.const_input(Tensor::of<std::int32_t>({1}, {1}))}, {{"keep_dims", keep}}));
        b.output(b.op("Max", {x, b.const_input(Tensor::of<std::int32_t>({2}, {0, 1}))}, {{"keep_dims", keep}}));
        b.output(b.op("Min", {x, b.const_input(Tensor::of<std::int32_t>({1}, {1}))}, {{"keep_dims", keep}}));
      }).check();
  graph_case("maximum of Relu of any shape", [](Builder& b) {
    const std::string x = b.op("Relu", {b.input(f32, {2, 4, 5})});
    b.output(b.op("Max", {x, b.const_input(Tensor::of<std::int32_t>({1}, {1}))}));
  }).gives({{"ReduceMax", 1}, {"Min", 0}, {"ReduceSum", 0}, {"Clip", 0}}).nan_inf().empty().check();
}

// The mean keeps the NaN there.
TEST(Fusions, MaximaAndMeansBehindRelu) {
  const std::vector<float> rows = {std::nanf(""), 1, -1, INFINITY, 2, 0, 3e38F, 3e38F, 2e38F, 1e-42F, 0, -3, -INFINITY, -1, -0.0F};
  for (const DType type : {f32, f64, f16})
    for (const bool mean_first : {false, true})
      graph_case("maximum and mean of Relu", [=](Builder& b) {
        const std::string x = b.op("Relu", {b.op("Cast", {b.input(Tensor::of<float>({5, 3}, rows))}, {{"DstT", type}})});
        const std::string last = b.const_input(Tensor::of<std::int32_t>({1}, {1}));
        for (const bool mean : {mean_first, !mean_first}) b.output(b.op(mean ? "Mean" : "Max", {x, last}));
      }).gives({{"ReduceMax", 1}, {"ReduceMean", 1}, {"Min", 0}, {"ReduceSum", 0}, {"Clip", 0}}).check();
}

// As Keras normalizes embeddings and as TensorFlow does: of nothing, of too much, and of what is no number.
TEST(Fusions, NormsOfRows) {
  const std::vector<float> rows = {3, 4, 0, 0, 0, 0, 1e-20F, 1e-20F, 0, 1e-7F, 0, 1e-7F, 1e25F, 1, -1e25F, INFINITY, 1, 2, std::nanf(""), 1, 0, -5, 1e-30F, 12};
  for (const DType type : {f32, f64})
    for (const bool bounds_sum : {false, true})
      graph_case("normalized", [=](Builder& b) {
        const std::string x = b.op("Cast", {b.input(Tensor::of<float>({8, 3}, rows))}, {{"DstT", type}});
        const auto number = [&](double v) { return b.op("Cast", {scalar(b, v)}, {{"DstT", type}}); };
        const std::string sum = b.op("Sum", {b.op("Square", {x}), b.const_input(Tensor::of<std::int32_t>({1}, {-1}))}, {{"keep_dims", true}});
        const std::string inverse = b.op("Rsqrt", {bounds_sum ? b.op("Maximum", {sum, number(1e-12)}) : sum});
        b.output(mul(b, x, bounds_sum ? inverse : b.op("Minimum", {inverse, number(1e12)})));
      }).gives(type == f32 ? Operators{{"ReduceL2", 1}, {"Div", 1}, {"ReduceSum", 0}, {"Mul", 0}} : Operators{}).check();
  graph_case("norm", [](Builder& b) {
    const std::string x = b.input(f32, {2, 4, 5});
    const std::string sum = b.op("Sum", {mul(b, x, x), b.const_input(Tensor::of<std::int32_t>({2}, {1, 2}))});
    b.output(b.op("Sqrt", {sum}));
  }).gives({{"ReduceL2", 1}, {"ReduceSum", 0}, {"Sqrt", 0}}).nan_inf().empty().check();
}

// As Keras 3 leaves a TimeDistributed layer.
TEST(Fusions, LayersOfEachStep) {
  for (const bool steps_first : {false, true})
    for (const bool stacked_first : {false, true})
      graph_case("of each step", [=](Builder& b) {
        const std::string x = b.input(f32, steps_first ? Ints{3, 2, 6, 5, 2} : Ints{2, 3, 6, 5, 2});
        const std::string axis = b.const_input(Tensor::of<std::int32_t>({}, {steps_first ? 0 : 1}));
        const std::string weights = b.const_input(f32, {3, 3, 2, 4}), bias = b.const_input(f32, {4});
        Strings steps;
        for (const std::int32_t i : {0, 1, 2}) {
          const std::string row = b.op("GatherV2", {x, b.const_input(Tensor::of<std::int32_t>({}, {i})), axis});
          const std::string y = b.op("Conv2D", {row, weights}, {{"strides", Ints{1, 2, 1, 1}}, {"padding", "SAME"}});
          const std::string z = b.op("Relu", {b.op("BiasAdd", {y, bias})});
          steps.push_back(b.op("MaxPool", {z}, {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}}));
        }
        b.output(b.op("Pack", {engines::TfInput(steps)}, {{"axis", std::int64_t{stacked_first ? 0 : 1}}}));
      }).gives({{"Conv", 1}, {"MaxPool", 1}, {"Gather", 0}, {"Concat", 0}}).check();
}

// Which ONNX Runtime gets as convolutions of images.
TEST(Fusions, SeparableConvolutionsOfSequences) {
  for (const std::int64_t stride : {1, 2})
    for (const char* padding : {"SAME", "VALID"})
      graph_case(std::string("separable, ") + padding, [=](Builder& b) {
        const auto whole = [&](std::int32_t v) { return b.const_input(Tensor::of<std::int32_t>({}, {v})); };
        const auto image = [&](const std::string& x, std::int32_t axis) { return b.op("ExpandDims", {x, whole(axis)}); };
        const Ints strides{1, stride, stride, 1};
        const std::string x = image(b.input(f32, {2, 9, 16}), 1);
        const std::string each = b.op("DepthwiseConv2dNative", {x, image(b.const_input(f32, {3, 16, 1}), 0)}, {{"strides", strides}, {"padding", padding}});
        const std::string all = b.op("Conv2D", {each, image(b.const_input(f32, {1, 16, 20}), 0)}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}});
        const std::string y = b.op("Squeeze", {all}, {{"squeeze_dims", Ints{1}}});
        const std::string z = b.op("Relu6", {b.op("BiasAdd", {y, b.const_input(f32, {20})})});
        b.output(b.op("Max", {z, b.const_input(Tensor::of<std::int32_t>({1}, {1}))}));
        b.output(z);
      }).gives({{"Conv", 2}, {"Unsqueeze", 1}, {"Squeeze", 1}, {"Add", 0}}).nan_inf().check();
}

// A factor goes into the weights, past what keeps it; what is added or cut off on the way has it too.
TEST(Fusions, ScalesAroundWeights) {
  const auto convolved = [](Builder& b, const std::string& x, const Ints& filter) {
    return b.op("Conv2D", {x, b.const_input(f32, filter)}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
  };
  graph_case("pixels", [=](Builder& b) {
    const std::string x = b.op("RealDiv", {b.input(f32, {2, 5, 5, 3}, verify::Range{0, 255}), scalar(b, 255)});
    const std::string y = b.op("BiasAdd", {convolved(b, b.op("Sub", {x, scalar(b, 0.5)}), {3, 3, 3, 4}), b.const_input(f32, {4})});
    const std::string pooled = b.op("MaxPool", {b.op("Relu6", {y})}, {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}});
    b.output(b.op("Tanh", {mul(b, pooled, scalar(b, 0.25))}));
  }).tol(1e-5, 1e-5).gives({{"Conv", 1}, {"Mul", 0}, {"Div", 0}, {"Add", 0}}).check();
  graph_case("pixels, weights that are made when they are written", [=](Builder& b) {
    const std::string x = mul(b, b.input(f32, {1, 6, 6, 8}), scalar(b, 0.25));
    const std::string y = b.op("Relu", {mul(b, convolved(b, x, {3, 3, 8, 16}), b.const_input(f32, {16}))});
    b.output(b.op("Tanh", {mul(b, y, scalar(b, 0.5))}));
  }).tol(1e-5, 1e-5).gives({{"Conv", 1}, {"Mul", 0}}).check();
  for (const double factor : {3.0, -0.5})
    graph_case("rows", [=](Builder& b) {
      const std::string x = b.op("MatMul", {mul(b, b.input(f32, {3, 4}), scalar(b, 0.125)), b.const_input(f32, {4, 5})});
      const std::string y = mul(b, b.op("Relu", {add(b, x, b.const_input(f32, {5}))}), scalar(b, factor));
      b.output(b.op("Softmax", {b.op("MatMul", {y, b.const_input(f32, {5, 2})})}));
      b.output(y);
    }).gives({{"Gemm", 1}, {"MatMul", 1}, {"Mul", factor > 0 ? 0U : 1U}}).nan_inf().check();  // a Relu keeps factors above 0
}

// A convolution of single pixels picks them itself.
TEST(Fusions, ConvolutionsBehindPoolsThatPickPixels) {
  for (const Ints& steps : {Ints{1, 2, 2, 1}, Ints{1, 2, 1, 1}, Ints{1, 1, 3, 1}})
    graph_case("picked pixels", [=](Builder& b) {
      const std::string x = b.op("AvgPool", {b.op("Relu", {b.input(f32, {2, 7, 8, 2})})}, {{"ksize", Ints{1, 1, 1, 1}}, {"strides", steps}, {"padding", "VALID"}});
      const auto convolved = [&] { return b.op("Conv2D", {x, b.const_input(f32, {1, 1, 2, 4})}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}}); };
      const std::string y = b.op("BiasAdd", {convolved(), b.const_input(f32, {4})});
      b.output(b.op("Mul", {y, b.op("Sigmoid", {convolved()})}));
    }).gives({{"Conv", 2}, {"AveragePool", 0}, {"Slice", 0}}).nan_inf().check();
}

TEST(Fusions, DenseLayersByEinsum) {
  const auto einsum = [](const char* equation, Ints x, Ints w) {
    graph_case(equation, [=](Builder& b) {
      const std::string in = b.input(f32, x), weights = b.const_input(f32, w);
      b.output(b.op("Einsum", {engines::TfInput(Strings{in, weights})}, {{"equation", equation}}));
    }).gives({{"MatMul", 1}, {"Einsum", 0}, {"Transpose", 0}}).check();
  };
  einsum("abc,cde->abde", {2, 3, 4}, {4, 2, 5});
  einsum("abcd,cde->abe", {2, 3, 4, 5}, {4, 5, 6});
  einsum("abcd,dec->abe", {2, 3, 4, 5}, {5, 6, 4});
  einsum("abc,cd->abd", {2, 3, 4}, {4, 5});
}

}  // namespace
}  // namespace t2o::numeric
