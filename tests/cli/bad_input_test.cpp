#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "cli/graph_def_maker.h"
#include "cli/program.h"

// Every bad input gets a clear error and the right exit code; nothing is written; no crash, hang or unbounded
// memory.
namespace t2o::test {
namespace {

constexpr int kNotConvertible = 1, kUsage = 2, kBadInput = 4;

#ifdef __SANITIZE_ADDRESS__
constexpr long kMostMegabytes = 4000;  // the sanitizer keeps freed memory for a while, and shadows all
#else
constexpr long kMostMegabytes = 2000;
#endif

class BadInput : public testing::Test {
 protected:
  // Converts in a directory of its own and expects an error that names these words, and no trace of an
  // output.
  Finished refused(int exit_code, const std::string& model, const Names& words,
                   const Names& more_arguments = {}) {
    Names arguments = {model, "-o", (out_ / "out.onnx").string()};
    arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
    Finished f = run(arguments, {.seconds_allowed = 60});
    EXPECT_FALSE(f.timed_out) << model;
    EXPECT_EQ(f.signal, 0) << model;
    EXPECT_EQ(f.exit_code, exit_code) << f.err;
    EXPECT_NE(f.err.find("error["), std::string::npos) << f.err;
    EXPECT_EQ(f.err.find("error[internal]"), std::string::npos) << f.err;
    for (const std::string& word : words)
      EXPECT_NE(f.err.find(word), std::string::npos) << "'" << word << "' in:\n" << f.err;
    EXPECT_TRUE(out_.files().empty());
    EXPECT_LT(f.peak_mb, kMostMegabytes);
    return f;
  }

  // What must only not crash, and tell when it refuses.
  void survives(const std::string& model, const Names& more_arguments = {}) {
    Names arguments = {model, "-o", (out_ / "out.onnx").string()};
    arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
    const Finished f = run(arguments, {.seconds_allowed = 60});
    EXPECT_FALSE(f.timed_out) << model;
    EXPECT_EQ(f.signal, 0) << model << f.err;
    EXPECT_EQ(f.exit_code == 0, f.err.find("error[") == std::string::npos) << f.err;
    EXPECT_EQ(f.err.find("error[internal]"), std::string::npos) << f.err;
    EXPECT_EQ(f.exit_code == 0, std::filesystem::exists(out_ / "out.onnx"));
    EXPECT_LT(f.peak_mb, kMostMegabytes);
    std::filesystem::remove(out_ / "out.onnx");
  }

  std::string model(const std::string& content) { return in_.file("model.pb", content); }

  TemporaryDirectory in_, out_;
};

std::string random_bytes(std::uint32_t seed, std::size_t size) {
  std::string out(size, '\0');
  for (char& c : out) {
    seed = seed * 1664525u + 1013904223u;
    c = static_cast<char>(seed >> 24);
  }
  return out;
}

TEST_F(BadInput, MissingFile) { refused(kBadInput, (in_ / "missing.pb").string(), {"missing.pb"}); }

TEST_F(BadInput, DirectoryWithoutModel) {
  refused(kBadInput, in_.path().string(), {"saved_model.pb"});
  refused(kBadInput, in_.path().string(), {"saved_model.pb"}, {"--format", "saved-model"});
}

TEST_F(BadInput, EmptyFile) { refused(kBadInput, model(""), {"model.pb"}); }

TEST_F(BadInput, TruncatedFile) {
  const std::string whole = relu_model();
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, whole.size() / 3, std::size_t{2}})
    refused(kBadInput, model(whole.substr(0, size)), {"model.pb"});
}

TEST_F(BadInput, ALoopThatChangesItsTypes) {
  refused(kBadInput, model(loop_model("IsNan", 1, "y", 1)), {"function 'step' gives bool as result 0, not f32"});
}

// Not looked for in the message, which has a word like it.
TEST_F(BadInput, TheFileIsNamedWhateverItsName) {
  const std::string whole = relu_model();
  in_.file("corrupt", whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(run({"corrupt"}, {.directory = in_.path()}).err.find("corrupt: the file is corrupt") != std::string::npos);
  std::string late = whole;  // within an attribute, which is read when its node is
  late[whole.rfind("\x01T") + 4] = '\x7a';
  in_.file("the", late);
  const Finished f = run({"the", "-o", "x.onnx"}, {.directory = in_.path()});
  EXPECT_EQ(f.exit_code, 4);
  EXPECT_TRUE(f.err.find("the: the file is corrupt") != std::string::npos) << f.err;
}

TEST_F(BadInput, RandomBytes) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    refused(kBadInput, model(random_bytes(seed, 3000)), {"model.pb"});
    refused(kBadInput, in_.file("model.meta", random_bytes(seed, 3000)), {"model.meta"});
    refused(kBadInput, in_.file("model.pbtxt", random_bytes(seed, 3000)), {"model.pbtxt"});
  }
  in_.file("saved/saved_model.pb", random_bytes(3, 3000));
  refused(kBadInput, (in_ / "saved").string(), {"saved_model.pb"});
}

