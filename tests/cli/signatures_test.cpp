#include <nlohmann/json.hpp>

#include "cli/usage.h"

namespace t2o::test {
namespace {

using Json = nlohmann::json;

const std::string kModel = T2O_SOURCE_DIR "/tests/data/signatures";

std::set<std::string> files_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& e : std::filesystem::directory_iterator(folder)) names.insert(e.path().filename().string());
  return names;
}

TEST_F(Usage, SeveralSignaturesShareTheirWeights) {
  const std::filesystem::path out = dir_ / "signatures";
  std::filesystem::create_directory(out);
  const Finished f = run({kModel, "--signature", "all", "-o", (out / "m.onnx").string(), "--json", "-v"});
  ASSERT_EQ(f.exit_code, 0) << f.err;
  EXPECT_TRUE(has(f.out, "'reset' has no outputs")) << f.out;
  EXPECT_EQ(files_in(out), (std::set<std::string>{"m.encode.onnx", "m.glance.onnx", "m.look.onnx", "m.project.onnx", "m.onnx.data"}));
  const Json json = Json::parse(f.out);
  EXPECT_EQ(json["models"].size(), 4u);
  EXPECT_EQ(json["models"][0]["inputs"][0]["name"], "x");
  const std::uintmax_t dense = 48 * 16 * 4, kernel = 3 * 3 * 4 * 16 * 4;
  EXPECT_EQ(std::filesystem::file_size(out / "m.onnx.data"), dense + kernel) << "each once; a transposed kernel too";
  EXPECT_LT(std::filesystem::file_size(out / "m.look.onnx"), kernel);
  EXPECT_GT(std::filesystem::file_size(out / "m.project.onnx"), 16u * 32 * 4) << "its own weights stay in it";
}

TEST_F(Usage, SignaturesHaveThePlaceInTheNameThatIsAskedFor) {
  const std::filesystem::path out = dir_ / "named";
  std::filesystem::create_directory(out);
  const Finished f = run({kModel, "--signature", "encode,project", "-o", (out / "{signature}_v1.onnx").string()});
  ASSERT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(files_in(out), (std::set<std::string>{"encode_v1.onnx", "project_v1.onnx", "shared_v1.onnx.data"}));
}

// A later conversion of fewer signatures replaces the weights that the model of another one reads.
TEST_F(Usage, ModelsWhoseWeightsAreReplacedAreReported) {
  const std::filesystem::path out = dir_ / "stale";
  std::filesystem::create_directory(out);
  const std::string path = (out / "m.onnx").string();
  ASSERT_EQ(run({kModel, "--signature", "all", "-o", path}).exit_code, 0);
  EXPECT_EQ(run({kModel, "--signature", "all", "-o", path, "-q"}).err, "") << "all are replaced";
  const Finished fewer = run({kModel, "--signature", "encode,project", "-o", path});
  EXPECT_EQ(fewer.exit_code, 0);
  for (const char* model : {"m.look.onnx", "m.glance.onnx"}) EXPECT_TRUE(has(fewer.err, model)) << fewer.err;
  EXPECT_FALSE(has(fewer.err, "'m.encode.onnx' reads"));
  const Finished single = run({kModel, "--signature", "project", "-o", path, "--external-data"});
  EXPECT_TRUE(has(single.err, "m.encode.onnx") && has(single.err, "has replaced")) << single.err;
}

TEST_F(Usage, NoModelIsWrittenIfASignatureIsRefused) {
  const std::filesystem::path out = dir_ / "refused";
  std::filesystem::create_directory(out);
  const std::string path = (out / "m.onnx").string();
  const auto fails = [&](std::vector<std::string> options, const std::vector<std::string>& words) {
    options.insert(options.begin(), kModel);
    const Finished f = run(options);
    EXPECT_NE(f.exit_code, 0);
    for (const std::string& word : words) EXPECT_TRUE(has(f.err, word)) << word << " in " << f.err;
    EXPECT_TRUE(files_in(out).empty());
  };
  fails({"--signature", "encode,nowhere", "-o", path}, {"signature 'nowhere'", "encode"});
  fails({"--signature", "encode,reset", "-o", path}, {"'reset' has no outputs"});
  fails({"--signature", "encode,look", "-o", path, "--inputs", "x"}, {"--inputs is for one signature"});
  fails({"--signature", "encode,look", "-o", path, "--output-frozen-graph", "f.pb"}, {"--output-frozen-graph is for one"});
  fails({"--signature", "encode,look", "-o", (out / "{signature}/m.onnx").string()}, {"the file's name, not its folder's"});
  fails({"--signature", "encode,look", "-o", "-"}, {"standard output"});
  fails({"--signature", "encode,look", "-o", out.string() + "/"}, {"is a directory"});
  std::filesystem::create_symlink(out / "same.onnx", out / "m.encode.onnx");
  std::filesystem::create_symlink(out / "same.onnx", out / "m.look.onnx");
  const Finished linked = run({kModel, "--signature", "encode,look", "-o", path});
  EXPECT_TRUE(linked.exit_code == kUsage && has(linked.err, "another file of this conversion")) << linked.err;
}

}  // namespace
}  // namespace t2o::test
