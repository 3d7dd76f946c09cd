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
  EXPECT_TRUE(has(none.err, "--inputs and --outputs")) << none.err;
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

// What a DataFile is for, and whose it is.

}  // namespace
}  // namespace t2o::test