TEST_F(BadInput, EverySingleByteChanged) {
  const std::string whole = relu_model();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    survives(model(changed));
  }
}

TEST_F(BadInput, NoRegularFile) {
  const std::string pipe = (in_ / "pipe.pb").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refused(kBadInput, pipe, {"pipe.pb"});
  refused(kBadInput, "/dev/zero", {"/dev/zero"});
}

// What is wrong with the checkpoint is told once, not for each variable.
TEST_F(BadInput, DamagedOrMissingCheckpoint) {
  namespace fs = std::filesystem;
  const fs::path whole = T2O_SOURCE_DIR "/tests/data/tracked", copy = in_ / "tracked";
  const std::string data = "variables/variables.data-00000-of-00001";
  const auto expect_one_error = [&](const Names& words) {
    const Finished f = refused(kBadInput, copy.string(), words);
    EXPECT_EQ(f.err.find("error["), f.err.rfind("error[")) << f.err;
  };
  fs::copy(whole, copy, fs::copy_options::recursive);
  fs::resize_file(copy / data, 100);
  expect_one_error({"variables.data-00000-of-00001", "truncated"});
  fs::remove(copy / data);
  expect_one_error({"variables.data-00000-of-00001"});
  fs::remove_all(copy / "variables");
  expect_one_error({"no checkpoint", (copy / "variables").string()});
}

TEST_F(BadInput, PartOfACheckpoint) {
  const std::string data = T2O_SOURCE_DIR "/tests/data/";
  refused(kBadInput, data + "meta_graph/model.ckpt.index", {"checkpoint's index", "meta_graph/model.ckpt.meta"});
  refused(kBadInput, data + "meta_graph/model.ckpt.data-00000-of-00001", {"checkpoint's data", "model.ckpt.meta"});
  refused(kBadInput, data + "tracked/variables/variables.index", {"give the SavedModel", data + "tracked"});
  refused(kBadInput, data + "checkpoint/types.index", {"weights alone"});
}

TEST_F(BadInput, WrongTextFormat) {
  refused(kBadInput, in_.file("a.pbtxt", "node { name: \"x\" op: \"Placeholder\" "), {"a.pbtxt"});
  refused(kBadInput, in_.file("a.pbtxt", "node { nam: \"x\" }"), {"a.pbtxt"});
  std::string deep = "node { attr { key: \"a\" value { ";
  for (int i = 0; i < 10000; ++i) deep += "func { attr { key: \"a\" value { ";
  refused(kBadInput, in_.file("a.pbtxt", deep), {"a.pbtxt"});
}

TEST_F(BadInput, WrongNamesSuggestTheNearest) {
  const std::string chain = model(chain_model("Relu", 3));
  refused(kUsage, chain, {"'n3", "did you mean 'n"}, {"--outputs", "n3:0"});
  refused(kUsage, chain, {"'xx", "did you mean 'x"}, {"--inputs", "xx:0"});
  refused(kUsage, chain, {"n2:7"}, {"--outputs", "n2:7"});
}

TEST_F(BadInput, AllUnsupportedOpsAtOnce) {
  const std::string graph =
      graph_def({placeholder("x"), unary("one", "NoSuchOpA", "x"), unary("two", "NoSuchOpB", "one"),
                 unary("three", "NoSuchOpC", "two"), unary("y", "Relu", "three")});
  refused(kNotConvertible, model(graph),
          {"NoSuchOpA", "NoSuchOpB", "NoSuchOpC", "'one'", "'two'", "3 errors", "nothing was written"});
}

TEST_F(BadInput, NamesThatATerminalWouldObey) {
  const std::string graph = graph_def({placeholder("x"), node("y", "Foo\033]0;title\007\r", {"x"})});
  refused(kNotConvertible, model(graph), {"Foo\\x1b]0;title\\x07\\x0d"}, {"--outputs", "y"});
}

