#include <gtest/gtest.h>

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

}  // namespace
}  // namespace t2o::numeric
