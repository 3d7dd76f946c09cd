#include <gtest/gtest.h>

#include <limits>

#include "harness.h"
#include "xla.h"

namespace t2o::numeric {
namespace {

// No NaN for maxima and minima: TensorFlow has XLA's fast ones on CPUs, for which any result will do then.
constexpr double kInf = std::numeric_limits<double>::infinity();

Case reduce(const std::string& op, const std::string& how, const Ints& dims, const Ints& axes, double init) {
  return graph_case(op + " " + how, [=](Builder& b) {
           const std::string x = b.input(b.dtype(), dims);
           const std::string from = b.const_input(verify::tensor_of(b.dtype(), {}, {init}));
           const auto f = combiner(b, how);
           if (op == "XlaReduce") return b.output(b.op(op, {x, from}, {{"dimensions_to_reduce", axes}, {"reducer", f}}));
           if (op == "XlaVariadicReduce") return b.output(b.op(op, {Strings{x}, Strings{from}}, {{"dimensions_to_reduce", axes}, {"reducer", f}}));
           b.output(b.op(op, {Strings{x}, Strings{from}}, {{"dimensions_to_reduce", axes}, {"reducer", f}}));
         })
      .dtypes({f32});
}

TEST(XlaReduce, Computations) {
  reduce("XlaReduce", "AddV2", {4, 3, 2}, {1}, 0).dtypes({f32, f16, i32, i64}).nan_inf().check();
  reduce("XlaReduce", "AddV2", {4, 3, 2}, {0, 2}, 5).dtypes({f32, i32}).check();
  reduce("XlaReduce", "Mul", {4, 3}, {1}, 1).dtypes({f32, i32}).check();
  reduce("XlaReduce", "Maximum", {4, 3}, {1}, -kInf).check();
  reduce("XlaReduce", "Maximum", {4, 3}, {0}, 0).dtypes({f32, i32}).check();
  reduce("XlaReduce", "Minimum", {4, 3}, {0, 1}, kInf).check();
  reduce("XlaReduce", "LogicalOr", {4, 3}, {1}, 0).dtypes({boolean}).check();
  reduce("XlaReduce", "LogicalAnd", {4, 3}, {1}, 1).dtypes({boolean}).check();
  reduce("XlaReduce", "AddV2", {4, 3}, {}, 2).check();
  reduce("XlaVariadicReduce", "Maximum", {4, 3}, {1}, -kInf).check();
  reduce("XlaVariadicReduceV2", "AddV2", {4, 3}, {1}, 0).check();
}

TEST(XlaReduce, Refusals) {
  reduce("XlaReduce", "Sub", {4, 3}, {1}, 0).refuses(Code::unsupported_attr, "has no ONNX form").check();
  reduce("XlaReduce", "second", {4, 3}, {1}, 0).refuses(Code::unsupported_attr, "not a reduction").check();
}

// What jax makes of argmax and argmin.
Case search(const std::string& better, const Ints& dims, std::int64_t axis, double init) {
  return graph_case("XlaVariadicReduceV2 " + better, [=](Builder& b) {
    const std::string x = b.input(b.dtype(), dims);
    std::vector<std::int32_t> index;
    std::int64_t inner = 1;
    for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < dims.size(); ++i) inner *= dims[i];
    std::int64_t all = 1;
    for (const std::int64_t d : dims) all *= d;
    for (std::int64_t i = 0; i < all; ++i) index.push_back(static_cast<std::int32_t>(i / inner % dims[static_cast<std::size_t>(axis)]));
    const std::string places = b.input(Tensor::of<std::int32_t>(dims, index));
    const std::string from = b.const_input(verify::tensor_of(b.dtype(), {}, {init})), zero = b.const_input(Tensor::scalar<std::int32_t>(0));
    const std::string T = " attr { key: 'T' value { type: " + type_name(b.dtype()) + " } } }", I = " attr { key: 'T' value { type: DT_INT32 } } }";
    const auto arg = [&](int i) { return " input_arg { name: 'a" + std::to_string(i) + "' type: " + (i % 2 == 0 ? type_name(b.dtype()) : "DT_INT32") + " }"; };
    const auto node = [](const std::string& name, const std::string& op, const std::string& inputs, const std::string& rest) {
      std::string s = " node_def { name: '" + name + "' op: '" + op + "'";
      for (const std::string& i : words(inputs)) s += " input: '" + i + "'";
      return s + rest;
    };
    std::string text = "library { function { signature { name: 'best'" + arg(0) + arg(1) + arg(2) + arg(3) + " output_arg { name: 'v' type: " + type_name(b.dtype()) + " } output_arg { name: 'i' type: DT_INT32 } }";
    text += node("better", better, "a0 a2", T) + node("nan", "NotEqual", "a0 a0", T) + node("first", "LogicalOr", "better:z:0 nan:z:0", " }");
    text += node("same", "Equal", "a0 a2", T) + node("lower", "Less", "a1 a3", I) + node("tie", "LogicalAnd", "same:z:0 lower:z:0", " }") + node("own", "LogicalOr", "first:z:0 tie:z:0", " }");
    text += node("sv", "SelectV2", "first:z:0 a0 a2", T) + node("si", "SelectV2", "own:z:0 a1 a3", I) + " ret { key: 'v' value: 'sv:output:0' } ret { key: 'i' value: 'si:output:0' } } }";
    const std::string binary = tf::graph_def_from_text(text, "test");
    b.graph().import(std::as_bytes(std::span(binary)));
    const std::string y = b.op("XlaVariadicReduceV2", {Strings{x, places}, Strings{from, zero}}, {{"dimensions_to_reduce", Ints{axis}}, {"reducer", engines::TfFunction{"best"}}});
    b.output(y);
    b.output(y + ":1");
  }).dtypes({f32});
}

TEST(XlaReduce, PlacesOfExtrema) {
  search("Greater", {4, 5}, 1, -kInf).nan_inf().check();
  search("Less", {4, 5, 2}, 1, kInf).nan_inf().check();
  search("Greater", {4, 5}, 0, 0).nan_inf().note("from 0 on").check();
  search("Greater", {4, 5}, 1, -2147483648.0).dtypes({i32}).check();
}

Case windows(const std::string& how, const Ints& dims, double init, const Ints& size, const Ints& stride, const Ints& pads, const Ints& base = {}, const Ints& dilation = {}) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const Ints ones(dims.size(), 1);
  return graph_case("XlaReduceWindow " + how, [=](Builder& b) {
           const std::string x = b.input(b.dtype(), dims);
           Strings in{x, b.const_input(verify::tensor_of(b.dtype(), {}, {init}))};
           for (const Ints& v : {size, stride, base.empty() ? ones : base, dilation.empty() ? ones : dilation}) in.push_back(b.const_input(Tensor::of<std::int64_t>({rank}, v)));
           in.push_back(b.const_input(Tensor::of<std::int64_t>({rank, 2}, pads)));
           const auto f = combiner(b, how);
           b.output(b.op("XlaReduceWindow", std::vector<TfInput>(in.begin(), in.end()), {{"computation", f}}));
         })
      .dtypes({f32});
}

