#include "cli/usage.h"

#include <nlohmann/json.hpp>

namespace t2o::test {
namespace {

using Json = nlohmann::json;

TEST_F(Usage, Info) {
  const Finished f = run({"info", model_});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_TRUE(has(f.out, "Relu")) << f.out;
  EXPECT_TRUE(has(f.out, "all ops are supported")) << f.out;
  const std::string other = dir_.file("other.pb", graph_def({placeholder("x"), unary("y", "NoSuchOp", "x")}));
  const Finished g = run({"info", other, "--json", "--opset", "13"});
  EXPECT_EQ(g.exit_code, 0) << g.err;
  EXPECT_EQ(Json::parse(g.out)["unsupported"][0]["op"], "NoSuchOp");
  EXPECT_EQ(Json::parse(g.out)["unsupported"][0]["reason"], "this operation is not supported");
  EXPECT_TRUE(has(run({"info", other}).out, "NoSuchOp (1 node): this operation is not supported"));
  const Finished kept = run({"info", other, "--custom-ops", "NoSuchOp"});
  EXPECT_TRUE(has(kept.out, "all ops are supported")) << kept.out;
  EXPECT_EQ(run({"info", other, "--custom-ops", ":x"}).exit_code, kUsage);
  EXPECT_EQ(run({"info", "missing.pb"}).exit_code, 4);
}

TEST_F(Usage, InfoTellsTheSignaturesBeforeOneIsChosen) {
  const auto tensor = [](int map, const std::string& key, const std::string& name) { return bytes(map, bytes(1, key) + bytes(2, bytes(1, name) + number(2, kFloat) + bytes(3, number(3, 1)))); };
  const auto signature = [&](const std::string& name, const std::string& in) { return bytes(5, bytes(1, name) + bytes(2, tensor(1, in, "x:0") + tensor(2, "result", "y:0"))); };
  const auto saved_model = [](const std::string& signatures) { return number(1, 1) + bytes(2, bytes(1, bytes(4, "serve")) + bytes(2, relu_model()) + signatures); };
  std::filesystem::create_directory(dir_ / "saved");
  dir_.file("saved/saved_model.pb", saved_model(signature("predict", "image") + signature("embed", "picture")));
  const std::string saved = (dir_ / "saved").string();
  const Finished f = run({"info", saved});
  EXPECT_EQ(f.exit_code, kUsage) << "none is the default";
  for (const char* word : {"signature predict", "signature embed", "image", "picture", "Relu"}) EXPECT_TRUE(has(f.out, word)) << f.out;
  EXPECT_TRUE(has(f.err, "choose one with --signature")) << f.err;
  EXPECT_EQ(Json::parse(run({"info", saved, "--json"}).out)["signatures"].size(), 2u);
  EXPECT_EQ(Json::parse(run({"info", saved, "--json", "--signature", "embde"}).out)["signatures"].size(), 2u);
  const Finished chosen = run({"info", saved, "--signature", "embed"});
  EXPECT_EQ(chosen.exit_code, 0) << chosen.err;
  dir_.file("saved/saved_model.pb", saved_model(""));
  const Finished none = run({"info", saved});
  EXPECT_TRUE(has(none.out, "Relu")) << none.out;
  EXPECT_TRUE(has(none.err, "--inputs and --outputs") && !has(none.err, "--concrete-function")) << none.err;
  dir_.file("saved/saved_model.pb", saved_model(bytes(7, bytes(1, ""))));  // objects, which may have functions
  EXPECT_TRUE(has(run({"info", saved}).err, "choose a function with --concrete-function"));
}

TEST_F(Usage, InfoTellsOfAComplexInterface) {
  constexpr int kComplex64 = 8;
  dir_.file("model.pb", graph_def({node("x", "Placeholder", {}, {type_attr("dtype", kComplex64), shape_attr("shape", {2})}),
                                   node("y", "ComplexAbs", {"x"}, {type_attr("T", kComplex64), type_attr("Tout", kFloat)})}));
  const Finished f = run({"info", model_});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_TRUE(has(f.err, "warning") && has(f.err, "'x:0' is complex") && has(f.err, "--complex-as-pairs")) << f.err;
  EXPECT_TRUE(has(f.out, "but not the interface")) << f.out;
  EXPECT_EQ(run({"info", model_, "--complex-as-pairs"}).err, "");
}

// All sample models: SavedModels, GraphDefs, MetaGraphs, TensorFlow Lite models.
std::vector<std::string> sample_models() {
  std::vector<std::string> models;
  for (const char* folder : {"models", "tests/data"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(T2O_SOURCE_DIR "/") + folder)) {
      const std::filesystem::path& p = entry.path();
      if (p.filename() == "saved_model.pb" || p.filename() == "saved_model.pbtxt") models.push_back(p.parent_path().string());
      else if (p.extension() == ".pb" || p.extension() == ".pbtxt" || p.extension() == ".meta" || p.extension() == ".tflite") models.push_back(p.string());
    }
  return models;
}

TEST_F(Usage, InfoSaysWhatConvertDoes) {
  int converted = 0;
  for (const std::string& model : sample_models()) {
    SCOPED_TRACE(model);
    const Finished told = run({"info", model, "--complex-as-pairs", "--json"});
    const Finished done = run({model, "-o", (dir_ / "out.onnx").string(), "--complex-as-pairs", "--json"});
    const Json info = Json::parse(told.out), conversion = Json::parse(done.out);
    const bool supported = told.exit_code == 0 && info["unsupported"].empty();
    EXPECT_EQ(supported, done.exit_code == 0) << told.out << done.out;
    if (done.exit_code != 0) continue;
    ++converted;
    const auto of_floats = [](const Json& list) {  // info shows complex tensors as the model has them
      for (const Json& t : list)
        if (t["dtype"].get<std::string>().starts_with("c")) return false;
      return true;
    };
    if (!of_floats(info["inputs"]) || !of_floats(info["outputs"])) continue;
    EXPECT_EQ(info["inputs"], conversion["inputs"]);
    EXPECT_EQ(info["outputs"], conversion["outputs"]);
  }
  EXPECT_GT(converted, 60);
}

// A frozen graph does not state the shape of the tensor at which it is cut.
TEST_F(Usage, InfoKnowsTheShapeAtACutAsConvertDoes) {
  const std::string model = T2O_SOURCE_DIR "/models/mnist_frozen.pb";
  const Json info = Json::parse(run({"info", model, "--inputs", "MaxPool2d_1:0", "--json"}).out);
  const Json done = Json::parse(run({model, "-o", (dir_ / "out.onnx").string(), "--inputs", "MaxPool2d_1:0", "--json"}).out);
  EXPECT_EQ(info["inputs"][0]["shape"].size(), 4u) << info;
  EXPECT_EQ(info["inputs"], done["inputs"]);
  EXPECT_EQ(info["outputs"], done["outputs"]);
}

TEST_F(Usage, InfoRefusesAListAsAnInput) {
  const std::string model = T2O_SOURCE_DIR "/tests/data/tensor_lists/concat.pb";
  const Finished f = run({"info", model, "--outputs", "TensorListConcatV2/element_shape:0", "--inputs", "TensorArrayV2:0[2,-1]", "--json"});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(Json::parse(f.out)["unsupported"].size(), 1u) << f.out;
}

// What only a mapper sees is refused in info too.
TEST_F(Usage, InfoKnowsWhatAMapperRefuses) {
  dir_.file("model.pb", graph_def({placeholder("x"), node("z", "AudioSpectrogram", {"x"}, {int_attr("window_size", 1 << 30), int_attr("stride", 1 << 30)})}));
  const Json info = Json::parse(run({"info", model_, "--outputs", "z:0", "--json"}).out);
  const Finished refusal = run({model_, "-o", (dir_ / "out.onnx").string(), "--outputs", "z:0"});
  ASSERT_EQ(info["unsupported"].size(), 1u) << info;
  EXPECT_TRUE(has(refusal.err, info["unsupported"][0]["reason"].get<std::string>())) << refusal.err;
}

}  // namespace
}  // namespace t2o::test
