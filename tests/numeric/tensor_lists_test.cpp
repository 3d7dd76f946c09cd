#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "harness.h"

namespace t2o::numeric {
namespace {

// A graph of tests/data/tensor_lists, made by tf.function or by TensorFlow 1, fed with "x" and, where it has
// it, "y".
void check_file(const std::string& name, const Ints& dims, const Strings& outputs,
                const Strings& inputs = {"x"}, const std::set<Mode>& without = {Mode::rank},
                const std::vector<int>& opsets = {11, 13, 18, 21, 26}) {
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
      .only_opsets(opsets)
      .without(without)
      .check();
}

// Elements of different sizes, which need sequences.
void check_sizes(const std::string& name, std::size_t outputs, const std::vector<Ints>& all_dims) {
  Strings names{"Identity"};
  for (std::size_t i = 1; i < outputs; ++i) names.push_back("Identity_" + std::to_string(i));
  for (const Ints& dims : all_dims) check_file(name, dims, names, {"x"}, {Mode::rank}, {18, 21, 26});
}

TEST(TensorLists, ReadAndWrittenInEachRound) {
  check_file("map2", {4, 3}, {"Identity", "Identity_1"}, {"x", "y"});
  check_file("scan", {4, 3}, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) check_file("nested", dims, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) check_file("ta_short", dims, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) check_file("tf1_nested", dims, {"Identity"});
}

// What a loop writes behind or before what is there already, or from the end on.
TEST(TensorLists, WrittenElsewhereThanFromTheFront) {
  for (const char* file : {"scan_first", "scan_reverse"})  // TensorFlow's need a first element
    for (const Ints& dims : {Ints{5, 3}, Ints{2, 3}, Ints{1, 3}}) check_file(file, dims, {"Identity"});
  for (const char* file : {"scan_reverse_from", "shifted"})
    for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) check_file(file, dims, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}}) check_file("back", dims, {"Identity"});
  for (const Ints& dims : {Ints{5, 3}, Ints{2, 3}, Ints{1, 3}})
    check_file("from_second", dims, {"Identity", "Identity_1"});
}

TEST(TensorLists, WrittenUntilSomethingElseStops) {
  for (const Ints& dims : {Ints{9, 3}, Ints{1, 3}, Ints{0, 3}})
    check_file("stops", dims, {"Identity", "Identity_1", "Identity_2"});
}

TEST(TensorLists, GrownByALoop) {
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}})
    check_file("grown", dims, {"Identity", "Identity_1"});
  for (const Ints& dims : {Ints{4, 3}, Ints{2, 3}, Ints{1, 3}}) check_file("longer", dims, {"Identity"});
}

TEST(TensorLists, Carried) {
  for (const char* file : {"ta_dp", "ta_rev", "nestedta", "tf1_rev", "tf1_two"})
    for (const Ints& dims : {Ints{4, 3}, Ints{2, 1}}) check_file(file, dims, {"Identity"});
  check_file("ta_break", {4, 3}, {"Identity", "Identity_1"});
  check_file("ta_cond", {6, 3}, {"Identity"});
  check_file("tf1_cond", {6, 3}, {"Identity", "Identity_1"});
  check_file("tf1_dp", {4, 3}, {"Identity", "Identity_1", "Identity_2"});
}

TEST(TensorLists, OfComplexNumbers) {
  for (const char* file : {"complex_scan", "complex_array"}) check_file(file, {4, 8}, {"Identity"});
  for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}}) check_file("complex_cell", dims, {"Identity", "Identity_1"});
  for (const Ints& dims : {Ints{3, 3}, {4, 3}, {1, 3}})
    check_file("complex_branches", dims, {"Identity", "Identity_1", "Identity_2", "Identity_3"});
  check_file("complex_map", {4, 8}, {"Identity"}, {"x"}, {Mode::dims, Mode::rank});
}

