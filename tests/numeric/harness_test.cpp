// The harness itself, on a handful of ops that every version of the converter knows.
#include "harness.h"

#include <gtest/gtest.h>

namespace t2o::numeric {
namespace {

TEST(Harness, RunsAnOpInAllModesAndDtypes) {
  op_case("Relu").in(any, {2, 3}).dtypes({f32, f64, f16}).empty().nan_inf().check();
}

TEST(Harness, FeedsConstants) {
  op_case("Conv2D")
      .in(f32, {1, 8, 8, 4})
      .in(f32, {3, 3, 4, 6}, constant)
      .attr("strides", Ints{1, 1, 1, 1})
      .attr("padding", "SAME")
      .check();
}

TEST(Harness, GroupsListInputs) {
  op_case("ConcatV2").in(f32, {2, 3}).in(f32, {2, 5}).as_list(2).scalar<std::int32_t>(1).check();
}

TEST(Harness, BuildsGraphs) {
  graph_case("residual", [](Builder& b) {
    const std::string x = b.input(f32, {2, 4});
    const std::string product = b.op("MatMul", {x, b.const_input(f32, {4, 4})});
    b.output(b.op("AddV2", {x, b.op("Relu", {product})}));
  }).check();
}

TEST(Harness, ExpectsRefusals) {
  op_case("Conv2D")
      .in(f32, {1, 8, 8, 4})
      .in(f32, {3, 3, 4, 6}, constant)
      .attr("strides", Ints{2, 1, 1, 1})
      .attr("padding", "SAME")
      .refuses(Code::unsupported_attr, "strides")
      .check();
}

}  // namespace
}  // namespace t2o::numeric
