// Weights in a file beside the model.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "diagnostics.h"
#include "pipeline.h"
#include "tflite/model.h"

namespace t2o::tflite {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class TfliteWeightFiles : public testing::Test {
 protected:
  TfliteWeightFiles() {
    fs::create_directories(folder_);
    model_ = read(sample_ / "weights_beside.tflite");
    weights_ = read(sample_ / "weights_beside.bin");
  }
  ~TfliteWeightFiles() override { fs::remove_all(folder_); }

  // The first error of the conversion; "" if there is none.
  std::string error() const {
    std::ofstream(folder_ / "m.tflite", std::ios::binary) << model_;
    if (!weights_.empty()) std::ofstream(folder_ / "weights_beside.bin", std::ios::binary) << weights_;
    Options o;
    o.model = (folder_ / "m.tflite").string();
    const Conversion c = convert(o);
    for (const Diagnostic& d : c.diagnostics)
      if (d.severity == Severity::error) return to_string(d);
    return "";
  }
  void replace(const std::string& from, const std::string& to) {
    ASSERT_EQ(from.size(), to.size());
    const std::size_t at = model_.find(from);
    ASSERT_NE(at, std::string::npos);
    model_.replace(at, from.size(), to);
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  const fs::path sample_ = T2O_SOURCE_DIR "/tests/data/tflite", folder_ = fs::path(::testing::TempDir()) / "tflite_weight_files";
  std::string model_, weights_;
};

TEST_F(TfliteWeightFiles, AreMapped) {
  EXPECT_EQ(error(), "");
  const ModelPtr m = Model::open((folder_ / "m.tflite").string());
  const TensorPtr first = m->constant(m->tensor(0, m->subgraph(0).operators()->Get(0)->inputs()->Get(1)));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->dims(), (Ints{16, 8}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(first->bytes().data()), first->byte_size()), weights_.substr(0, 512));
}

TEST_F(TfliteWeightFiles, AreNotOverwritten) {
  EXPECT_EQ(error(), "");
  const std::string weights = (folder_ / "weights_beside.bin").string();
  Options o;
  o.model = (folder_ / "m.tflite").string();
  const Diagnostics found = write_model(convert(o), o, weights);
  ASSERT_TRUE(has_errors(found));
  EXPECT_TRUE(has(found[0].message, "holds weights of the model"));
  EXPECT_EQ(read(weights), weights_);
}

TEST_F(TfliteWeightFiles, AFileThatIsNotThere) {
  weights_.clear();
  EXPECT_TRUE(has(error(), "weights_beside.bin, which is not there")) << error();
}

TEST_F(TfliteWeightFiles, AFileThatEndsEarly) {
  weights_.resize(600);
  EXPECT_TRUE(has(error(), "weights_beside.bin")) << error();
  EXPECT_TRUE(has(error(), "end beyond")) << error();
}

TEST_F(TfliteWeightFiles, AFileElsewhere) {
  replace("weights_beside.bin", "../../ghts_bes.bin");
  EXPECT_TRUE(has(error(), "is not in the folder of the model")) << error();
  replace("../../ghts_bes.bin", "/etc/passwd/////./");
  EXPECT_TRUE(has(error(), "is not in the folder of the model")) << error();
}

TEST_F(TfliteWeightFiles, WeightsThatArePacked) {
  replace("unpacked", "squeezed");
  EXPECT_TRUE(has(error(), "packed as 'squeezed'")) << error();
}

TEST_F(TfliteWeightFiles, AModelInMemory) {
  Options o;
  o.format = tf2onnx::Format::tflite;
  const Conversion c = convert(o, std::as_bytes(std::span(model_)));
  ASSERT_FALSE(c.ok());
  EXPECT_TRUE(has(to_string(c.diagnostics[0]), "a model in memory has no folder")) << to_string(c.diagnostics[0]);
}

}  // namespace
}  // namespace t2o::tflite
