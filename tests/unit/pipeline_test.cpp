#include "pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "tf/text_proto.h"
#include "tf2onnx/tf2onnx.h"

namespace t2o {
namespace {

TEST(Pipeline, ConversionsRunSideBySide) {
  const std::string model = tf::graph_def_from_text(R"(
      node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 4 } } } } }
      node { name: 'half' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0.5 } } } }
      node { name: 'relu' op: 'Relu' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
      node { name: 'y' op: 'Mul' input: 'relu' input: 'half' attr { key: 'T' value { type: DT_FLOAT } } })",
                                                    "test");
  const auto converted = [&](std::size_t traced) {
    Options o;
    o.trace_match.assign(traced, "fuse_gelu");
    const Conversion c = convert(o, std::as_bytes(std::span(model)));
    std::string bytes;
    EXPECT_TRUE(c.ok());
    EXPECT_TRUE(!c.ok() || write_model_bytes(c, o, bytes).empty());
    return bytes;
  };
  const std::string expected = converted(0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (std::size_t k = 0; k < 20; ++k) EXPECT_EQ(converted((i + k) % 4 * 100), expected);
    });
  for (std::thread& t : threads) t.join();
}

// Runtimes do not list inputs that have a default among those to be given; who names one wants to give it.
TEST(Pipeline, APlaceholderWithDefaultIsItsDefaultOrAnInput) {
  const std::string model = tf::graph_def_from_text(R"(
      node { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 1 } } } }
      node { name: 'x' op: 'PlaceholderWithDefault' input: 'one' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'shape' value { shape {} } } }
      node { name: 'y' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } })",
                                                    "test");
  for (const bool named : {true, false}) {
    Options o;
    if (named) o.inputs = {"x:0"};
    o.outputs = {"y:0"};
    const Conversion c = convert(o, std::as_bytes(std::span(model)));
    ASSERT_TRUE(c.ok());
    EXPECT_EQ(c.graph()->inputs().size(), named ? 1U : 0U);
    EXPECT_TRUE(c.model.graphs[0].input_defaults.empty());
  }
}

// "-" is the program's word for standard output; to the library it is a file like any other.
// A frozen graph does not tell the shapes of what is inside.
TEST(Pipeline, ACutHasTheShapeThatIsThere) {
  const std::string model = tf::graph_def_from_text(R"(
      node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }
             attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 8 } dim { size: 8 } dim { size: 3 } } } } }
      node { name: 'pool' op: 'MaxPool' input: 'x' attr { key: 'T' value { type: DT_FLOAT } }
             attr { key: 'ksize' value { list { i: 1 i: 2 i: 2 i: 1 } } } attr { key: 'padding' value { s: 'SAME' } }
             attr { key: 'strides' value { list { i: 1 i: 2 i: 2 i: 1 } } } }
      node { name: 'y' op: 'Relu' input: 'pool' attr { key: 'T' value { type: DT_FLOAT } } })",
                                                    "test");
  Options o;
  o.inputs = {"pool:0"};
  o.outputs = {"y:0"};
  o.inputs_as_nchw = {"pool:0"};
  const Conversion c = convert(o, std::as_bytes(std::span(model)));
  ASSERT_TRUE(c.ok()) << to_string(c.diagnostics.at(0));
  const Shape& s = c.graph()->inputs().at(0)->shape();
  ASSERT_EQ(s.rank(), 4);
  EXPECT_EQ(s[1], 3);
  EXPECT_EQ(s[2], 4);
  EXPECT_FALSE(is_known(s[0]));
  o.inputs = {"x:0[1,16,16,3]"};
  const Conversion larger = convert(o, std::as_bytes(std::span(model)));
  EXPECT_NE(to_string(larger.diagnostics.at(0)).find("another shape in the model, [?,8,8,3]"), std::string::npos);
  o.inputs = {"pool:0"};
  o.rename_inputs = {"pixels"};
  o.outputs_as_nchw = {"y:0"};
  o.rename_outputs = {"z"};
  const Conversion renamed = convert(o, std::as_bytes(std::span(model)));
  ASSERT_TRUE(renamed.ok()) << to_string(renamed.diagnostics.at(0));
  EXPECT_EQ(renamed.graph()->inputs().at(0)->name(), "pixels");
  EXPECT_EQ(renamed.graph()->outputs().at(0)->name(), "z");
  EXPECT_EQ(renamed.graph()->outputs().at(0)->shape()[1], 3);
}

// Each option of the command line is one of the library's.
TEST(Library, OptionsBothSpellings) {
  Options o;
  std::string why;
  EXPECT_TRUE(tf2onnx::set_option(o, "concrete_function", "0", &why));
  EXPECT_TRUE(tf2onnx::set_option(o, "output-frozen-graph", "f.pb", &why));
  EXPECT_TRUE(tf2onnx::set_option(o, "target", "rs5,tensorrt", &why));
  EXPECT_EQ(o.concrete_function, "0");
  EXPECT_EQ(o.output_frozen_graph, "f.pb");
  EXPECT_EQ(o.targets, (std::vector<std::string>{"rs5", "tensorrt"}));
  EXPECT_FALSE(tf2onnx::set_option(o, "target", "nhwc", &why));
  EXPECT_NE(why.find("--layout nhwc"), std::string::npos) << why;
}

TEST(Library, TheFrozenGraphIsThereWhenTheModelIs) {
  namespace fs = std::filesystem;
  const std::string frozen = testing::TempDir() + "frozen_" + std::to_string(getpid()) + ".pb";
  Options o;
  o.model = T2O_SOURCE_DIR "/models/mnist";
  o.output_frozen_graph = frozen;
  std::string bytes, again;
  EXPECT_FALSE(tf2onnx::convert_file(o, "/no/such/folder/out.onnx").ok());
  EXPECT_FALSE(fs::exists(frozen));
  ASSERT_TRUE(tf2onnx::convert_file_to_memory(o, bytes).ok());
  EXPECT_GT(fs::file_size(frozen), bytes.size() / 2);
  Options of_frozen;
  of_frozen.model = frozen;
  EXPECT_TRUE(tf2onnx::convert_file_to_memory(of_frozen, again).ok());
  fs::remove(frozen);
}

// Messages that differ in names and numbers have one cause.
TEST(Library, MessagesThatAreAlikeAreCounted) {
  tf2onnx::Result result;
  for (int i = 0; i < 25; ++i) {
    const std::string n = std::to_string(i);
    result.diagnostics.push_back({tf2onnx::Severity::error, "unsupported-op", "the graph's size " + n + " of 'a" + n + "' is odd", "", "n" + n, "Foo", ""});
    result.diagnostics.push_back({tf2onnx::Severity::warning, "unsupported-op", "other", "", "n" + n, i < 12 ? "Foo" : "Bar", ""});
  }
  const std::string text = to_string(result);
  EXPECT_NE(text.find("  and 15 more errors like this of Foo\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  and 2 more warnings like this of Foo\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  and 3 more warnings like this of Bar\n"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 33) << text;
}

TEST(Library, StandardOutputIsTheHosts) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path(), dir = fs::temp_directory_path() / ("t2o_host_" + std::to_string(getpid()));
  fs::create_directory(dir);
  fs::current_path(dir);
  Options o;
  o.model = T2O_SOURCE_DIR "/models/mnist_frozen.pb";
  testing::internal::CaptureStdout();
  const bool ok = tf2onnx::convert_file(o, "-").ok();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(ok && fs::file_size("-") > 0);
  fs::current_path(before);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace t2o
