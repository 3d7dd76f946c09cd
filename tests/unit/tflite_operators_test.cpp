#include <gtest/gtest.h>

#include <algorithm>

#include "tflite/format.h"
#include "tflite/op.h"

namespace t2o::tflite {
namespace {

TEST(TfliteOperators, EachConvertsOrHasItsReason) {
  const std::vector<FormatOp> all = operators();
  EXPECT_EQ(all.size(), 210U);
  for (const FormatOp& o : all) {
    EXPECT_EQ(o.converts, o.reason.empty()) << o.name;
    if (!o.converts) continue;
    const Row& row = *find_row(static_cast<B>(o.number));
    EXPECT_TRUE(row.tf || row.lower) << o.name;
    EXPECT_FALSE(find_refusal(static_cast<B>(o.number))) << o.name;
  }
}

TEST(TfliteOperators, NoneHasTwoRows) {
  std::vector<B> seen;
  for (const auto family : {elementwise_rows(), array_rows(), layer_rows(), control_flow_rows(), quantize_rows(), custom_rows(),
                            state_rows(), recurrent_rows(), lookup_rows(), stablehlo_rows()})
    for (const Row& r : family) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), r.op), 0) << builtin_name(r.op);
      seen.push_back(r.op);
    }
}

}  // namespace
}  // namespace t2o::tflite
