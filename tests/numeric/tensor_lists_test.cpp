#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "harness.h"

namespace t2o::numeric {
namespace {

// A graph of tests/data/tensor_lists, made by tf.function or by TensorFlow 1, fed with "x" and, where it has
// it, "y".
void check_file(const std::string& name, const Ints& dims, const Strings& outputs,
                const Strings& inputs = {"x"}, const std::set<Mode>& without = {Mode::rank}) {
  const std::string path = std::string(T2O_SOURCE_DIR "/tests/data/tensor_lists/") + name + ".pb";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_FALSE(bytes.empty()) << path;
  graph_case(name,
             [=](Builder& b) {
               engines::TfGraph::InputMap map;
               for (const std::string& input : inputs) map.emplace_back(input, b.input(DType::f32, dims));
               b.graph().import(std::as_bytes(std::span(bytes)), "g", map);
               for (const std::string& output : outputs) b.output("g/" + output);
             })
      .only_opsets({11, 13, 18, 21, 26})
      .without(without)
      .check();
}

TEST(TensorLists, ReadAndWrittenInEachRound) {
  check_file("map2", {4, 3}, {"Identity", "Identity_1"}, {"x", "y"});
  check_file("scan", {4, 3}, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) check_file("nested", dims, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) check_file("ta_short", dims, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) check_file("tf1_nested", dims, {"Identity"});
}

TEST(TensorLists, Carried) {
  for (const char* file : {"ta_dp", "ta_rev", "nestedta", "tf1_rev", "tf1_two"})
    for (const Ints& dims : {Ints{4, 3}, Ints{2, 1}}) check_file(file, dims, {"Identity"});
  check_file("ta_break", {4, 3}, {"Identity", "Identity_1"});
  check_file("ta_cond", {6, 3}, {"Identity"});
  check_file("tf1_cond", {6, 3}, {"Identity", "Identity_1"});
  check_file("tf1_dp", {4, 3}, {"Identity", "Identity_1", "Identity_2"});
}

TEST(TensorLists, OutsideOfLoops) {
  check_file("if", {4, 3}, {"Identity"});
  check_file("raw", {4, 3}, {"Identity", "Identity_1", "Identity_2", "Identity_3"});
  // With unknown sizes it is refused.
  check_file("concat", {4, 3}, {"Identity"}, {"x"}, {Mode::dims, Mode::rank});
}

}  // namespace
}  // namespace t2o::numeric
