#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>

#include "pipeline.h"
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
  EXPECT_EQ(r.models[0].bytes, std::filesystem::file_size(folder / "look.onnx"));
  EXPECT_TRUE(r.inputs.empty());
  EXPECT_EQ(r.data_path, "") << "they share no weights";
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
  options.signature = "look,encode";
  const tf2onnx::Result to_memory = tf2onnx::convert_file_to_memory(options, bytes);
  EXPECT_EQ(to_memory.exit_code, 2);
  EXPECT_NE(tf2onnx::to_string(to_memory).find("several models cannot be written to memory"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Api, OneModelIsAmongTheModels) {
  tf2onnx::Options options;
  options.model = T2O_SOURCE_DIR "/tests/data/signatures";
  options.signature = "encode";
  std::string bytes;
  const tf2onnx::Result r = tf2onnx::convert_file_to_memory(options, bytes);
  ASSERT_TRUE(r.ok()) << tf2onnx::to_string(r);
  ASSERT_EQ(r.models.size(), 1u);
  EXPECT_EQ(r.models[0].signature, "");
  EXPECT_EQ(r.models[0].path, "");
  EXPECT_EQ(r.models[0].bytes, bytes.size());
  EXPECT_EQ(r.models[0].inputs.at(0).name, r.inputs.at(0).name);
}

// How often files are opened.
class Openings {
 public:
  explicit Openings(const std::vector<std::string>& files) : fd_(inotify_init1(IN_NONBLOCK)) {
    for (const std::string& f : files) inotify_add_watch(fd_, f.c_str(), IN_OPEN | IN_CLOSE);  // events alike that follow each other are one
  }
  ~Openings() { close(fd_); }
  Openings(const Openings&) = delete;
  Openings& operator=(const Openings&) = delete;
  std::size_t count() const {  // since the last time
    alignas(inotify_event) char events[4096];
    const ssize_t size = read(fd_, events, sizeof events);
    std::size_t n = 0;
    for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(sizeof(inotify_event)))
      n += (reinterpret_cast<const inotify_event*>(events + at)->mask & IN_OPEN) != 0;
    return n;
  }

 private:
  int fd_;
};

TEST(Api, AModelIsOpenedOnceForAllOfItsSignatures) {
  t2o::Options options;
  options.model = T2O_SOURCE_DIR "/tests/data/signatures";
  const Openings openings({options.model + "/saved_model.pb", options.model + "/variables/variables.index"});
  for (const char* signature : {"encode", "encode,look,glance", "all"}) {
    options.signature = signature;
    EXPECT_TRUE(t2o::convert(options).ok());
    EXPECT_EQ(openings.count(), 2u) << signature;
  }
  options.signature = "encode";
  t2o::Diagnostics diagnostics;
  EXPECT_EQ(t2o::inspect(options, diagnostics).signatures.size(), 5u);
  EXPECT_EQ(openings.count(), 2u) << "info";
}

// So the writer need not read it to know that both have it.
TEST(Api, AWeightOfTwoSignaturesIsAtOnePlace) {
  t2o::Options options;
  options.model = T2O_SOURCE_DIR "/tests/data/signatures";
  options.signature = "encode,project";
  const t2o::Conversion c = t2o::convert(options);
  ASSERT_EQ(c.model.graphs.size(), 2u);
  std::vector<std::string> dense;
  for (const t2o::ir::ModelGraph& g : c.model.graphs)
    for (const t2o::Value* v : g.graph->constants())
      if (v->constant()->byte_size() == 48 * 16 * 4) dense.push_back(v->constant()->storage()->identity());
  ASSERT_EQ(dense.size(), 2u);
  EXPECT_EQ(dense[0], dense[1]);
}

}  // namespace