TEST(XlaReduceWindow, Pooling) {
  windows("Maximum", {2, 8, 7, 3}, -kInf, {1, 2, 3, 1}, {1, 2, 2, 1}, {0, 0, 0, 0, 1, 1, 0, 0}).dtypes({f32, f16}).check();
  windows("Minimum", {2, 8, 7, 3}, kInf, {1, 2, 2, 1}, {1, 2, 1, 1}, {0, 0, 1, 0, 0, 0, 0, 0}).check();
  windows("AddV2", {2, 8, 7, 3}, 0, {1, 3, 2, 1}, {1, 1, 2, 1}, {0, 0, 1, 1, 1, 0, 0, 0}).dtypes({f32, f16}).check();
  windows("AddV2", {2, 3, 9}, 0, {1, 1, 3}, {1, 1, 2}, {0, 0, 0, 0, 1, 1}).check();
  windows("Maximum", {2, 8, 7, 3}, -kInf, {1, 2, 3, 1}, {1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0}, {}, {1, 2, 2, 1}).note("dilated").check();
}

TEST(XlaReduceWindow, Running) {
  windows("AddV2", {3, 5}, 0, {1, 5}, {1, 1}, {0, 0, 4, 0}).dtypes({f32, i32}).check();
  windows("AddV2", {3, 5}, 0, {1, 5}, {1, 1}, {0, 0, 0, 4}).check();
  windows("Maximum", {3, 5}, -kInf, {1, 5}, {1, 1}, {0, 0, 4, 0}).check();
  windows("Mul", {5, 3}, 1, {5, 1}, {1, 1}, {4, 0, 0, 0}).check();
}

