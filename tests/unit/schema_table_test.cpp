#include "onnx/schema_table.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

namespace t2o::onnx {
namespace {

TEST(SchemaTable, is_what_the_registry_of_onnx_has) {
  const auto all = ::onnx::OpSchemaRegistry::get_all_schemas_with_history();
  std::size_t compared = 0;
  for (const ::onnx::OpSchema& s : all) {
    if (!s.domain().empty() && s.domain() != "ai.onnx.ml") continue;
    const ::onnx::OpSchema* mine = find_schema(s.domain(), s.Name(), s.SinceVersion());
    ASSERT_NE(mine, nullptr) << s.domain() << " " << s.Name();
    EXPECT_EQ(mine->SinceVersion(), s.SinceVersion());
    EXPECT_EQ(mine->inputs().size(), s.inputs().size());
    EXPECT_EQ(mine->min_input(), s.min_input());
    EXPECT_EQ(mine->typeConstraintParams().size(), s.typeConstraintParams().size());
    ++compared;
  }
  EXPECT_GT(compared, 600U);
}

TEST(SchemaTable, an_opset_between_two_versions_has_the_older) {
  EXPECT_EQ(find_schema("", "Abs", 12)->SinceVersion(), 6);
  EXPECT_EQ(find_schema("", "Abs", 28)->SinceVersion(), 13);
  EXPECT_EQ(find_schema("ai.onnx.ml", "LabelEncoder", 5)->SinceVersion(), 4);
}

TEST(SchemaTable, what_does_not_exist) {
  EXPECT_EQ(find_schema("", "Gelu", 19), nullptr);
  EXPECT_EQ(find_schema("", "Zzz", 28), nullptr);
  EXPECT_EQ(find_schema("", "", 28), nullptr);
  EXPECT_EQ(find_schema("ai.onnx.ml", "Abs", 28), nullptr);
  EXPECT_EQ(find_schema("com.microsoft", "Gelu", 1), nullptr);
}

}  // namespace
}  // namespace t2o::onnx