// tf.map_fn over the rows of ragged tensors.
TEST(TensorLists, RaggedRows) {
  for (const char* file : {"ragged_rows", "ragged_deep", "ragged_results"}) check_file(file, {6, 3}, {"Identity", "Identity_1"});
}

TEST(TensorLists, OutsideOfLoops) {
  check_file("if", {4, 3}, {"Identity"});
  check_file("raw", {4, 3}, {"Identity", "Identity_1", "Identity_2", "Identity_3"});
  // With unknown sizes it is refused.
  check_file("concat", {4, 3}, {"Identity"}, {"x"}, {Mode::dims, Mode::rank});
}

TEST(TensorLists, ElementsOfDifferentSizes) {
  const std::vector<Ints> some = {{4, 3}, {2, 3}, {1, 3}}, also_none = {{4, 3}, {1, 3}, {0, 3}};
  check_sizes("sizes_in_order", 3, some);
  check_sizes("sizes_read", 2, also_none);
  check_sizes("sizes_grown", 3, also_none);
  check_sizes("sizes_branches", 3, some);
  check_sizes("sizes_nested", 2, also_none);
  check_sizes("sizes_pushed", 5, {{4, 3}, {2, 3}});
  check_sizes("sizes_split", 4, some);
  check_sizes("sizes_stacked_once", 3, some);
  check_sizes("sizes_types", 10, some);
  check_sizes("sizes_bfloat16", 5, some);
  check_sizes("sizes_gradient", 1, some);
  check_sizes("tf1_sizes", 5, some);
}

// The graph shows that the elements have one size: they are one tensor, at any opset.
TEST(TensorLists, ElementsOfOneUnknownSize) {
  for (const Ints& dims : {Ints{4, 3}, Ints{2, 3}}) check_file("sizes_alike", dims, {"Identity", "Identity_1"});
}

// Cells whose rows are weighted in front of the loop; also of no steps and of one.
TEST(TensorLists, Cells) {
  for (const char* file : {"cell_plain", "cell_joined", "cell_gated"})
    for (const Ints& dims : {Ints{4, 3}, Ints{1, 3}, Ints{0, 3}}) {
      // TensorFlow's list that was never written is zeros, or nothing.
      check_file(file, dims, {"Identity", "Identity_1"});
    }
}

const std::vector<TfAttr> kFloats = {{"element_dtype", f32}};

std::string stacked(Builder& b, const std::string& list, const std::string& shape) {
  return b.op("TensorListStack", {list, shape}, kFloats);
}

TEST(TensorLists, Scattered) {
  for (const std::vector<std::int32_t>& at : {std::vector<std::int32_t>{0, 1, 2}, {4, 0, 2}})
    for (const bool is_known : {true, false})
      graph_case("scatter",
                 [=](Builder& b) {
                   const std::string x = b.input(f32, {3, 2}), z = b.input(f32, {3, 2});
                   const TensorPtr places = Tensor::of<std::int32_t>({3}, at);
                   const std::string k = is_known ? b.const_input(places) : b.input(places);
                   const std::string shape = b.constant_of<std::int32_t>({1}, {2});
                   const std::string first = b.op("TensorListScatter", {x, k, shape}, kFloats);
                   b.output(stacked(b, first, shape));
                   const std::string all = b.const_input(Tensor::scalar<std::int32_t>(-1)),
                                     six = b.const_input(Tensor::scalar<std::int32_t>(6));
                   b.output(stacked(b, b.op("TensorListScatterV2", {x, k, shape, all}, kFloats), shape));
                   const std::string list = b.op("TensorListScatterV2", {x, k, shape, six}, kFloats);
                   b.output(stacked(b,
                                    b.op("TensorListScatterIntoExistingList",
                                         {list, z, b.constant_of<std::int32_t>({3}, {1, 5, 0})}, kFloats),
                                    shape));
                 })
          .only_opsets({11, 13, 18, 26})
          .without({Mode::rank})
          .check();
}