TEST(XlaReduceWindow, AnyWindows) {
  windows("AddV2", {6, 5, 4}, 3, {2, 2, 3}, {2, 1, 1}, {0, 1, 1, 0, 0, 0}).dtypes({f32, i32}).note("padded, from another value on").check();
  windows("Maximum", {6, 5}, 1, {2, 2}, {1, 1}, {1, 0, 0, 1}).check();
  windows("AddV2", {6, 5}, 0, {3, 1}, {1, 1}, {2, 1, 0, 0}, {2, 1}, {2, 1}).note("stretched").check();
  windows("Maximum", {2, 6, 5, 3}, -2147483648.0, {1, 2, 2, 1}, {1, 2, 2, 1}, {0, 0, 0, 0, 0, 1, 0, 0}).dtypes({i32}).check();
  windows("Maximum", {6, 5}, 0, {1, 1}, {1, 1}, {0, 0, 0, 0}).note("no windows").check();
  windows("AddV2", {6, 5}, 0, {1, 1}, {1, 1}, {0, 0, 0, 0}).check();
  windows("LogicalOr", {6, 5}, 0, {2, 2}, {1, 1}, {0, 0, 0, 0}).dtypes({boolean}).check();
}

struct Gradient {
  std::string select;
  Ints x, source, size, strides, pads;
  float init = 0;
  std::string scatter = "AddV2";
};
Case gradient(const Gradient& g) {
  return graph_case("XlaSelectAndScatter " + g.select, [g](Builder& b) {
    const auto rank = static_cast<std::int64_t>(g.x.size());
    const std::string x = b.input(f32, g.x), s = b.input(f32, g.source), size = b.constant_of<std::int64_t>({rank}, g.size);
    const std::string strides = b.constant_of<std::int64_t>({rank}, g.strides), pads = b.constant_of<std::int64_t>({rank, 2}, g.pads);
    const std::string init = b.const_input(Tensor::scalar<float>(g.init));
    add_function(b, {"select_one", 2, f32, {"z " + g.select + " a0 a1"}, {"z"}, "DT_BOOL"});
    const auto add = combiner(b, g.scatter, f32);
    b.output(b.op("XlaSelectAndScatter", {x, size, strides, pads, s, init}, {{"select", engines::TfFunction{"select_one"}}, {"scatter", add}}));
  });
}

TEST(XlaReduceWindow, Gradient) {
  const Ints no_pads(8, 0);
  for (const char* select : {"GreaterEqual", "LessEqual"}) {
    gradient({select, {2, 4, 6, 3}, {2, 2, 3, 3}, {1, 2, 2, 1}, {1, 2, 2, 1}, no_pads}).check();
    gradient({select, {2, 4, 6, 3}, {2, 3, 5, 3}, {1, 2, 2, 1}, {1, 1, 1, 1}, no_pads, 2.5F}).check();
    gradient({select, {2, 3, 5, 4}, {2, 3, 3, 2}, {1, 1, 3, 2}, {1, 1, 2, 2}, {0, 0, 0, 0, 1, 1, 0, 0}}).check();
  }
  gradient({"GreaterEqual", {5, 6}, {3, 2}, {3, 3}, {2, 3}, {1, 1, 0, 0}}).note("of two axes").check();
  gradient({"Greater", {2, 4, 6, 3}, {2, 2, 3, 3}, {1, 2, 2, 1}, {1, 2, 2, 1}, no_pads}).refuses(Code::unsupported_attr, "selection").check();
  gradient({"GreaterEqual", {2, 4, 6, 3}, {2, 2, 3, 3}, {1, 2, 2, 1}, {1, 2, 2, 1}, no_pads, 0, "Mul"}).refuses(Code::unsupported_attr, "does not add").check();
}

}  // namespace
}  // namespace t2o::numeric
