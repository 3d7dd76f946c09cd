#include <gtest/gtest.h>

#include <cstdlib>

#include "engines/onnxruntime.h"
#include "harness.h"
#include "tests/support/coverage.h"

namespace t2o::numeric {
namespace {

const DTypes kAll = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

Case gathered(Ints params, Ints indices, std::int32_t axis, std::int64_t batch) {
  return op_case("GatherV2").in(f32, std::move(params)).in(i32, std::move(indices)).range(0, 2).scalar<std::int32_t>(axis).attr("batch_dims", batch);
}

TEST(Gather, Axes) {
  op_case("Gather").in(any, {4, 3}).i32s({2, 0, 3}, fed).dtypes(kAll).check();
  op_case("GatherV2").in(any, {4, 3}).i32s({2, 0}).scalar<std::int32_t>(-1).dtypes(kAll).check();
  gathered({3, 4, 3}, {2, 2}, 1, 0).check();
  gathered({3, 4, 3}, {}, 2, 0).check();
  gathered({3, 4, 3}, {0}, 0, 0).check();
  op_case("GatherV2").in(f32, {4, 3}).values<std::int64_t>({2}, {1, 3}).scalar<std::int64_t>(0).check();
  op_case("GatherV2").in(f32, {4, 3}).i32s({1}).scalar<std::int32_t>(0, fed).check();
  op_case("Gather").strings({3}, {"a", "b", "c"}).i32s({2, 0}).check();
}

TEST(Gather, BatchDims) {
  gathered({2, 3, 4}, {2, 5}, 1, 1).since(12).check();
  gathered({2, 3, 4}, {2, 3, 2}, 2, 2).since(12).check();
  gathered({2, 3, 4}, {2}, 1, 1).since(12).check();
  gathered({2, 5, 3, 4}, {2, 2, 3}, 2, 1).since(12).check();
  gathered({2, 5, 4, 3}, {2, 2}, -1, -1).since(12).check();
}

TEST(Gather, BatchDimsByOffsets) {
  gathered({2, 3, 4}, {2, 5}, 1, 1).only_opsets({11}).check();
  gathered({2, 3, 4}, {2, 3, 2}, 2, 2).only_opsets({11}).check();
  gathered({2, 3, 4}, {2}, 1, 1).only_opsets({11}).check();
  gathered({2, 5, 3, 4}, {2, 2, 3}, 2, 1).only_opsets({11}).check();
  gathered({2, 3, 0}, {2, 2}, 1, 1).only_opsets({11}).check();
}

TEST(Gather, RuntimeAxis) {
  const auto along = [](Ints params, Ints indices, std::int32_t axis, std::int64_t batch) {
    return op_case("GatherV2").in(any, std::move(params)).in(i32, std::move(indices)).range(0, 2).scalar(axis, fed).attr("batch_dims", batch);
  };
  for (const std::int32_t axis : {0, 1, -1}) along({3, 4, 3}, {2, 2}, axis, 0).dtypes({f32, i8, boolean}).check();
  along({2, 3, 4}, {}, 1, 0).dtypes(kAll).check();
  along({2, 3, 4}, {0}, 1, 0).dtypes({f32}).check();
  along({2, 5, 3, 4}, {2, 2, 3}, 2, 1).dtypes({f32}).empty().check();
  along({2, 5, 3, 4}, {2, 2, 3}, -2, 1).dtypes({f32}).check();
  along({2, 3, 4}, {2, 3}, 2, 2).dtypes({f32}).check();
  along({2, 3, 4}, {2}, 1, 1).dtypes({f32}).check();
  along({2, 5, 4, 3}, {2, 2}, -1, -1).dtypes({f32}).check();
  op_case("GatherV2").strings({2, 2}, {"a", "b", "c", "d"}).i32s({1}).scalar<std::int32_t>(1, fed).check();
}

TEST(Gather, GatherNd) {
  op_case("GatherNd").in(any, {3, 4}).values<std::int32_t>({2, 2}, {0, 1, 2, 3}).dtypes(kAll).check();
  op_case("GatherNd").in(f32, {3, 4}).values<std::int64_t>({2, 1}, {2, 0}).check();
  op_case("GatherNd").in(f32, {3, 4, 2}).values<std::int32_t>({2}, {1, 3}, constant).check();
  op_case("GatherNd").in(f32, {3, 4}).values<std::int32_t>({1, 1, 2}, {1, 3}).check();
}

TEST(Gather, OneHot) {
  const auto one_hot = [](Ints dims, std::vector<std::int32_t> indices, std::int64_t axis) {
    return op_case("OneHot").values<std::int32_t>(std::move(dims), indices).scalar<std::int32_t>(3).scalar<float>(2.5F)
        .scalar<float>(-1).attr("axis", axis);
  };
  one_hot({5}, {-1, 0, 2, 3, -4}, -1).check();
  one_hot({5}, {-1, 0, 2, 3, -4}, 0).check();
  one_hot({}, {1}, -1).check();
  one_hot({}, {1}, 0).check();
  for (const std::int64_t axis : {0, 1, 2}) one_hot({2, 3}, {-1, 0, 2, 3, 1, 1}, axis).check();
  op_case("OneHot").values<std::int64_t>({3}, {0, 2, -1}).scalar<std::int32_t>(3, fed).values_as(any, {}, {1}, constant)
      .values_as(any, {}, {0}, constant).dtypes(kAll).check();
  op_case("OneHot").values<std::uint8_t>({3}, {0, 2, 255}).scalar<std::int32_t>(300).scalar<float>(1).scalar<float>(0).check();
  op_case("OneHot").values<std::int32_t>({3}, {0, 2, 5}).scalar<std::int32_t>(3).in(f32, {}).in(f32, {}).check();
}

TEST(Gather, Where) {
  op_case("Where").in(any, {3, 4}).range(0, 2).dtypes({f32, f64, i8, u8, i16, i32, i64, boolean}).check();
  op_case("Where").in(boolean, {2, 3, 2}).empty().check();
  op_case("Where").in(boolean, {5}).check();
  op_case("Where").values<double>({3}, {1e-300, 0, -0.0}).check();
  op_case("Where").in(f32, {12}).nan_inf().check();
}

// ONNX Runtime's Gather copies only the first one of each slice of strings.
TEST(Gather, Strings) {
  const Strings x = {"a", "b", "c", "d", "e", "f", "g", "h", "", "j", "k", "l"};
  for (const std::int32_t axis : {0, 1, 2, -1, -2})
    op_case("GatherV2").strings({2, 3, 2}, x).values<std::int32_t>({2, 1}, {1, 0}).scalar(axis).check();
  op_case("GatherV2").strings({2, 3, 2}, x).values<std::int64_t>({}, {1}).scalar<std::int32_t>(0).check();
  op_case("StridedSlice").strings({2, 3, 2}, x).i32s({0, 1}).i32s({2, 2}).i32s({1, 1}).attr("shrink_axis_mask", std::int64_t{2}).check();
  op_case("Unpack").strings({2, 3, 2}, x).attr("axis", std::int64_t{1}).attr("num", std::int64_t{3}).check();
}

// What is gathered from has its value in the checkpoint.
void check_variables(int opset) {
  const std::string folder = T2O_SOURCE_DIR "/tests/data/gathered";
  const engines::Feeds feeds = {{"i", Tensor::of<std::int32_t>({3}, {2, 0, 3})},
                                {"j", Tensor::of<std::int64_t>({2, 2}, {1, 2, 0, 0})}};
  const Strings fetches = {"real_rows", "real_elements", "complex_rows", "complex_elements"};
  auto session = engines::TfSession::load_saved_model(folder, {"serve"});
  const std::vector<TensorPtr> expected = session.run(feeds, fetches);
  Options options;
  options.model = folder;
  options.opset = opset;
  options.complex_as_pairs = true;
  const Conversion c = convert(options);
  std::string model;
  ASSERT_TRUE(c.ok()) << to_string(c.diagnostics.at(0));
  ASSERT_FALSE(has_errors(write_model_bytes(c, options, model)));
  const auto onnx = engines::OrtSession::from_bytes(std::as_bytes(std::span(model)), {});
  const std::vector<TensorPtr> got = onnx.run(feeds, fetches);
  for (std::size_t i = 0; i < fetches.size(); ++i)
    EXPECT_EQ(verify::compare(*verify::complex_as_pairs(expected[i]), *got[i], {0, 0}).problem, "")
        << fetches[i] << " at opset " << opset;
  test::record_coverage(*c.source_graph, opset);
}

TEST(Gather, Variables) {
  if (engines_missing()) return;
  for (const int opset : {11, 12, 18, 26}) check_variables(opset);
}

TEST(Gather, IgnoresBadIndices) {
  op_case("GatherNd").in(any, {3, 4, 2}).values<std::int32_t>({4, 2}, {0, 1, 3, 0, 2, -1, 2, 3}).attr("bad_indices_policy", "IGNORE").dtypes({f32, i32, boolean}).check();
  op_case("GatherNd").in(f32, {3, 4}).values<std::int64_t>({2, 2, 1}, {1, 9, -1, 0}).attr("bad_indices_policy", "IGNORE").check();
  op_case("GatherNd").in(f32, {3, 4}).values<std::int64_t>({2, 2}, {1, 3, 1, 4}).attr("bad_indices_policy", "IGNORE").check();
}

}  // namespace
}  // namespace t2o::numeric