TEST_F(BadInput, OpsThatOnlyTheProgramMakes) {
  for (const std::string op : {"t2o.Guarded", "t2o.LSTM", "t2o.NoSuch"})
    for (const Names& inputs : {Names{}, Names{"x"}}) {
      const std::string graph = graph_def({placeholder("x"), node("own", op, inputs), unary("y", "Relu", "own")});
      refused(kNotConvertible, model(graph), {"op " + op, "'own'", "another name"}, {"--outputs", "y"});
    }
}

TEST_F(BadInput, CycleThatIsNoLoop) {
  const std::string cycle =
      graph_def({placeholder("x"), node("a", "AddV2", {"x", "b"}, {type_attr("T", kFloat)}),
                 unary("b", "Relu", "a"), unary("y", "Relu", "b")});
  refused(kBadInput, model(cycle), {"cycle"});
  refused(kBadInput, model(graph_def({unary("y", "Relu", "y")})), {"cycle"}, {"--outputs", "y"});
}

TEST_F(BadInput, MissingFunctionAndMissingNode) {
  refused(kBadInput, model(graph_def({placeholder("x"), call("y", "nowhere", "x")})), {"nowhere"});
  refused(kBadInput, model(graph_def({placeholder("x"), unary("y", "Relu", "absent")})), {"absent"});
  refused(kBadInput, model(graph_def({placeholder("x"), unary("y", "Relu", "x:5")})), {"x"});
}

TEST_F(BadInput, FunctionThatCallsItself) {
  const std::string f = function("f", {call("inner", "f", "arg")}, "inner:output:0");
  refused(kNotConvertible, model(graph_def({placeholder("x"), call("y", "f", "x")}, {f})),
          {"'f' calls itself"});
}

TEST_F(BadInput, CallsThatDouble) {  // 2^40 nodes when inlined
  std::vector<std::string> functions;
  for (int i = 0; i < 40; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    functions.push_back(function("f" + std::to_string(i),
                                 {call("a", next, "arg"), call("b", next, "a:output:0")}, "b:output:0"));
  }
  functions.push_back(function("f40", {unary("last", "Relu", "arg")}, "last:activations:0"));
  refused(kNotConvertible, model(graph_def({placeholder("x"), call("y", "f0", "x")}, functions)), {"f"});
}

TEST_F(BadInput, TwoNodesOfOneName) {
  refused(kBadInput, model(graph_def({placeholder("x"), unary("y", "Relu", "x"), unary("y", "Relu", "x")})),
          {"'y'"});
}

TEST_F(BadInput, ConstantsThatLie) {
  const auto with = [](const std::vector<std::int64_t>& dims, const std::string& content) {
    return graph_def({placeholder("x"), constant("w", dims, content),
                      node("y", "AddV2", {"x", "w"}, {type_attr("T", kFloat)})});
  };
  refused(kBadInput, model(with({2, 3}, "abc")), {"'w'"});
  refused(kBadInput, model(with({-5}, "abcd")), {"'w'"});
  refused(kBadInput, model(with({std::int64_t{1} << 40, std::int64_t{1} << 40}, "abcd")), {"'w'"});
  survives(model(with({std::int64_t{1} << 40}, "abcd")));
}

TEST_F(BadInput, DeepNesting) {
  survives(model(calls_model(10000)));
  std::string value = number(3, 1);
  for (int i = 0; i < 10000; ++i)
    value = bytes(10, bytes(1, "f") + bytes(2, bytes(1, "a") + bytes(2, value)));
  survives(model(
      graph_def({placeholder("x"), node("y", "Relu", {"x"}, {{"T", number(6, kFloat)}, {"deep", value}})})));
}

