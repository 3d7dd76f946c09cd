#include "cli/usage.h"

#include <nlohmann/json.hpp>

namespace t2o::test {
namespace {

using Json = nlohmann::json;

TEST_F(Usage, HelpTeaches) {
  const Finished f = run({"--help"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_LT(f.out.find("Examples:"), f.out.find("Commands:"));
  EXPECT_TRUE(has(f.out, "Exit codes:"));
  for (const char* command : {"convert", "verify", "info", "ops", "opsets", "completion", "man"}) {
    const Finished help = run({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_TRUE(has(help.out, std::string("tf2onnx-cpp ") + command)) << help.out;
    EXPECT_TRUE(has(f.out, command));
    EXPECT_FALSE(has(help.out, "\033")) << "colours are for terminals";
  }
}

TEST_F(Usage, TheFirstWordIsTheCommand) {
  std::filesystem::create_directory(dir_ / "ops");
  const Finished f = run({"convert", "ops", "-o", "out.onnx"}, {.directory = dir_.path()});
  EXPECT_EQ(f.exit_code, 4) << f.out;
  EXPECT_TRUE(has(f.err, "ops")) << f.err;
  EXPECT_NE(run({model_, "--json", "ops"}, {.directory = dir_.path()}).exit_code, 0);
}

TEST_F(Usage, TolerancesAreNumbers) {
  for (const char* value : {"nan", "inf", "-1", "x"})
    EXPECT_EQ(run({"verify", model_, "out.onnx", "--rtol", value}).exit_code, kUsage) << value;
  EXPECT_EQ(run({"verify", model_, "out.onnx", "--threads", "9999999"}).exit_code, kUsage);
}

TEST_F(Usage, ShapeOfAnotherRank) {
  refused(kUsage, {"MODEL", "--inputs", "x:0[1,2,3,4,5]", "--outputs", "y", "-o", "out.onnx"}, {"the input 'x:0' has rank", "rank 5"});
}

TEST_F(Usage, WordsForHelpAndVersion) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "verify"}).out, run({"verify", "--help"}).out);
  EXPECT_EQ(run({"version"}).out, run({"--version"}).out);
}

TEST_F(Usage, ToStandardOutput) {
  const std::string file = converted({"MODEL", "-o", "OUT"});
  EXPECT_TRUE(converted({"MODEL", "-o", "OUT"}) == file);
  const Finished f = run({model_, "-o", "-"});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_TRUE(f.out == file);
  EXPECT_TRUE(has(f.err, "opset")) << f.err;
  const std::string redirected = (dir_ / "redirected.onnx").string();
  EXPECT_EQ(run({model_, "-o", "-"}, {.stdout_path = redirected}).exit_code, 0);
  EXPECT_TRUE(content(redirected) == file);
  for (const char* option : {"--json", "--verify", "--external-data"}) EXPECT_EQ(run({model_, "-o", "-", option}).exit_code, kUsage) << option;
}

TEST_F(Usage, Version) {
  const Finished f = run({"--version"});
  EXPECT_EQ(f.exit_code, 0);
  for (const char* part : {"tf2onnx-cpp ", "onnx ", "protobuf ", "opset "})
    EXPECT_TRUE(has(f.out, part)) << f.out;
}

TEST_F(Usage, NothingGiven) {
  const Finished f = run({});
  EXPECT_EQ(f.exit_code, kUsage);
  EXPECT_TRUE(has(f.err, "Examples:"));
}

TEST_F(Usage, MistakesAreNamed) {
  refused(kUsage, {"MODEL", "--opest", "18"}, {"--opest", "--opset"});
  refused(kUsage, {"MODEL", "--opset", "10"}, {"opset 10", "11"});
  refused(kUsage, {"MODEL", "--opset", "29"}, {"opset 29"});
  refused(kUsage, {"MODEL", "--opset", "many"}, {"many"});
  refused(kUsage, {"MODEL", "another.pb"}, {"another.pb"});
  refused(kUsage, {"MODEL", "--graphdef", "another.pb"}, {"two models"});
  refused(kUsage, {"-o", "out.onnx"}, {"no model"});
  refused(kUsage, {"MODEL", "--signature", "a", "--signature", "b"}, {"two signatures", "'a' and 'b'", "help: give one"});
  refused(kUsage, {"info", "MODEL", "--signature", "a", "--signature-def", "b"}, {"two signatures"});
  refused(kUsage, {"MODEL", "--format", "caffe"}, {"caffe", "saved-model"});
  refused(kUsage, {"MODEL", "--external-data=maybe"}, {"maybe", "always"});
  refused(kUsage, {"completion", "tcsh"}, {"tcsh"});
  refused(kUsage, {"verify", "MODEL"}, {"error["});
  refused(kUsage, {"info"}, {"no model"});
  refused(kUsage, {"covert", "MODEL"}, {"no command 'covert'", "did you mean 'convert'"});
  refused(kUsage, {"inspect", "MODEL"}, {"no command 'inspect'", "tf2onnx-cpp --help"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--verify", "--samples", "0"}, {"--samples", "1"});
}

TEST_F(Usage, ConvertMayBeLeftOut) {
  const std::string bytes = converted({"MODEL", "-o", "OUT"});
  EXPECT_FALSE(bytes.empty());
  EXPECT_EQ(converted({"convert", "MODEL", "-o", "OUT"}), bytes);
  EXPECT_EQ(converted({"-o", "OUT", "MODEL"}), bytes);
  EXPECT_EQ(converted({"-v", "MODEL", "--output", "OUT", "-o", "OUT"}), bytes);
}

TEST_F(Usage, SameInputSameBytes) {
  EXPECT_EQ(converted({"MODEL", "-o", "OUT"}), converted({"MODEL", "-o", "OUT"}));
}

TEST_F(Usage, SummaryAndQuiet) {
  converted({"MODEL", "-o", "OUT"});
  EXPECT_TRUE(has(last_.out, "1 node, opset 21")) << last_.out;
  EXPECT_EQ(std::count(last_.out.begin(), last_.out.end(), '\n'), 1);
  EXPECT_EQ(last_.err, "");
  converted({"MODEL", "-o", "OUT", "-q"});
  EXPECT_EQ(last_.out + last_.err, "");
  converted({"MODEL", "-o", "OUT", "-v"});
  EXPECT_TRUE(has(last_.out, "f32[2,3]")) << last_.out;
}

TEST_F(Usage, DefaultOutputIsNamed) {
  const Finished f = run({model_}, {.directory = dir_.path()});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_TRUE(has(f.err, "'model.onnx'")) << f.err;
  EXPECT_EQ(dir_.files(), (Names{"model.onnx", "model.pb"}));
}

TEST_F(Usage, Json) {
  converted({"MODEL", "-o", "OUT", "--json"});
  const Json json = Json::parse(last_.out);
  EXPECT_EQ(last_.err, "");
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_EQ(json["opset"], 21);
  EXPECT_EQ(json["nodes"], 1);
  EXPECT_EQ(json["outputs"].size(), 1u);
  EXPECT_EQ(json["bytes"], content(dir_ / "out.onnx").size());
  const Finished f = run({"missing.pb", "--json"}, {.directory = dir_.path()});
  const Json failed = Json::parse(f.out);
  EXPECT_EQ(failed["exit_code"], 4);
  EXPECT_EQ(failed["diagnostics"][0]["code"], "bad-file");
}

TEST_F(Usage, ColoursWhenAsked) {
  EXPECT_FALSE(has(run({"missing.pb"}).err, "\033"));
  EXPECT_TRUE(has(run({"missing.pb", "--color", "always"}).err, "\033[1;31m"));
}

TEST_F(Usage, CommandLinesOfTf2onnx) {
  const std::string bytes = converted({"MODEL", "--inputs", "x:0", "--outputs", "y:0", "-o", "OUT"});
  const std::vector<Names> same = {
      {"--graphdef", "MODEL", "--inputs", "x:0", "--outputs", "y:0", "--output", "OUT"},
      {"--input", "MODEL", "--inputs", "x:0", "--outputs", "y:0", "--output", "OUT", "--fold_const"},
      {"--graphdef", "MODEL", "--inputs", "x:0", "--outputs", "y:0", "--output", "OUT",
       "--continue_on_error"},
      {"--graphdef", "MODEL", "--inputs", "x:0", "--outputs", "y:0", "--output", "OUT", "--target", ""},
      {"--graphdef", "MODEL", "--inputs", "x:0", "--outputs", "y:0", "--output", "OUT", "--load_op_libraries",
       "a.so"}};
  for (const Names& arguments : same) EXPECT_EQ(converted(arguments), bytes);
}

TEST_F(Usage, BothSpellings) {
  const std::string bytes =
      converted({"MODEL", "-o", "OUT", "--rename-inputs", "image", "--rename-outputs", "result"});
  EXPECT_EQ(converted({"MODEL", "-o", "OUT", "--rename_inputs", "image", "--rename_outputs=result"}), bytes);
  EXPECT_TRUE(has(bytes, "image"));
  converted({"MODEL", "-o", "OUT", "--use_graph_names", "--use-graph-names"});
  converted({"MODEL", "-o", "OUT", "--inputs_as_nchw", "", "--outputs-as-nchw", ""});
}

TEST_F(Usage, LargeModelMeansExternalData) {
  model_ = dir_.file("model.pb", big_model(100'000));
  converted({"MODEL", "-o", "OUT", "--large_model"});
  EXPECT_TRUE(has(last_.err, "--large-model")) << last_.err;
  EXPECT_TRUE(has(last_.out, "out.onnx.data")) << last_.out;
  EXPECT_EQ(dir_.files(), (Names{"model.pb", "out.onnx", "out.onnx.data"}));
  EXPECT_GE(content(dir_ / "out.onnx.data").size(), 100'000u);
}

TEST_F(Usage, ShapesHaveCommasToo) {
  model_ = dir_.file("model.pb", graph_def({placeholder("a", {-1, -1}), placeholder("b", {-1, -1}),
                                            node("y", "AddV2", {"a", "b"}, {type_attr("T", kFloat)})}));
  converted({"MODEL", "-o", "OUT", "--inputs", "b:0[4,5],a[-1,5]", "--outputs", "y", "--json"});
  const Json inputs = Json::parse(last_.out)["inputs"];
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0]["shape"], Json::parse("[4,5]"));
  EXPECT_EQ(inputs[1]["shape"][1], 5);
}

TEST_F(Usage, WhatIsNotThereYetIsRefused) {
  const std::vector<Names> refusals = {{"--keras", "a.h5"},
                                       {"--tfjs", "model.json"}};
  for (const Names& arguments : refusals) refused(kNotConvertible, arguments, {"error[not-yet]", "help:"});
}

TEST_F(Usage, ErrorsBeforeTheOptionsAreUnderstoodAreJsonToo) {
  for (const Names& arguments : {Names{"--json", "model.pb", "--no-such", "value", "-o", "x.onnx"}, Names{"model.pb", "--json", "--opset", "x"}, Names{"a.pb", "b.pb", "--json"}}) {
    const Finished f = run(arguments);
    EXPECT_EQ(f.exit_code, kUsage);
    EXPECT_EQ(f.err, "");
    const auto json = nlohmann::json::parse(f.out);
    EXPECT_EQ(json["diagnostics"][0]["code"], "bad-option") << f.out;
  }
  const Finished f = run({"model.pb", "--no-such", "value", "-o", "x.onnx"});
  EXPECT_TRUE(has(f.err, "there is no option '--no-such'")) << f.err;
}

TEST_F(Usage, WhatANameDoesNotFitIsRefused) {
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--ignore-default", "nothing"}, {"--ignore-default", "PlaceholderWithDefault 'nothing'"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--rename-inputs", "a", "--rename-outputs", "a"}, {"'a'"});
  const Finished f = run({model_, "-o", (dir_ / "x.onnx").string(), "--custom-ops", "Foo"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_TRUE(has(f.err, "no node of 'Foo'")) << f.err;
  EXPECT_TRUE(has(run({dir_.file("done.onnx", "x"), "-o", "out.onnx"}).err, "ONNX model already"));
}

// What is asked for gets the names, whatever else the outputs turn out to need.
TEST_F(Usage, NamesOfSomeInputsAndOfFoundOutputs) {
  dir_.file("model.pb", graph_def({placeholder("x"), placeholder("y"), node("z", "AddV2", {"x", "y"}, {type_attr("T", kFloat)})}));
  const std::string bytes = converted({"MODEL", "-o", "OUT", "--inputs", "x:0", "--rename-inputs", "first", "--rename-outputs", "sum"});
  for (const char* name : {"first", "y:0", "sum"}) EXPECT_TRUE(has(bytes, name)) << name;
  EXPECT_TRUE(has(last_.err, "'y', which is not among the inputs")) << last_.err;
  EXPECT_TRUE(has(converted({"MODEL", "-o", "OUT", "--rename-inputs", "first,second", "--rename-outputs", "sum"}), "second"));
  std::filesystem::remove(dir_ / "out.onnx");
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--rename-inputs", "a,b,c"}, {"--rename-inputs has 3 names for 2"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--rename-inputs", "a,a"}, {"two inputs have the name 'a'"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--inputs", "nx,ny", "--outputs", "nz"}, {"'nx'", "'ny'", "'nz'"});
}

// What a function of a SavedModel holds has the names that a dump tells.
TEST_F(Usage, CutsInsideOfFunctions) {
  model_ = T2O_SOURCE_DIR "/models/mnist";
  const std::string front = converted({"MODEL", "-o", "OUT", "--outputs", "StatefulPartitionedCall/StatefulPartitionedCall/Relu_1"});
  EXPECT_TRUE(has(front, "MaxPool"));
  EXPECT_FALSE(has(front, "Softmax"));
  EXPECT_TRUE(has(front, "image"));
  const std::string back = converted({"MODEL", "-o", "OUT", "--inputs", "StatefulPartitionedCall/StatefulPartitionedCall/Relu_1:0[5,14,14,16]", "--rename-inputs", "features"});
  EXPECT_TRUE(has(back, "Softmax"));
  EXPECT_TRUE(has(back, "features"));
  EXPECT_FALSE(has(back, "image"));
  const std::string relu = "StatefulPartitionedCall/StatefulPartitionedCall/Relu_1:0";
  const std::string twice = converted({"MODEL", "-o", "OUT", "--inputs", relu, "--outputs", relu + "," + relu, "--rename-inputs", "in", "--rename-outputs", "one,other"});
  for (const char* name : {"in", "one", "other"}) EXPECT_TRUE(has(twice, name)) << name;
  const std::string itself = converted({"MODEL", "-o", "OUT", "--inputs", relu, "--outputs", relu});
  EXPECT_FALSE(has(itself, "image")) << "the output is the input";
  const Finished v = run({model_, "-o", (dir_ / "v.onnx").string(), "--outputs", relu, "--verify"});
  EXPECT_EQ(v.exit_code, kUsage);
  EXPECT_TRUE(has(v.err, "cannot be verified")) << v.err;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "v.onnx"));
  const Finished f = run({model_, "-o", (dir_ / "x.onnx").string(), "--outputs", "StatefulPartitionedCall/StatefulPartitionedCall/Relu_7"});
  EXPECT_EQ(f.exit_code, kUsage);
  EXPECT_TRUE(has(f.err, "did you mean")) << f.err;
}

// What tf2onnx calls them.
TEST_F(Usage, KeysOfASignatureAsTensors) {
  const std::string mnist = T2O_SOURCE_DIR "/models/mnist";
  for (const char* output : {"probabilities", "probabilities:0", "Identity:0"}) {
    const std::string text = converted({mnist, "-o", "OUT", "--inputs", "image:0", "--outputs", output, "--rename-inputs", "pixels"});
    EXPECT_TRUE(has(text, "probabilities") && has(text, "pixels")) << output;
  }
  EXPECT_EQ(run({mnist, "-o", (dir_ / "no.onnx").string(), "--outputs", "Identity_1:0"}).exit_code, kUsage);
}

TEST_F(Usage, NothingIsWrittenOverTheModel) {
  const std::string before = content(model_);
  refused(kUsage, {"MODEL", "-o", "MODEL"}, {"part of the model itself"});
  refused(kUsage, {"MODEL", "-o", "./model.pb"}, {"part of the model itself"});
  refused(kUsage, {"MODEL", "-o", ""}, {"--output is empty"});
  EXPECT_EQ(content(model_), before);
  const std::filesystem::path copy = dir_ / "saved";
  std::filesystem::copy(T2O_SOURCE_DIR "/models/mnist", copy, std::filesystem::copy_options::recursive);
  for (const char* file : {"saved_model.pb", "variables/variables.index"})
    EXPECT_EQ(run({copy.string(), "-o", (copy / file).string()}).exit_code, kUsage) << file;
  EXPECT_EQ(run({copy.string(), "-o", (copy / "model.onnx").string()}).exit_code, 0);
  EXPECT_EQ(run({copy.string(), "-o", (copy / "model.onnx").string()}).exit_code, 0) << "of the last run";

  const std::filesystem::path away = dir_ / "away.onnx.data";  // the model's own file, which a link leads to
  std::filesystem::rename(copy / "variables/variables.data-00000-of-00001", away);
  std::filesystem::create_symlink(away, copy / "variables/variables.data-00000-of-00001");
  EXPECT_EQ(run({copy.string(), "-o", (dir_ / "away.onnx").string(), "--external-data"}).exit_code, kUsage);
  std::filesystem::create_symlink(copy / "variables/variables.index", dir_ / "linked.onnx.data");
  const std::string index = content((copy / "variables/variables.index").string());
  for (const char* external : {"--external-data", "--external-data=auto"}) {
    const Finished f = run({copy.string(), "-o", (dir_ / "linked.onnx").string(), external});
    EXPECT_TRUE(f.exit_code == kUsage && has(f.err, "part of the model itself")) << f.err;
  }
  EXPECT_EQ(content((copy / "variables/variables.index").string()), index);
  EXPECT_EQ(run({copy.string(), "-o", (dir_ / "linked.onnx").string(), "--external-data=never"}).exit_code, 0);
}

// As nohup and the background jobs of a script want it.
TEST_F(Usage, SignalsThatAreIgnoredStayIgnored) {
  const std::string out = (dir_ / "out.onnx").string();
  const std::string script = "trap '' HUP; '" T2O_PROGRAM "' '" + model_ + "' -o '" + out + "' -q & p=$!; " +
                             "for i in 1 2 3 4 5 6 7 8 9 10; do kill -HUP $p 2>/dev/null; sleep 0.002; done; wait $p";
  EXPECT_EQ(std::system(script.c_str()), 0);
  EXPECT_TRUE(std::filesystem::exists(out));
}

TEST_F(Usage, CustomOpsAndTheirOpset) {
  dir_.file("model.pb", graph_def({placeholder("x"), unary("y", "NoSuchOp", "x")}));
  refused(kNotConvertible, {"MODEL", "-o", "out.onnx"}, {"NoSuchOp", "--custom-ops NoSuchOp"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--custom-ops", "NoSuchOp", "--extra-opset", "7"}, {"domain:version"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--custom-ops", ":x", "--extra-opset", "7", "--dump-after", "foo"}, {"domain:version", "':x'", "'foo'"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--custom-ops", "NoSuchOp:ai.onnx.ml"}, {"a domain of your own"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--custom-ops", "NoSuchOp,Other", "--ir-version", "99"}, {"IR version 99", "no node of 'Other'"});
  EXPECT_TRUE(has(converted({"MODEL", "-o", "OUT", "--custom-ops", "NoSuchOp"}), "ai.onnx.converters.tensorflow"));
  const std::string bytes = converted({"MODEL", "-o", "OUT", "--custom-ops", "NoSuchOp:my.domain", "--extra_opset", "my.domain:7"});
  EXPECT_TRUE(has(bytes, "\x22\x08NoSuchOp"));                  // NodeProto.op_type
  EXPECT_TRUE(has(bytes, "\x3a\x09my.domain"));                 // NodeProto.domain
  EXPECT_TRUE(has(bytes, "\x42\x0d\x0a\x09my.domain\x10\x07"));  // ModelProto.opset_import
}

TEST_F(Usage, Report) {
  model_ = std::string(T2O_SOURCE_DIR) + "/models/mnist_frozen.pb";
  converted({"MODEL", "-o", "OUT", "--report", "--outputs", "MaxPool2d_1:0"});
  EXPECT_TRUE(has(last_.err, "1 Transpose, no loops")) << last_.err;
  EXPECT_TRUE(has(last_.err, "operators: Conv 2")) << last_.err;
  EXPECT_TRUE(has(last_.err, "the model's output stays as it is")) << last_.err;
  EXPECT_TRUE(has(last_.err, "[0,2,3,1] for MaxPool")) << last_.err;
  EXPECT_EQ(std::count(last_.out.begin(), last_.out.end(), '\n'), 1) << last_.out;
  converted({"MODEL", "-o", "OUT", "--report", "--json", "--outputs", "MaxPool2d_1:0"});
  const Json report = Json::parse(last_.out)["report"];
  EXPECT_EQ(report["operators"]["Conv"], 2);
  EXPECT_EQ(report["transposes"][0]["kind"], "interface");
  EXPECT_EQ(report["transposes"][0]["perm"], (std::vector<int>{0, 2, 3, 1}));
  EXPECT_EQ(report["transposes"][0]["source_op"], "MaxPool");
  EXPECT_GT(report["weight_bytes"], 4000);
}

TEST_F(Usage, Layout) {
  model_ = std::string(T2O_SOURCE_DIR) + "/models/mnist_frozen.pb";
  const std::string automatic = converted({"MODEL", "-o", "OUT"});
  EXPECT_EQ(converted({"MODEL", "-o", "OUT", "--layout", "auto"}), automatic);
  EXPECT_FALSE(has(automatic, "ai.tf2onnx.nhwc"));
  const std::string last = converted({"MODEL", "-o", "OUT", "--layout", "nhwc", "--report"});
  EXPECT_TRUE(has(last, "ai.tf2onnx.nhwc"));
  EXPECT_TRUE(has(last_.err, "no Transposes")) << last_.err;
  EXPECT_TRUE(has(last_.err, "ai.tf2onnx.nhwc::Conv 2")) << last_.err;
  std::filesystem::remove(dir_ / "out.onnx");
  model_ = (dir_ / "model.pb").string();
  refused(kUsage, {"MODEL", "--layout", "nwhc"}, {"nwhc", "auto, nchw, nhwc"});
  refused(kNotConvertible, {"MODEL", "--layout", "nhwc", "--opset", "14"}, {"opset 14", "--opset 15"});
  refused(kUsage, {"MODEL", "--layout", "nhwc", "--ir-version", "7"}, {"IR version 7", "--ir-version 8"});
}

TEST_F(Usage, NamesAndNumbersThatDoNotExistAreRefused) {
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--target-runtime", "foo"}, {"ort-1.31", "any"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--dump-after", "foo"}, {"read", "fold_layout"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--trace-match", "read"}, {"fold_layout"});
  refused(kUsage, {"MODEL", "-o", "out.onnx", "--opset", "27"}, {"--opset 26", "--target-runtime any"});
  refused(kUsage, {"verify", "MODEL", "out.onnx", "--rtol", "-1"}, {"--rtol"});
  converted({"MODEL", "-o", "OUT", "--dump-after", "channels_last"});
  EXPECT_TRUE(has(last_.err, "'channels_last' does not run with this --layout")) << last_.err;
}

TEST_F(Usage, OptionsOfTheVerificationNeedIt) {
  for (const Names& option : {Names{"--rtol", "1e-3"}, Names{"--atol", "1"}, Names{"--bisect"}, Names{"--samples", "2"},
                              Names{"--seed", "1"}, Names{"--input-data", "x.npy"}, Names{"--input-shape", "1,2"},
                              Names{"--threads", "1"}}) {
    Names arguments = {"MODEL", "-o", "out.onnx"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    refused(kUsage, arguments, {option[0], "help: add --verify"});
  }
}

TEST_F(Usage, Lists) {
  EXPECT_TRUE(has(run({"ops", "relu"}).out, "Relu6"));
  EXPECT_GT(Json::parse(run({"ops", "--json"}).out).size(), 50u);
  EXPECT_EQ(Json::parse(run({"opsets", "--json"}).out).size(), 28u);
  EXPECT_TRUE(has(run({"opsets"}).out, "the default"));
  for (const char* prints : {"ops", "--help", "--version"})
    EXPECT_EQ(run({prints}, {.stdout_path = "/dev/full"}).exit_code, kNotConvertible) << prints;
}

TEST_F(Usage, GeneratedPagesAreCurrent) {
  const std::filesystem::path docs = std::filesystem::path(T2O_SOURCE_DIR) / "docs";
  const auto is_current = [&](const Names& arguments, const char* page) { return run(arguments).out == content(docs / page); };
  EXPECT_TRUE(is_current({"man", "--markdown"}, "cli.md")) << "tf2onnx-cpp man --markdown > docs/cli.md";
  EXPECT_TRUE(is_current({"ops", "--markdown", "--coverage", T2O_SOURCE_DIR "/tests/coverage.tsv"}, "support.md"))
      << "cmake --build build/release --target update_coverage";
  EXPECT_TRUE(is_current({"opsets", "--markdown"}, "opsets.md")) << "tf2onnx-cpp opsets --markdown > docs/opsets.md";
  EXPECT_TRUE(is_current({"ops", "--runtime", "--markdown"}, "runtime-rows.md")) << "tf2onnx-cpp ops --runtime --markdown > docs/runtime-rows.md";
}

TEST_F(Usage, TwoDashesEndTheOptions) {
  const std::string bytes = converted({"MODEL", "-o", "OUT"});
  dir_.file("--json", content(model_));
  EXPECT_EQ(converted({"-o", "OUT", "--", "MODEL"}), bytes);
  const std::string of_path = converted({"convert", "-o", "OUT", "./--json"});
  EXPECT_EQ(converted({"convert", "-o", "OUT", "--", "--json"}), of_path);
  EXPECT_TRUE(has(last_.out, "1 node")) << "a name, no option: " << last_.out;
  EXPECT_EQ(converted({"MODEL", "-o", "OUT", "--"}), bytes);
  EXPECT_EQ(run({"info", "--", "--json"}, {.directory = dir_.path()}).exit_code, 0);
  for (const Names& wrong : {Names{"convert", "-o", "x.onnx", "--", "MODEL", "--opset"}, Names{"--", "--opset", "12"}}) {
    const Finished f = run(wrong, {.directory = dir_.path()});
    EXPECT_EQ(f.exit_code, kUsage);
    EXPECT_FALSE(has(f.err, "option '--")) << f.err;
  }
}

TEST_F(Usage, ADataFileThatIsNotThereAndOneThatIsOld) {
  converted({"MODEL", "-o", "OUT", "--external-data"});
  EXPECT_TRUE(has(last_.err, "out.onnx.data' was not written")) << last_.err;
  dir_.file("model.pb", big_model(10'000));
  converted({"MODEL", "-o", "OUT", "--external-data"});
  EXPECT_EQ(last_.err, "");
  const std::string data = content(dir_ / "out.onnx.data");
  EXPECT_FALSE(data.empty());
  converted({"MODEL", "-o", "OUT"});
  EXPECT_TRUE(has(last_.err, "out.onnx.data' exists already")) << last_.err;
  EXPECT_EQ(content(dir_ / "out.onnx.data"), data) << "it is not ours to delete";
  converted({"MODEL", "-o", "OUT", "--json"});
  EXPECT_TRUE(has(last_.out, "exists already")) << last_.out;
}

// x -> h -> y; the loss and its gradients are for training.
TEST_F(Usage, OutputsOfAGraphThatIsTrained) {
  const auto two = [](const std::string& name, const std::string& op, const Names& in) { return node(name, op, in, {type_attr("T", kFloat)}); };
  const std::vector<std::string> forward = {placeholder("x"), placeholder("labels"), unary("h", "Relu", "x"), unary("y", "Sigmoid", "h"), two("loss", "Sub", {"h", "labels"}), unary("net/gradients/up", "Neg", "loss"), unary("gradients_of_x", "Neg", "h")};
  std::vector<std::string> trained = forward;
  trained.push_back(node("v", "VariableV2", {}, {type_attr("dtype", kFloat), shape_attr("shape", {2, 3})}));
  trained.push_back(unary("unread", "Neg", "net/gradients/up"));
  trained.push_back(unary("net/gradients_1/unread", "Neg", "loss"));
  trained.push_back(constant("rate", {}, std::string(4, '\0')));
  trained.push_back(node("train", "ApplyGradientDescent", {"v", "rate", "net/gradients/up"}, {type_attr("T", kFloat)}));
  const auto outputs = [&](const std::vector<std::string>& nodes) {
    dir_.file("model.pb", graph_def(nodes));
    converted({"MODEL", "-o", "OUT", "--json"});
    EXPECT_EQ(last_.exit_code, 0) << last_.out;
    Names names;
    const Json json = Json::parse(last_.out);
    for (const Json& output : json["outputs"]) names.push_back(output["name"]);
    return names;
  };
  EXPECT_EQ(outputs(forward), (Names{"y:0", "net/gradients/up:0", "gradients_of_x:0"}));
  EXPECT_EQ(outputs(trained), (Names{"y:0", "loss:0", "gradients_of_x:0", "unread:0"}));
  EXPECT_TRUE(has(last_.out, "the graph is for training")) << last_.out;
}

TEST_F(Usage, ManPageAndCompletion) {
  EXPECT_TRUE(run({"man"}).out.starts_with(".TH TF2ONNX"));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished f = run({"completion", shell});
    EXPECT_EQ(f.exit_code, 0);
    EXPECT_TRUE(has(f.out, "external-data")) << shell;
  }
  const std::string script =
      dir_.file("completion.bash", run({"completion", "bash"}).out +
                                       "COMP_WORDS=(tf2onnx-cpp info --op); COMP_CWORD=2\n"
                                       "_tf2onnx_cpp; [[ \"${COMPREPLY[*]}\" == --opset ]] || exit\n"
                                       "COMP_WORDS=(tf2onnx-cpp m.pb --layout n); COMP_CWORD=3\n"
                                       "_tf2onnx_cpp; [[ \"${COMPREPLY[*]}\" == 'nchw nhwc' ]] || exit\n"
                                       "COMP_WORDS=(tf2onnx-cpp m.pb --opset = 2); COMP_CWORD=4\n"
                                       "_tf2onnx_cpp; [[ \"${COMPREPLY[*]}\" == 2[0-8]* ]] || exit\n"
                                       "COMP_WORDS=(tf2onnx-cpp m.pb --external-data =); COMP_CWORD=3\n"
                                       "_tf2onnx_cpp; [[ \"${COMPREPLY[*]}\" == 'auto always never' ]] || exit\n"
                                       "COMP_WORDS=(tf2onnx-cpp m.pb --external-data a); COMP_CWORD=3\n"
                                       "_tf2onnx_cpp; [[ -z \"${COMPREPLY[*]}\" ]]\n");
  EXPECT_EQ(std::system(("bash " + script).c_str()), 0);
}

}  // namespace
}  // namespace t2o::test
