#include "pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

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
    EXPECT_EQ(c.graph->inputs().size(), named ? 1U : 0U);
    EXPECT_TRUE(c.input_defaults.empty());
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
  const Shape& s = c.graph->inputs().at(0)->shape();
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
  EXPECT_EQ(renamed.graph->inputs().at(0)->name(), "pixels");
  EXPECT_EQ(renamed.graph->outputs().at(0)->name(), "z");
  EXPECT_EQ(renamed.graph->outputs().at(0)->shape()[1], 3);
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
