#include <gtest/gtest.h>

#include <algorithm>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(Ctc, GreedyDecoder) {
  for (const bool merge : {false, true})
    for (const std::int64_t blank : {-1, 0, 2, -3})
      for (const DType t : {f32, f64})
        for (const Kind kind : {constant, fed})
          op_case("CTCGreedyDecoder")
              .in(t, {9, 4, 3})
              .i32s({9, 3, 0, 5}, kind)
              .attr("merge_repeated", merge)
              .attr("blank_index", blank)
              .check();
  op_case("CTCGreedyDecoder")
      .values<float>({4, 1, 2}, {1, 1, 2, 2, 3, 3, 0, 1})
      .i32s({4})
      .attr("merge_repeated", true)
      .note("equal classes: the first")
      .check();
  op_case("CTCGreedyDecoder").in(f32, {5, 2, 1}).i32s({5, 4}).note("nothing but blanks").check();
}

// Ordered beams are compared, so what they have in common, drop and forget is compared too. Where there are many,
// in f64: in f32 some are alike but for the last digits, which are another machine's own.
TEST(Ctc, BeamSearchDecoder) {
  const std::string op = "CTCBeamSearchDecoder";
  for (const std::int64_t width : {1, 2, 5, 30})
    for (const bool merge : {false, true}) {
      const std::int64_t paths = std::min<std::int64_t>(width, 3);
      op_case(op).in(f32, {9, 4, 4}).range(-4, 4).i32s({9, 3, 5, 4}, fed).attr("beam_width", width).attr("top_paths", paths).attr("merge_repeated", merge).only_opsets({11, 12, 13, 18, 26}).check();
    }
  op_case(op).in(any, {7, 2, 5}).i32s({7, 6}).attr("beam_width", std::int64_t{100}).attr("top_paths", std::int64_t{20}).dtypes({f32, f64}).check();
  op_case(op).in(f64, {40, 3, 6}).range(-9, 9).i32s({40, 31, 40}).attr("beam_width", std::int64_t{12}).attr("top_paths", std::int64_t{12}).attr("merge_repeated", false).only_opsets({11, 18}).note("long ones").check();
  op_case(op).in(f64, {30, 2, 9}).range(-2, 2).i32s({30, 30}).attr("beam_width", std::int64_t{7}).attr("top_paths", std::int64_t{7}).attr("merge_repeated", false).only_opsets({11, 18}).note("much is dropped").check();
  op_case(op).in(f64, {25, 300, 5}).range(-5, 5).values<std::int32_t>({300}, std::vector<std::int32_t>(300, 25)).attr("beam_width", std::int64_t{6}).attr("top_paths", std::int64_t{6}).attr("merge_repeated", false).only_opsets({11, 18}).note("beams that are forgotten where others are").check();
  op_case(op).in(f32, {6, 2, 2}).i32s({6, 1}).attr("beam_width", std::int64_t{4}).attr("top_paths", std::int64_t{2}).note("one label").check();
  op_case(op).in(f32, {5, 2, 1}).i32s({5, 4}).attr("beam_width", std::int64_t{4}).attr("top_paths", std::int64_t{1}).note("nothing but blanks").check();
  op_case(op).in(f32, {5, 2, 3}).i32s({0, 4}).attr("beam_width", std::int64_t{4}).attr("top_paths", std::int64_t{1}).note("a sequence of nothing").check();
}

// Four sequences, of 3, 1, 2 and 2 labels.
Case ctc_loss(DType type, Kind kind) {
  return op_case("CTCLoss")
      .in(type, {9, 4, 4})
      .values<std::int64_t>({8, 2}, {0, 0, 0, 1, 0, 2, 1, 0, 2, 0, 2, 1, 3, 0, 3, 1}, kind)
      .values<std::int32_t>({8}, {1, 1, 2, 2, 1, 2, 2, 2}, kind)
      .i32s({9, 4, 7, 5}, kind)
      .tol(1e-4, 1e-5);
}

TEST(Ctc, Loss) {
  for (const Kind kind : {constant, fed}) {
    for (const DType t : {f32, f64}) ctc_loss(t, kind).check();
    ctc_loss(f32, kind).attr("ctc_merge_repeated", false).check();
  }
  // more labels than steps; three of them, two alike, in three steps are no longer, but impossible
  for (const bool merge : {true, false})
    for (const std::int32_t steps : {2, 3})
      op_case("CTCLoss")
          .in(f32, {3, 2, 3})
          .values<std::int64_t>({4, 2}, {0, 0, 0, 1, 0, 2, 1, 0}, constant)
          .values<std::int32_t>({4}, {0, 0, 1, 1}, constant)
          .i32s({steps, 3})
          .attr("ctc_merge_repeated", merge)
          .attr("ignore_longer_outputs_than_inputs", true)
          .tol(1e-4, 1e-5)
          .check();
  op_case("CTCLoss")
      .in(f32, {5, 2, 3})
      .values<std::int64_t>({4, 2}, {0, 0, 0, 1, 0, 2, 1, 0}, constant)
      .values<std::int32_t>({4}, {0, 2, 2, 1}, constant)
      .i32s({5, 5})
      .tol(1e-4, 1e-5)
      .note("the blank ends the labels")
      .check();
  ctc_loss(f32, constant).attr("preprocess_collapse_repeated", true).refuses(Code::unsupported_attr, "preprocess_collapse_repeated").check();
}

// TensorFlow has a kernel for GPUs alone. Its blank is the first class, that of CTCLoss the last.
TEST(Ctc, LossWithTheFirstClassAsBlank) {
  const auto graph_of = [](bool is_v2) {
    engines::TfGraph g;
    std::string x = g.placeholder("x", f32, Shape({7, 2, 4}));
    const std::string at = g.constant("at", Tensor::of<std::int64_t>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}));
    std::string labels = g.constant("labels", Tensor::of<std::int32_t>({4}, {1, 2, 3, 3}));
    const std::string lengths = g.constant("lengths", Tensor::of<std::int32_t>({2}, {7, 5}));
    if (!is_v2) {
      const std::string one = g.constant("one", Tensor::scalar<std::int32_t>(1)),
                        back = g.constant("back", Tensor::scalar<std::int32_t>(-1));
      const std::string axis = g.constant("axis", Tensor::scalar<std::int32_t>(2));
      x = g.add({"Roll", "rolled", {x, back, axis}});
      labels = g.add({"Sub", "less", {labels, one}});
    }
    g.add({"Identity", "y", {g.add({is_v2 ? "CTCLossV2" : "CTCLoss", "loss", {x, at, labels, lengths}})}});
    return g;
  };
  verify::Random random(7);
  check_against(graph_of(false), graph_of(true), {{"x", verify::random_tensor(f32, {7, 2, 4}, random, {})}},
                {11, 18, 21});
}

}  // namespace
}  // namespace t2o::numeric