TEST_F(BadInput, DeepBranches) {
  const Finished f = run({model(branches_model(30)), "-o", (out_ / "out.onnx").string()}, {.seconds_allowed = 60});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  std::filesystem::remove(out_ / "out.onnx");
  for (const int depth : {31, 60, 50'000}) refused(kNotConvertible, model(branches_model(depth)), {"nested more than 30 deep"});
}

TEST_F(BadInput, DeepLoopBody) {
  survives(model(loop_model("Tanh", 1, "y", 100'000)));
  survives(model(loop_model("AddV2", 2, "z", 100'000)));
}

TEST_F(BadInput, LoopsInLoopsThatChangeShapes) {
  for (const int depth : {1, 3, 20, 29}) {
    const Finished f = run({model(loops_model(depth)), "-o", (out_ / "out.onnx").string()}, {.seconds_allowed = 60});
    EXPECT_EQ(f.exit_code, 0) << depth << f.err;
    std::filesystem::remove(out_ / "out.onnx");
  }
}

TEST_F(BadInput, LoopThatDoubles) { survives(model(loop_model("AddV2", 2, "z", 40))); }

TEST_F(BadInput, MillionNodesInAChain) {
  const std::string path = model(chain_model("Relu", 1'000'000));
  const Finished f = run({path, "-o", (out_ / "out.onnx").string()}, {.seconds_allowed = 120});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_LT(f.peak_mb, 4000);
  const Finished pass_through =
      run({model(chain_model("Identity", 1'000'000)), "-o", (out_ / "out.onnx").string()});
  EXPECT_EQ(pass_through.exit_code, 0) << pass_through.err;
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  const std::string path = model(relu_model());
  const auto to = [&path](const std::string& output) { return run({path, "-o", output}); };
  for (const std::string& output :
       {(out_ / "no/such/dir/out.onnx").string(), out_.path().string(), std::string("/dev/full")}) {
    const Finished f = to(output);
    EXPECT_EQ(f.exit_code, kNotConvertible) << output;
    EXPECT_NE(f.err.find("error[output]"), std::string::npos) << f.err;
    EXPECT_NE(f.err.find(output), std::string::npos) << f.err;
  }
  EXPECT_TRUE(out_.files().empty());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// 4 TB of one number.
TEST_F(BadInput, MoreThanADiskHolds) {
  const std::string graph = "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { "
                            "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000000 } dim { size: 1000000 } } float_val: 1 } } } }";
  refused(kNotConvertible, in_.file("model.pbtxt", graph), {"bytes", "are free there"}, {"--outputs", "c"});
}

TEST_F(BadInput, DiskThatFillsUp) {
  const std::string path = model(big_model(1 << 20));
  for (const Names& more : {Names{}, Names{"--external-data"}}) {
    Names arguments = {path, "-o", (out_ / "out.onnx").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished f = run(arguments, {.file_size_allowed = 100'000});
    EXPECT_EQ(f.exit_code, kNotConvertible) << f.err;
    EXPECT_NE(f.err.find("error[output]"), std::string::npos) << f.err;
    EXPECT_TRUE(out_.files().empty());
  }
}

TEST_F(BadInput, FailureLeavesTheOldFile) {
  const std::string old = out_.file("out.onnx", "old");
  EXPECT_EQ(run({model(random_bytes(1, 100)), "-o", old}).exit_code, kBadInput);
  EXPECT_EQ(run({model(big_model(1 << 20)), "-o", old}, {.file_size_allowed = 100'000}).exit_code,
            kNotConvertible);
  EXPECT_EQ(content(old), "old");
  EXPECT_EQ(out_.files(), Names{"out.onnx"});
}

TEST_F(BadInput, InterruptLeavesNothing) {
  const std::string path = model(big_model(400 << 20));
  for (const double after : {0.01, 0.03, 0.06, 0.1, 0.2}) {
    const Finished f = run({path, "-o", (out_ / "out.onnx").string()}, {.interrupt_after = after});
    const Names expected = f.signal != 0 ? Names{} : Names{"out.onnx"};
    EXPECT_TRUE(f.signal == SIGINT || f.exit_code == 0);
    Names left = out_.files();
    if (f.signal != 0) std::erase(left, "out.onnx");  // it may have been complete just before
    EXPECT_EQ(left, expected);
    std::filesystem::remove(out_ / "out.onnx");
  }
}

// As it comes where a file that is mapped is cut short.
TEST_F(BadInput, AModelThatIsLostLeavesNothing) {
  const std::string path = model(big_model(400 << 20));
  int told = 0;
  for (const double after : {0.01, 0.02, 0.04, 0.06}) {
    const Finished f = run({path, "-o", (out_ / "out.onnx").string()}, {.interrupt_after = after, .interrupt_by = SIGBUS});
    if (f.exit_code == 0 || f.signal == SIGBUS) {  // it was ready before, or had not begun
      std::filesystem::remove(out_ / "out.onnx");
      continue;
    }
    EXPECT_EQ(f.exit_code, kBadInput) << f.err;
    EXPECT_NE(f.err.find("cut short"), std::string::npos) << f.err;
    // The signal of this test, unlike that of a lost page, may come when the file is complete.
    const std::filesystem::path complete = out_ / "out.onnx";
    if (std::filesystem::exists(complete)) {
      EXPECT_GE(std::filesystem::file_size(complete), 400U << 20);
      std::filesystem::remove(complete);
    }
    EXPECT_EQ(out_.files(), Names{});
    ++told;
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace t2o::test
