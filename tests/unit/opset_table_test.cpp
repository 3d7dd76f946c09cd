#include "onnx/opset_table.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include "diagnostics.h"

namespace t2o::onnx {
namespace {

TEST(OpsetTable, HasEveryOpsetInOrder) {
  ASSERT_EQ(opset_table().size(), static_cast<std::size_t>(kHighestOpset));
  for (int opset = 1; opset <= kHighestOpset; ++opset) {
    EXPECT_EQ(opset_row(opset).opset, opset);
    if (opset == 1) continue;
    EXPECT_GE(opset_row(opset).ir_version, opset_row(opset - 1).ir_version);
    EXPECT_GE(opset_row(opset).ml_opset, opset_row(opset - 1).ml_opset);
  }
}

TEST(OpsetTable, EndsWhereTheLibraryEnds) {
  const auto& ranges = ::onnx::OpSchemaRegistry::DomainToVersionRange::Instance().LastReleaseVersionMap();
  EXPECT_EQ(opset_table().back().opset, ranges.at(""));
  EXPECT_EQ(opset_table().back().ml_opset, ranges.at("ai.onnx.ml"));
  EXPECT_EQ(opset_table().back().ir_version, ::onnx::IR_VERSION);
}

TEST(OpsetTable, StatesTheVersionsOfTheReleases) {
  const int ir[] = {3, 3, 3, 3, 3, 3, 3, 3, 4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14};
  for (const OpsetRow& r : opset_table()) EXPECT_EQ(r.ir_version, ir[r.opset - 1]) << r.opset;
  EXPECT_EQ(opset_row(11).ml_opset, 2);
  EXPECT_EQ(opset_row(16).ml_opset, 3);
  EXPECT_EQ(opset_row(20).ml_opset, 4);
  EXPECT_EQ(opset_row(21).ml_opset, 5);
  EXPECT_EQ(opset_row(17).release, "1.12.0");
}

TEST(OpsetTable, MakesTargets) {
  const Target t = make_target(18);
  EXPECT_EQ(t.opset, 18);
  EXPECT_EQ(t.ml_opset, 3);
  EXPECT_EQ(t.ir_version, 8);
  EXPECT_TRUE(t.for_ort());
  EXPECT_FALSE(make_target(18, "any").for_ort());
}

TEST(OpsetTable, RefusesOthersAndSaysWhichThereAre) {
  for (const int opset : {-1, 0, 10, 29, 1000}) {
    try {
      make_target(opset);
      ADD_FAILURE() << opset;
    } catch (const ConversionError& e) {
      EXPECT_EQ(e.diagnostic().code, Code::bad_option);
      EXPECT_EQ(e.diagnostic().remedy, "choose an opset from 11 to 28");
    }
  }
}

TEST(OpsetTable, PrintsAsMarkdown) {
  const std::string text = opset_table_markdown();
  EXPECT_NE(text.find("| 21 (default) | 10 | 5 | 1.16.0 |"), std::string::npos);
  EXPECT_EQ(text.find("| 10 | 5 |\n"), std::string::npos);
}

}  // namespace
}  // namespace t2o::onnx
