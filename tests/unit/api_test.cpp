#include <gtest/gtest.h>

#include <filesystem>

#include "tf2onnx/tf2onnx.h"

namespace {

TEST(Api, SeveralSignaturesAreSeveralModels) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "api_signatures";
  std::filesystem::create_directories(folder);
  tf2onnx::Options options;
  options.model = T2O_SOURCE_DIR "/tests/data/signatures";
  ASSERT_TRUE(tf2onnx::set_option(options, "signature", "look,encode"));
  const tf2onnx::Result r = tf2onnx::convert_file(options, (folder / "{signature}.onnx").string());
  ASSERT_TRUE(r.ok()) << tf2onnx::to_string(r);
  ASSERT_EQ(r.models.size(), 2u);
  EXPECT_EQ(r.models[0].signature, "look");
  EXPECT_EQ(r.models[0].path, (folder / "look.onnx").string());
  EXPECT_EQ(r.models[0].inputs.at(0).name, "image");
  EXPECT_TRUE(std::filesystem::exists(folder / "encode.onnx"));
  options.signature = "look,nowhere";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const tf2onnx::Result refused = tf2onnx::convert_file(options, (folder / "{signature}.onnx").string());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(refused.models.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::string bytes;
  EXPECT_EQ(tf2onnx::convert_file_to_memory(options, bytes).exit_code, 2) << "bytes are of one model";
  std::filesystem::remove_all(folder);
}

}  // namespace
