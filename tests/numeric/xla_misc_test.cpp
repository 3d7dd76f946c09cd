#include <gtest/gtest.h>

#include "harness.h"
#include "xla.h"

namespace t2o::numeric {
namespace {

Case pad(const Ints& dims, const Ints& low, const Ints& high, const Ints& between, Kind kind = constant) {
  return op_case("XlaPad").in(any, dims).values_as(any, {}, {1}).ints(low, kind).ints(high, kind).ints(between).dtypes({f32});
}

TEST(XlaMisc, Pad) {
  pad({3, 4}, {1, 0}, {2, 3}, {0, 0}).dtypes({f32, i32, f16, boolean}).check();
  pad({3, 4}, {-1, 2}, {2, -3}, {0, 0}).check();
  pad({3, 4}, {-5, 0}, {5, 0}, {0, 0}).note("cut into the padding").check();
  pad({3, 4}, {1, -1}, {0, 2}, {2, 1}).check();
  pad({3, 4}, {-1, 2}, {2, -3}, {0, 0}, fed).note("at run time").check();
  pad({}, {}, {}, {}).check();
}

TEST(XlaMisc, BroadcastHelper) {
  const auto help = [](const Ints& a, const Ints& b, const Ints& dims) { return op_case("XlaBroadcastHelper").in(any, a).in(any, b).ints(dims).dtypes({f32}).refuses(Code::not_constant, "rank", {Mode::rank}); };
  help({3, 4}, {3, 4}, {}).check();
  help({3}, {3, 4}, {0}).check();
  help({2, 3, 4}, {2, 4}, {0, 2}).check();
  help({}, {3, 4}, {}).check();
}

// TensorFlow has these in what it compiles only: a function around the node, as tf.function(jit_compile=True) makes one.
struct Compiled {
  std::string node;     // its op and attributes, as text
  Strings results;      // its outputs, such as "op:output:0"
  std::string library = {};
};
std::string compiled(Builder& b, const Strings& inputs, const Compiled& f) {
  std::string text = "library { " + f.library + " function { signature { name: 'compiled'";
  DTypes from, to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    from.push_back(b.graph().dtype(inputs[i]));
    text += " input_arg { name: 'a" + std::to_string(i) + "' type: " + type_name(from.back()) + " }";
  }
  for (std::size_t i = 0; i < f.results.size(); ++i) {
    to.push_back(from.back());
    text += " output_arg { name: 'r" + std::to_string(i) + "' type: " + type_name(to.back()) + " }";
  }
  text += " } node_def { name: 'op'";
  for (std::size_t i = 0; i < inputs.size(); ++i) text += " input: 'a" + std::to_string(i) + "'";
  text += " " + f.node + " }";
  for (std::size_t i = 0; i < f.results.size(); ++i) text += " ret { key: 'r" + std::to_string(i) + "' value: '" + f.results[i] + "' }";
  const std::string binary = tf::graph_def_from_text(text + " } }", "test");
  b.graph().import(std::as_bytes(std::span(binary)));
  const std::string y = b.op("PartitionedCall", {inputs}, {{"Tin", from}, {"Tout", to}, {"f", engines::TfFunction{"compiled"}}, {"_XlaMustCompile", true}});
  for (std::size_t i = 0; i < f.results.size(); ++i) b.output(y + ":" + std::to_string(i));
  return y;
}

std::string ints(const std::string& key, const Ints& v) {
  std::string s = " attr { key: '" + key + "' value { list {";
  for (const std::int64_t i : v) s += " i: " + std::to_string(i);
  return s + " } } }";
}
std::string number(const std::string& key, int v) { return " attr { key: '" + key + "' value { i: " + std::to_string(v) + " } }"; }
const std::string kFloats = " attr { key: 'T' value { type: DT_FLOAT } }";

TEST(XlaMisc, Blocks) {
  const auto concat = [](const Ints& counts, const Ints& paddings) {
    graph_case("XlaConcatND", [=](Builder& b) {
      Strings in;
      for (std::int64_t i = 0; i < counts[0] * counts[1]; ++i) in.push_back(b.input(f32, {2, 3}));
      compiled(b, in, {"op: 'XlaConcatND'" + kFloats + number("N", static_cast<int>(in.size())) + ints("num_concats", counts) + ints("paddings", paddings), {"op:output:0"}});
    }).check();
  };
  concat({2, 2}, {1, 0});
  concat({1, 2}, {});
  concat({3, 1}, {0, 1});
  graph_case("XlaSplitND", [](Builder& b) {
    compiled(b, {b.input(f32, {3, 6})}, {"op: 'XlaSplitND'" + kFloats + number("N", 4) + ints("num_splits", {2, 2}) + ints("paddings", {1, 0}), {"op:outputs:0", "op:outputs:1", "op:outputs:2", "op:outputs:3"}});
  }).refuses(Code::not_constant, "size of axis", {Mode::batch, Mode::dims}).refuses(Code::not_constant, "rank", {Mode::rank}).check();
}

TEST(XlaMisc, NotesToTheCompiler) {
  op_case("XlaOptimizationBarrier").in(f32, {2, 3}).in(i32, {4}).as_list(2).check();
  op_case("XlaSharding").in(f32, {2, 3}).attr("sharding", "").check();
  op_case("XlaReducePrecision").in(f32, {2, 30}).attr("exponent_bits", std::int64_t{8}).attr("mantissa_bits", std::int64_t{7}).since(13).tol(0, 0).check();
  op_case("XlaReducePrecision").in(any, {2, 3}).attr("exponent_bits", std::int64_t{8}).attr("mantissa_bits", std::int64_t{23}).dtypes({f32, f16}).check();
  op_case("XlaReducePrecision").in(f32, {2, 3}).attr("exponent_bits", std::int64_t{5}).attr("mantissa_bits", std::int64_t{10}).refuses(Code::unsupported_attr, "5 bits of exponent").check();
}

TEST(XlaMisc, Einsum) {
  op_case("XlaEinsum").in(f32, {2, 3, 4}).in(f32, {2, 4, 5}).attr("equation", "bij,bjk->bik").check();
}

TEST(XlaMisc, Refusals) {
  op_case("XlaSelfAdjointEig").in(f32, {3, 3}).attr("lower", true).attr("max_iter", std::int64_t{10}).attr("epsilon", 1e-5F).refuses(Code::unsupported_op, "decomposition").check();
  op_case("XlaSvd").in(f32, {3, 3}).attr("max_iter", std::int64_t{10}).attr("epsilon", 1e-5F).attr("precision_config", "").refuses(Code::unsupported_op, "decomposition").check();
  op_case("XlaRngBitGenerator").scalar<std::int32_t>(1).values<std::uint64_t>({2}, {1, 2}).i32s({4}).refuses(Code::unsupported_op, "random numbers").check();
}

// What tf.function(jit_compile=True) makes: a call that TensorFlow compiles.
TEST(XlaMisc, CompiledCalls) {
  graph_case("a compiled call", [](Builder& b) {
    const std::string x = b.input(f32, {2, 3});
    add_function(b, {"twice", 1, f32, {"op AddV2 a0 a0"}, {"op"}});
    b.output(b.op("PartitionedCall", {Strings{x}}, {{"Tin", DTypes{f32}}, {"Tout", DTypes{f32}}, {"f", engines::TfFunction{"twice"}}, {"_XlaMustCompile", true}}));
  }).check();
}

// ---- control flow

const std::string kT = " attr { key: 'T' value { type: DT_FLOAT } } }";

// TensorFlow does not run XlaIf any more.
TEST(XlaMisc, ControlFlow) {
  graph_case("XlaWhile", [](Builder& b) {
    const std::string x = b.input(f32, {2, 3}, verify::Range{1, 2}), i = b.input(Tensor::scalar<float>(0));
    const std::string text =
        "library { function { signature { name: 'go' input_arg { name: 'a0' type: DT_FLOAT } input_arg { name: 'a1' type: DT_FLOAT } output_arg { name: 'r' type: DT_BOOL } }"
        " node_def { name: 'z' op: 'Less' input: 'a0' input: 'three:output:0'" + kT +
        " node_def { name: 'three' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 3 } } } }"
        " ret { key: 'r' value: 'z:z:0' } } function { signature { name: 'round' input_arg { name: 'a0' type: DT_FLOAT } input_arg { name: 'a1' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } output_arg { name: 's' type: DT_FLOAT } }"
        " node_def { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }"
        " node_def { name: 'next' op: 'AddV2' input: 'a0' input: 'one:output:0'" + kT + " node_def { name: 'y' op: 'Mul' input: 'a1' input: 'a1'" + kT +
        " ret { key: 'r' value: 'next:z:0' } ret { key: 's' value: 'y:z:0' } } }";
    const std::string binary = tf::graph_def_from_text(text, "test");
    b.graph().import(std::as_bytes(std::span(binary)));
    const std::string y = b.op("XlaWhile", {Strings{i, x}}, {{"cond", engines::TfFunction{"go"}}, {"body", engines::TfFunction{"round"}}});
    b.output(y + ":1");
  }).check();
}

}  // namespace
}  // namespace t2o::numeric