// Each operator that takes or gives elements.
TEST(TensorLists, ComplexElementsInEveryWay) {
  const std::vector<TfAttr> type = {{"element_dtype", c64}};
  graph_case("complex",
             [=](Builder& b) {
               const auto complex = [&](const Ints& dims) {
                 const std::string re = b.input(f32, dims), im = b.input(f32, dims);
                 return b.op("Complex", {re, im}, {{"T", f32}, {"Tout", c64}});
               };
               const auto give = [&](const std::string& z) {
                 b.output(b.op("Real", {z}, {{"T", c64}, {"Tout", f32}}));
                 b.output(b.op("Imag", {z}, {{"T", c64}, {"Tout", f32}}));
               };
               const std::string x = complex({4, 3}), y = complex({3});
               const std::string one = b.constant_of<std::int32_t>({1}, {3}), any = b.constant_of<std::int32_t>({2}, {-1, 3});
               const std::string k = b.const_input(Tensor::scalar<std::int32_t>(1));
               const std::string places = b.constant_of<std::int32_t>({4}, {3, 0, 1, 2});
               const std::string six = b.const_input(Tensor::scalar<std::int32_t>(6));
               const std::string rows = b.op("TensorListFromTensor", {x, one}, type);
               give(b.op("TensorListGetItem", {rows, k, one}, type));
               const std::string set = b.op("TensorListSetItem", {rows, k, y}, type);
               const std::string pushed = b.op("TensorListPushBack", {set, y}, type);
               give(b.op("TensorListStack", {pushed, one}, type));
               give(b.op("TensorListGather", {pushed, places, one}, type));
               give(b.op("TensorListPopBack", {pushed, one}, type) + ":1");
               const std::string old = b.op("TensorListScatter", {x, places, one}, type);
               give(b.op("TensorListStack", {old, one}, type));
               const std::string wide = b.op("TensorListScatterV2", {x, places, one, six}, type);
               const std::string both = b.op("TensorListScatterIntoExistingList", {wide, x, places}, type);
               give(b.op("TensorListStack", {both, one}, type));
               const std::string halves =
                   b.op("TensorListSplit", {x, any, b.constant_of<std::int64_t>({2}, {2, 2})}, type);
               give(b.op("TensorListConcatV2", {halves, any, b.constant_of<std::int64_t>({0}, {})}, type));
               give(b.op("TensorListConcat", {halves}, {{"element_dtype", c64}, {"element_shape", Shape({2, 3})}}));
             })
      .only_opsets({11, 13, 18, 26})
      .without({Mode::rank})
      .check();
}

TEST(TensorLists, SplitAndJoined) {
  graph_case("split",
             [](Builder& b) {
               const std::string x = b.input(f32, {4, 3}), y = b.input(f32, {2, 3});
               const std::string part = b.constant_of<std::int32_t>({2}, {-1, 3}),
                                 two = b.constant_of<std::int32_t>({2}, {2, 3});
               const std::string halves =
                   b.op("TensorListSplit", {x, part, b.constant_of<std::int64_t>({2}, {2, 2})}, kFloats);
               b.output(stacked(b, halves, two));
               const std::string none =
                   b.op("EmptyTensorList", {part, b.const_input(Tensor::scalar<std::int32_t>(5))}, kFloats);
               const std::string one = b.op("TensorListPushBack", {none, y}, kFloats);
               const std::string both = b.op("TensorListConcatLists", {halves, one}, kFloats);
               b.output(stacked(b, both, two));
               b.output(b.op("TensorListElementShape", {one}, {{"shape_type", i32}}));
               b.output(b.op("TensorListElementShape", {none}, {{"shape_type", i64}}));
               const std::string rows = b.op("TensorListConcat", {both},
                                             {{"element_dtype", f32}, {"element_shape", Shape({2, 3})}});
               b.output(rows);
               b.output(rows + ":1");
             })
      .only_opsets({11, 13, 18, 26})
      .without({Mode::rank})
      .check();
}

}  // namespace
}  // namespace t2o::numeric
