#include "cli/usage.h"

#include <nlohmann/json.hpp>

// Options as a whole: how they are written, and those that take names of a model.
namespace t2o::test {
namespace {

using Json = nlohmann::json;

const std::string kFunctions = T2O_SOURCE_DIR "/tests/data/functions";

TEST_F(Usage, AbbreviatedOptions) {
  const std::string bytes = converted({"MODEL", "-o", "OUT", "--outputs", "y", "--opset", "18"});
  EXPECT_EQ(converted({"MODEL", "-o", "OUT", "--outputs=y", "--ops=18"}), bytes);
  EXPECT_EQ(converted({"--graphd", "MODEL", "-o", "OUT", "--outputs", "y", "--ops", "18", "--contin"}), bytes);
  EXPECT_EQ(converted({"MODEL", "--use_gr", "-o", "OUT", "--outputs", "y", "--ops", "18"}), bytes);
  EXPECT_EQ(run({"info", model_, "--form", "graphdef"}).exit_code, 0);
  EXPECT_EQ(run({"ops", "relu", "--js"}).exit_code, 0);
  std::filesystem::remove(dir_ / "out.onnx");
  refused(kUsage, {"MODEL", "--out", "x.onnx"}, {"'--out' is ambiguous", "--output", "--outputs", "--outputs-as-nchw", "--output-frozen-graph", "help:"});
  refused(kUsage, {"MODEL", "-o", "x.onnx", "--opsets", "18"}, {"no option '--opsets'", "did you mean '--opset'"});
  refused(kUsage, {"MODEL", "--sig", "a", "--signature", "b"}, {"two signatures"});
  refused(kUsage, {kFunctions, "-o", "x.onnx", "--sig", "none"}, {"no signature 'none'"});
  EXPECT_EQ(Json::parse(run({model_, "--outp", "x", "--json"}).out)["exit_code"], kUsage);
}

TEST_F(Usage, WhatIsGivenTwiceOrIsNotReadIsRefused) {
  refused(kUsage, {"MODEL", "-o", "a.onnx", "-o", "b.onnx"}, {"two output files", "'a.onnx' and 'b.onnx'", "help: give one"});
  refused(kUsage, {"MODEL", "-o", "a.onnx", "--output", "-"}, {"two output files"});
  refused(kUsage, {"MODEL", "-", "-o", "a.onnx"}, {"'-' is one argument too many"});
  refused(kUsage, {"MODEL", "-o", "a.onnx", "-"}, {"'-' is one argument too many"});
  refused(kUsage, {"info", "MODEL", "-"}, {"'-' is one argument too many"});
}

TEST_F(Usage, NothingIsListedWithoutAHint) {
  const Finished lookup = run({"ops", "lookuptable"});
  EXPECT_TRUE(has(lookup.err, "no op that converts has 'lookuptable' in its name")) << lookup.err;
  EXPECT_TRUE(has(lookup.err, "LookupTableSizeV2")) << lookup.err;
  EXPECT_TRUE(has(run({"ops", "Sigmiod"}).err, "did you mean 'Sigmoid'?"));
  EXPECT_EQ(run({"ops", "relu"}).err, "");
  const Finished json = run({"ops", "Rleu", "--json"});
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(Json::parse(json.out).size(), 0u);
}

// x -> dense: a layer with a variable, whose last tensor is meant.
TEST_F(Usage, TheNameOfALayerIsNoOutput) {
  const auto variable = node("dense/bias", "VarHandleOp", {}, {type_attr("dtype", kFloat), shape_attr("shape", {3})});
  dir_.file("model.pb", graph_def({placeholder("x"), unary("dense/Neg", "Neg", "x"), unary("dense/Relu", "Relu", "dense/Neg"), variable,
                                   unary("z", "Neg", "dense/Relu"), unary("gradients/dense/Relu_grad", "Neg", "z")}));
  const Finished f = refused(kUsage, {"MODEL", "-o", "out.onnx", "--outputs", "dense"}, {"no output 'dense'", "'dense' is the name of a layer", "'dense/Relu'"});
  EXPECT_FALSE(has(f.err, "bias")) << f.err;
  const Finished near = refused(kUsage, {"MODEL", "-o", "out.onnx", "--outputs", "dense/bais"}, {"no output 'dense/bais'"});
  EXPECT_FALSE(has(near.err, "'dense/bias'")) << near.err;
  converted({"MODEL", "-o", "OUT", "--outputs", "dense/Relu"});
}

// In a SavedModel the main graph has the layer's variables alone.
TEST_F(Usage, TheNameOfALayerOfASavedModel) {
  const std::string model = T2O_SOURCE_DIR "/tests/data/keras3";
  const Json before = Json::parse(run({"info", model, "--json"}).out);
  ASSERT_FALSE(before["signatures"].empty());
  const Finished f = run({model, "-o", (dir_ / "x.onnx").string(), "--outputs", "same"});
  EXPECT_EQ(f.exit_code, kUsage);
  EXPECT_TRUE(has(f.err, "is the name of a layer")) << f.err;
  const std::size_t last = f.err.find("and '");
  ASSERT_NE(last, std::string::npos) << f.err;
  const std::string name = f.err.substr(last + 5, f.err.find('\'', last + 5) - last - 5);
  converted({model, "-o", "OUT", "--outputs", name});
}

TEST_F(Usage, TheListOfCheckpointsIsNoModel) {
  std::filesystem::create_directory(dir_ / "ck");
  for (const char* part : {"index", "meta", "data-00000-of-00001"})
    std::filesystem::copy(T2O_SOURCE_DIR "/models/mnist_tf1/mnist." + std::string(part), dir_ / "ck" / ("model." + std::string(part)));
  dir_.file("ck/checkpoint", "model_checkpoint_path: \"model\"\nall_model_checkpoint_paths: \"model\"\n");
  const Finished f = run({"ck/checkpoint", "-o", "x.onnx"}, {.directory = dir_.path()});
  EXPECT_EQ(f.exit_code, 4);
  EXPECT_TRUE(has(f.err, "ck/checkpoint is a list of checkpoints")) << f.err;
  EXPECT_TRUE(has(f.err, "help: give the graph beside it: ck/model.meta")) << f.err;
  std::filesystem::remove(dir_ / "ck/model.meta");
  EXPECT_TRUE(has(run({"ck/checkpoint", "-o", "x.onnx"}, {.directory = dir_.path()}).err, "as a SavedModel"));
}

TEST_F(Usage, ChannelsFirstNeedsARankOf4) {
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--outputs-as-nchw", "y"}, {"--outputs-as-nchw: 'y' has rank 2", "leave it out"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--inputs-as-nchw", "x"}, {"--inputs-as-nchw: 'x' has rank 2"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--inputs-as-nchw", "no"}, {"there is no 'no'", "x"});
  dir_.file("model.pb", graph_def({node("x", "Placeholder", {}, {type_attr("dtype", kFloat)}), unary("y", "Relu", "x")}));
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--inputs-as-nchw", "x:0"}, {"the rank of 'x:0' is not known", "--inputs x:0[...]"});
}

TEST_F(Usage, TargetsOfTf2onnx) {
  const std::string bytes = converted({"MODEL", "-o", "OUT"});
  for (const char* target : {"rs4", "rs5", "rs6", "caffe2", "tensorrt", "rs5,rs6"}) {
    EXPECT_EQ(converted({"MODEL", "-o", "OUT", "--target", target}), bytes) << target;
    EXPECT_TRUE(has(last_.err, "changes nothing")) << last_.err;
  }
  EXPECT_EQ(converted({"MODEL", "-o", "OUT", "--target", ""}), bytes);
  EXPECT_EQ(last_.err, "");
  std::filesystem::remove(dir_ / "out.onnx");
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--target", "nhwc"}, {"--target nhwc", "help: --layout nhwc"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--target", "rs7"}, {"'rs7'", "rs6", "--target-runtime"});
}

