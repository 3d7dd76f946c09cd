#include "verify/verify.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "engines/tensorflow.h"
#include "harness.h"
#include "ir/text.h"
#include "onnx/writer.h"
#include "pipeline.h"
#include "tf/text_proto.h"
#include "verify/reference.h"

// What verification says of models that random numbers alone do not do justice.
namespace t2o {
namespace {

using engines::TfGraph;

class Verify : public testing::Test {
  void SetUp() override { numeric::engines_missing(); }
};

verify::VerifyReport verified(const Options& options, int samples = 1) {
  const std::string exported = ::testing::TempDir() + "verified.onnx";
  const Conversion c = convert(options);
  EXPECT_TRUE(c.graph()) << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
  EXPECT_FALSE(has_errors(write_model(c, options, exported)));
  verify::VerifyOptions v;
  v.source = options;
  v.onnx = exported;
  v.samples = samples;
  const verify::VerifyReport report = verify::verify(v);
  std::filesystem::remove(exported);
  return report;
}

verify::VerifyReport verified(const TfGraph& graph, Options options = {}) {
  options.model = ::testing::TempDir() + "verified.pb";
  std::ofstream(options.model, std::ios::binary) << graph.graph_def();
  const verify::VerifyReport report = verified(options);
  std::filesystem::remove(options.model);
  return report;
}

// Each of the models reads its weights from the file that they share.
TEST_F(Verify, SignaturesThatShareTheirWeights) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "shared_signatures";
  std::filesystem::create_directories(folder);
  Options options;
  options.model = T2O_SOURCE_DIR "/tests/data/signatures";
  options.signature = "all";
  for (const auto mode : {tf2onnx::ExternalData::automatic, tf2onnx::ExternalData::always, tf2onnx::ExternalData::never}) {
    options.external_data = mode;
    const std::string out = (folder / "m.onnx").string();
    const Conversion c = convert(options);
    ASSERT_EQ(c.model.graphs.size(), 4u);
    onnx::Written written;
    ASSERT_FALSE(has_errors(write_model(c, options, out, &written)));
    EXPECT_EQ(std::filesystem::exists(out + ".data"), mode != tf2onnx::ExternalData::never);
    for (std::size_t i = 0; i < c.model.graphs.size(); ++i) {
      verify::VerifyOptions v;
      v.source = options;
      v.source.signature = c.model.graphs[i].name;
      v.onnx = written.models[i].path;
      EXPECT_TRUE(verify::verify(v).ok()) << v.source.signature;
    }
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(Verify, RandomOutputsAreComparedInTypeAndShape) {
  TfGraph g;
  const std::string x = g.placeholder("x", DType::f32, Shape({2, 3}));
  const std::string dims = g.constant("dims", Tensor::of<std::int32_t>({2}, {2, 3}));
  const std::string r = g.add({"RandomUniform", "r", {dims}, {{"dtype", DType::f32}}});
  g.add({"AddV2", "noisy", {x, r}});
  g.add({"Neg", "exact", {x}});
  const verify::VerifyReport report = verified(g);
  ASSERT_EQ(report.samples.size(), 1U);
  EXPECT_TRUE(report.ok());
  std::map<std::string, bool> is_random;
  for (const verify::ComparedTensor& t : report.samples[0].outputs) is_random[t.name] = t.is_random;
  EXPECT_EQ(is_random, (std::map<std::string, bool>{{"noisy:0", true}, {"exact:0", false}}));
}

TEST_F(Verify, IndicesOfASmallTable) {
  TfGraph g;
  const std::string i = g.placeholder("i", DType::i32, Shape({5}));
  const std::string table = g.constant("table", Tensor::of<float>({2, 1}, {3, 4}));
  const std::string axis = g.constant("axis", Tensor::scalar<std::int32_t>(0));
  g.add({"GatherV2", "y", {table, i, axis}});
  const verify::VerifyReport report = verified(g);
  ASSERT_EQ(report.samples.size(), 1U);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.samples[0].label, "seed 0");
}

// TensorFlow's own loader gives this model's variables no values, and a run changes one of them.
TEST_F(Verify, VariablesHaveTheValuesOfTheCheckpointBeforeEachRun) {
  Options options;
  options.model = T2O_SOURCE_DIR "/tests/data/tracked";
  const verify::VerifyReport report = verified(options, 3);
  ASSERT_EQ(report.samples.size(), 3U);
  for (const verify::ComparedSample& s : report.samples) {
    EXPECT_TRUE(s.outputs[0].comparison.ok()) << s.label << ": " << s.outputs[0].comparison.problem;
    EXPECT_FALSE(s.outputs[0].is_random) << s.label;
  }
}

// Variables that are read before and after their change, and by references; a stateful layer. Each run goes on from the last.
TEST_F(Verify, StatesGoOnFromRunToRun) {
  for (const char* model : {"module", "keras", "tf1"})
    for (const int opset : {11, 13, 21, 26}) {
      Options options;
      options.model = std::string(T2O_SOURCE_DIR "/tests/data/states/") + model;
      options.opset = opset;
      options.stateful_io = true;
      const verify::VerifyReport report = verified(options);
      ASSERT_EQ(report.samples.size(), 3U);
      for (const verify::ComparedSample& s : report.samples)
        EXPECT_TRUE(s.outputs[0].comparison.ok()) << model << ", " << s.label << ": " << s.outputs[0].comparison.problem;
    }
}

// Several writes of one variable in a run, in loops, branches and functions, with reads between them; by handles and by references. Not
// all variables are outputs of the signatures: a wrong value shows in a later run.
TEST_F(Verify, StatesThatControlFlowChanges) {
  std::map<std::string, Strings> signatures = {
      {"flow",
       {"twice", "loop", "branch", "effect", "swap", "until", "calls", "rows", "nested", "sides", "rounds", "returned", "grown", "filled",
        "named_alike"}},
      {"seed", {"serving_default"}}};
  for (const char* name : {"write_reads_other", "write_reads_itself", "output_of_an_earlier_write", "read_behind_a_branch",
                           "invariant_of_a_loop", "assigned_behind_a_loop", "nested_reads"})
    for (const char* kind : {"", "_r"}) signatures["references"].push_back(std::string(name) + kind);
  for (const auto& [model, names] : signatures)
    for (const std::string& name : names)
      for (const int opset : {13, 21})
        for (const bool stateful : {true, false}) {
          Options options;
          options.model = T2O_SOURCE_DIR "/tests/data/states/" + model;
          options.signature = name;
          options.opset = opset;
          options.stateful_io = stateful;
          const verify::VerifyReport report = verified(options, 3);
          ASSERT_EQ(report.samples.size(), 3U);
          for (const verify::ComparedSample& s : report.samples)
            for (const verify::ComparedTensor& o : s.outputs)
              EXPECT_TRUE(o.comparison.ok()) << model << " " << name << ", " << s.label << ": " << o.comparison.problem;
        }
}

// Handles that functions and loops return, or get twice, stand for the variable that they stand for in TensorFlow; or the model is refused.
TEST_F(Verify, HandlesThatFunctionsHandOn) {
  Options options;
  options.outputs = {"y:0"};
  for (const char* right : {"two_arguments", "returned_and_written", "returned_and_read"}) {
    options.model = std::string(T2O_SOURCE_DIR "/tests/data/handles/") + right + ".pbtxt";
    EXPECT_TRUE(verified(options).ok()) << right;
  }
  for (const char* unclear : {"exchanged_in_a_loop", "memory_of_identity_n", "memory_of_identity_n_2"}) {
    options.model = std::string(T2O_SOURCE_DIR "/tests/data/handles/") + unclear + ".pbtxt";
    EXPECT_FALSE(convert(options).ok()) << unclear;
  }
}

TEST_F(Verify, NewNames) {
  TfGraph g;
  const std::string x = g.placeholder("x", DType::f32, Shape({2, 3}));
  g.add({"Neg", "y", {x}});
  Options all;
  all.rename_inputs = {"in"};
  all.rename_outputs = {"out"};
  Options outputs = all;
  outputs.rename_inputs.clear();
  outputs.outputs = {"y:0"};
  Options inputs = all;
  inputs.inputs = {"x:0"};
  for (const Options& options : {all, outputs, inputs}) {
    const verify::VerifyReport report = verified(g, options);
    EXPECT_TRUE(report.ok());
    ASSERT_EQ(report.samples[0].outputs.size(), 1U);
    EXPECT_EQ(report.samples[0].outputs[0].name, "out");
  }
}

TEST_F(Verify, NoInputs) {
  TfGraph g;
  g.constant("c", Tensor::of<float>({2}, {3, 4}));
  Options options;
  options.outputs = {"c:0"};
  options.rename_outputs = {"d"};
  EXPECT_TRUE(verified(g, options).ok());
}

// What is not a matter of the inputs is not blamed on them.
TEST_F(Verify, OtherErrorsAreNotBlamedOnTheInputs) {
  TfGraph g;
  const std::string v = g.add({"VarHandleOp", "v", {}, {{"dtype", DType::f32}, {"shape", Shape({2})}}});
  g.add({"ReadVariableOp", "y", {v}, {{"dtype", DType::f32}}});
  engines::TfSession session(g);
  try {
    session.run({}, {"y:0"});
    FAIL();
  } catch (const engines::TfError& e) {
    EXPECT_FALSE(e.blames_values());
  }
}

// It is an input where it is named as one: runtimes do not list those that may be left out.
TEST_F(Verify, PlaceholderWithDefault) {
  TfGraph g;
  const std::string half = g.constant("half", Tensor::scalar<float>(0.5F));
  const std::string keep = g.add({"PlaceholderWithDefault", "keep", {half}, {{"shape", Shape::scalar()}}});
  const std::string x = g.placeholder("x", DType::f32, Shape({2}));
  g.add({"Mul", "y", {x, keep}});
  Options options;
  EXPECT_TRUE(verified(g, options).ok());
  options.inputs = {"keep", "x"};
  EXPECT_TRUE(verified(g, options).ok());
  const std::string graph = g.graph_def();
  const auto inputs = [&] {
    std::string model;
    EXPECT_FALSE(has_errors(write_model_bytes(convert(options, std::as_bytes(std::span(graph))), options, model)));
    return engines::OrtSession::from_bytes(std::as_bytes(std::span(model))).inputs().size();
  };
  EXPECT_EQ(inputs(), 2U);
  options.use_default = {"keep"};
  EXPECT_EQ(inputs(), 1U);
}

// TensorFlow itself does not give back what it is given.
TEST_F(Verify, AnOutputThatIsAnInput) {
  TfGraph g;
  const std::string x = g.placeholder("x", DType::f32, Shape({2, 3}));
  g.add({"Neg", "y", {x}});
  Options options;
  options.inputs = {"x:0"};
  for (const Strings& outputs : {Strings{"x"}, Strings{"x:0", "y"}}) {
    options.outputs = outputs;
    options.rename_outputs = outputs.size() == 1 ? Strings{"a"} : Strings{"a", "b"};
    EXPECT_TRUE(verified(g, options).ok());
  }
}

// The inputs are to blame, not the model: neither unreadable nor corrupt.
TEST_F(Verify, InputsThatTensorFlowDoesNotTake) {
  TfGraph g;
  const std::string x = g.placeholder("x", DType::f32, Shape({Ints{-1, -1}})), z = g.placeholder("z", DType::f32, Shape({Ints{-1, -1}}));
  g.add({"AddV2", "y", {x, z}});
  Options options;
  options.model = ::testing::TempDir() + "taken.pb";
  std::ofstream(options.model, std::ios::binary) << g.graph_def();
  verify::VerifyOptions v;
  v.source = options;
  v.onnx = ::testing::TempDir() + "taken.onnx";
  ASSERT_FALSE(has_errors(write_model(convert(options), options, v.onnx)));
  v.input_shapes = {"x:2,3", "z:3,2"};
  try {
    verify::verify(v);
    FAIL();
  } catch (const ConversionError& e) {
    EXPECT_EQ(e.diagnostic().code, Code::bad_option) << e.what();
  }
  for (const char* content : {"this is no model", "x\n"}) {
    std::ofstream(v.onnx, std::ios::binary) << content;
    try {
      verify::verify(v);
      FAIL();
    } catch (const ConversionError& e) {
      EXPECT_EQ(e.diagnostic().code, Code::bad_file) << e.what();
    }
  }
}

// Some ops tell of values that do not fit each other as of a missing precondition, as others do of a variable without a value.
TEST_F(Verify, LengthsThatDoNotFit) {
  TfGraph g;
  const std::string x = g.placeholder("x", DType::f32, Shape({1, 2, 3})), l = g.placeholder("l", DType::i32, Shape({2}));
  g.add({"CTCGreedyDecoder", "y", {x, l}});
  Options options;
  options.outputs = {"y:3"};
  const verify::VerifyReport report = verified(g, options);
  ASSERT_EQ(report.samples.size(), 1U);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.samples[0].label, "seed 0, integers 0 .. 1");
  engines::TfSession session(g);
  try {
    session.run({{"x", Tensor::of<float>({1, 2, 3}, Floats(6))}, {"l", Tensor::of<std::int32_t>({2}, {1, 2})}}, {"y:3"});
    FAIL();
  } catch (const engines::TfError& e) {
    EXPECT_TRUE(e.blames_values());
  }
}

// What ONNX Runtime does not run is no unreadable file either.
TEST_F(Verify, AModelThatDoesNotRun) {
  const GraphPtr g = ir::parse_graph("graph g onnx { input %x: f32[2,?] input %z: f32[?,2] %y: f32[?,?] = Add(%x, %z) output %y }");
  std::string model;
  onnx::write_bytes({.graphs = {{.graph = g}}}, {}, model);
  const engines::OrtSession session = engines::OrtSession::from_bytes(std::as_bytes(std::span(model)));
  EXPECT_THROW(session.run({{"x", Tensor::of<float>({2, 3}, Floats(6))}, {"z", Tensor::of<float>({4, 2}, Floats(8))}}), engines::OrtError);
}

// 16 bits: some steps of the largest number.
TEST_F(Verify, RoundedModelsHaveTheirTolerance) {
  for (const DType half : {DType::bf16, DType::f16}) {
    TfGraph g;
    const std::string x = g.placeholder("x", DType::f32, Shape({4, 64}));
    std::string h = g.add({"Cast", "narrow", {x}, {{"DstT", half}}});
    for (int i = 0; i < 6; ++i) h = g.add({"Sigmoid", "s" + std::to_string(i), {g.add({"MatMul", "m" + std::to_string(i), {h, g.add({"Cast", "w" + std::to_string(i), {g.constant("c" + std::to_string(i), Tensor::of<float>({64, 64}, Floats(4096, 0.037F)))}, {{"DstT", half}}})}})}});
    g.add({"Cast", "wide", {h}, {{"DstT", DType::f32}}});
    const verify::VerifyReport report = verified(g);
    EXPECT_TRUE(report.ok()) << report.samples[0].outputs[0].comparison.problem;
    EXPECT_NE(report.tolerance_reason.find(half == DType::bf16 ? "1/256" : "1/1024"), std::string::npos);
  }
  TfGraph g;
  g.add({"Neg", "y", {g.placeholder("x", DType::f32, Shape({2}))}});
  EXPECT_EQ(verified(g).tolerance_reason, "");
}

// floor(x * 61 / 61) in a function, as TensorFlow's optimizer would not leave it: x * 61 * (1 / 61) is less than x for some.
std::string dividing_graph() {
  const std::string i32 = " attr { key: 'T' value { type: DT_INT32 } }", f32 = " attr { key: 'T' value { type: DT_FLOAT } }";
  const auto constant = [](const std::string& name, const std::string& type, const std::string& value) {
    return " node_def { name: '" + name + "' op: 'Const' attr { key: 'dtype' value { type: " + type + " } } attr { key: 'value' value { tensor { dtype: " + type + " tensor_shape { } " + value + " } } } }";
  };
  return "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { dim { size: 64 } } } } }"
         " node { name: 'y' op: 'StatefulPartitionedCall' input: 'x' attr { key: 'Tin' value { list { type: DT_INT32 } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }"
         " attr { key: 'f' value { func { name: 'divide' } } } }"
         " library { function { signature { name: 'divide' input_arg { name: 'x' type: DT_INT32 } output_arg { name: 'y' type: DT_FLOAT } }"
         + constant("i", "DT_INT32", "int_val: 61") + constant("f", "DT_FLOAT", "float_val: 61") +
         " node_def { name: 'mul' op: 'Mul' input: 'x' input: 'i:output:0'" + i32 + " }"
         " node_def { name: 'cast' op: 'Cast' input: 'mul:z:0' attr { key: 'SrcT' value { type: DT_INT32 } } attr { key: 'DstT' value { type: DT_FLOAT } } }"
         " node_def { name: 'div' op: 'RealDiv' input: 'cast:y:0' input: 'f:output:0'" + f32 + " }"
         " node_def { name: 'floor' op: 'Floor' input: 'div:z:0'" + f32 + " }"
         " ret { key: 'y' value: 'floor:y:0' } } } versions { producer: 1395 }";
}

// The reference runs what the model says, in functions too, and leaves nothing behind.
TEST_F(Verify, TheOptimizerOfTensorFlowIsOff) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "dividing", temporary = fs::path(::testing::TempDir()) / "dividing_tmp";
  fs::create_directories(folder / "assets");
  fs::create_directories(temporary);
  std::ofstream(folder / "assets/words.txt") << "a";
  const char* before = getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", temporary.c_str(), 1);
  const std::string saved =
      "saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } graph_def { " + dividing_graph() + " }"
      " signature_def { key: 'serving_default' value { inputs { key: 'x' value { name: 'x:0' dtype: DT_INT32 tensor_shape { dim { size: 64 } } } }"
      " outputs { key: 'y' value { name: 'y:0' dtype: DT_FLOAT tensor_shape { unknown_rank: true } } } method_name: 'tensorflow/serving/predict' } } }";
  const auto check = [&](const fs::path& model) {
    Options options;
    options.model = model.string();
    const verify::VerifyReport report = verified(options);
    EXPECT_EQ(report.samples.at(0).outputs.at(0).comparison.problem, "") << model;
    EXPECT_TRUE(fs::is_empty(temporary)) << model;
  };
  std::ofstream(folder / "saved_model.pbtxt") << saved;
  check(folder);
  fs::remove(folder / "saved_model.pbtxt");
  std::ofstream(folder / "saved_model.pb", std::ios::binary) << tf::saved_model_from_text(saved, "test");
  check(folder);
  EXPECT_TRUE(fs::exists(folder / "assets/words.txt"));
  std::ofstream(folder / "graph.pb", std::ios::binary) << tf::graph_def_from_text(dividing_graph(), "test");
  check(folder / "graph.pb");
  fs::create_directory(folder / "variables");  // TensorFlow finds no values there: an error leaves nothing either
  std::ofstream(folder / "variables/variables.index") << "this is no checkpoint";
  Options options;
  options.model = folder.string();
  EXPECT_THROW(verify::open_reference(options, {}), ConversionError);
  EXPECT_TRUE(fs::is_empty(temporary));
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  fs::remove_all(folder);
  fs::remove_all(temporary);
}

}  // namespace
}  // namespace t2o