TEST_F(Usage, ErrorsThatAreAlikeAreCounted) {
  const auto model = [&](int n, const std::string& op) {
    std::vector<std::string> nodes = {placeholder("x")};
    Names outputs;
    for (int i = 0; i < n; ++i) nodes.push_back(unary("n" + std::to_string(i), op, "x"));
    dir_.file("model.pb", graph_def(nodes));
  };
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
    return n;
  };
  model(30, "NoSuchOp");
  const Finished f = refused(kNotConvertible, {"MODEL", "-o", "out.onnx"}, {"'n0'", "'n9'", "and 20 more errors like this of NoSuchOp", "30 errors"});
  EXPECT_EQ(count(f.err, "error[unsupported-op]"), 10u) << f.err;
  EXPECT_EQ(Json::parse(run({model_, "-o", (dir_ / "x.onnx").string(), "--json"}).out)["diagnostics"].size(), 30u);
  model(10, "NoSuchOp");
  EXPECT_FALSE(has(run({model_, "-o", (dir_ / "x.onnx").string()}).err, "more errors"));
  model(100'000, "NoSuchOp");
  const Finished many = run({model_, "-o", (dir_ / "x.onnx").string()});
  EXPECT_TRUE(has(many.err, "and 99990 more")) << many.err.substr(0, 1000);
  EXPECT_LT(many.seconds, 60);
}

TEST_F(Usage, ConcreteFunctions) {
  converted({kFunctions, "-o", "OUT", "--concrete_function", "0", "--json"});
  Json json = Json::parse(last_.out);
  EXPECT_EQ(json["inputs"][0]["name"], "image");
  EXPECT_EQ(json["outputs"][0]["name"], "logits");
  EXPECT_EQ(json["outputs"][1]["name"], "probs");
  converted({kFunctions, "-o", "OUT", "--concrete-function", "1", "--signature_def", "unread", "--tag", "serve", "--json"});
  json = Json::parse(last_.out);
  EXPECT_EQ(json["outputs"].size(), 1u);
  EXPECT_EQ(json["outputs"][0]["name"], "Identity:0");
  EXPECT_EQ(converted({kFunctions, "-o", "OUT", "--concrete-function", "-1"}), converted({kFunctions, "-o", "OUT", "--concrete-function", "1"}));
  const std::string embed = converted({kFunctions, "-o", "OUT", "--concrete-function", "embed", "--outputs", "Identity_1:0", "--rename-outputs", "second"});
  EXPECT_TRUE(has(embed, "second"));
  EXPECT_EQ(run({"info", kFunctions, "--concrete-function", "embed"}).exit_code, 0);
  std::filesystem::remove(dir_ / "out.onnx");
  const auto refuses = [&](const std::string& function, const Names& words) { refused(kUsage, {kFunctions, "-o", "x.onnx", "--concrete-function", function}, words); };
  refuses("2", {"no number 2", "__call__ has 2 concrete functions", "from 0 to 1"});
  refuses("-3", {"no number -3"});
  refuses("embde", {"no function 'embde'", "did you mean 'embed'", "__inference_scale"});
  refuses("__call__", {"'__call__' has 2 concrete functions", "__inference___call__"});
  refused(kUsage, {"MODEL", "-o", "x.onnx", "--concrete-function", "0"}, {"has no concrete functions", "--signature"});
}

TEST_F(Usage, FrozenGraphs) {
  const std::string mnist = T2O_SOURCE_DIR "/models/mnist";
  const std::string plain = converted({mnist, "-o", "OUT"});
  EXPECT_EQ(converted({mnist, "-o", "OUT", "--output_frozen_graph", "frozen.pb"}), plain);
  const Json info = Json::parse(run({"info", (dir_ / "frozen.pb").string(), "--json"}).out);
  EXPECT_EQ(info["exit_code"], 0);
  EXPECT_EQ(info["unsupported"].size(), 0u);
  std::filesystem::remove(dir_ / "frozen.pb");
  std::filesystem::remove(dir_ / "out.onnx");
  const Finished same = run({mnist, "-o", "x.onnx", "--output-frozen-graph", "x.onnx"}, {.directory = dir_.path()});
  EXPECT_EQ(same.exit_code, kUsage);
  EXPECT_TRUE(has(same.err, "the same file")) << same.err;
  refused(kUsage, {"MODEL", "-o", "x.onnx", "--output-frozen-graph", "-"}, {"standard output", "name a file"});
  refused(kUsage, {"MODEL", "-o", "x.onnx", "--output-frozen-graph", "MODEL"}, {"part of the model itself", "--output-frozen-graph"});
  refused(kNotConvertible, {"MODEL", "-o", "x.onnx", "--output-frozen-graph", "no/such/folder/f.pb"}, {"no/such/folder"});
  const std::string states = T2O_SOURCE_DIR "/tests/data/states/module";
  const Finished changed = run({states, "-o", "x.onnx", "--stateful-io", "--output-frozen-graph", "f.pb"}, {.directory = dir_.path()});
  EXPECT_EQ(changed.exit_code, kNotConvertible);
  EXPECT_TRUE(has(changed.err, "variables are constants") && has(changed.err, "leave out --output-frozen-graph")) << changed.err;
  EXPECT_EQ(dir_.files(), Names{"model.pb"});
}

}  // namespace
}  // namespace t2o::test
