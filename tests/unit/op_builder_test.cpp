#include "tf/op_builder.h"

#include <gtest/gtest.h>

#include "diagnostics.h"

namespace t2o::tf {
namespace {

class OpBuilder : public testing::Test {
 protected:
  Value* input(DType t, Ints dims = {2}) { return g_.add_input("x" + std::to_string(g_.inputs().size()), t, Shape(std::move(dims))); }
  const ir::Node& add(ir::NodeSpec spec) { return g_.add(std::move(spec)); }
  ir::Graph g_;
};

TEST_F(OpBuilder, TypesFollowFromTheInputs) {
  const ir::Node& n = add(op_spec("GatherV2", {input(DType::f16), input(DType::i64), input(DType::i32, {})}, {}, {Shape(Ints{3})}));
  EXPECT_EQ(*n.attr_if<DType>("Tparams"), DType::f16);
  EXPECT_EQ(*n.attr_if<DType>("Tindices"), DType::i64);
  EXPECT_EQ(*n.attr_if<DType>("Taxis"), DType::i32);
  EXPECT_EQ(*n.attr_if<std::int64_t>("batch_dims"), 0) << "its default";
  EXPECT_EQ(n.output()->dtype(), DType::f16);
  EXPECT_EQ(n.output()->shape(), Shape(Ints{3}));
}

TEST_F(OpBuilder, ListsHaveTheirNumber) {
  const ir::Node& n = add(op_spec("ConcatV2", {input(DType::f32), input(DType::f32), input(DType::f32), input(DType::i32, {})}));
  EXPECT_EQ(*n.attr_if<std::int64_t>("N"), 3);
  EXPECT_FALSE(n.output()->shape().ranked());
  const ir::Node& identities = add(op_spec("IdentityN", {input(DType::f32), input(DType::boolean)}));
  ASSERT_EQ(identities.outputs().size(), 2u);
  EXPECT_EQ(identities.output(1)->dtype(), DType::boolean);
  const ir::Node& split = add(op_spec("Split", {input(DType::i32, {}), input(DType::f64)}, {{"num_split", std::int64_t{4}}}));
  EXPECT_EQ(split.outputs().size(), 4u);
}

TEST_F(OpBuilder, RefusesWhatTheDeclarationDoesNotAllow) {
  EXPECT_THROW(op_spec("NoSuchOp", {}), ConversionError);
  EXPECT_THROW(op_spec("Add", {input(DType::f32)}), ConversionError) << "an input is missing";
  EXPECT_THROW(op_spec("Neg", {input(DType::f32), input(DType::f32)}), ConversionError) << "one is too many";
  EXPECT_THROW(op_spec("Add", {input(DType::f32), input(DType::f64)}), ConversionError) << "two types";
  EXPECT_THROW(op_spec("LogicalNot", {input(DType::f32)}), ConversionError) << "another type";
  EXPECT_THROW(op_spec("Split", {input(DType::i32, {}), input(DType::f64)}), ConversionError) << "num_split has no default";
  EXPECT_THROW(op_spec("Neg", {input(DType::f32)}, {{"axis", std::int64_t{1}}}), ConversionError) << "no such attribute";
}

// A damaged model may leave the type of a tensor open. That is no mistake of the program.
TEST_F(OpBuilder, InputsWithoutAType) {
  for (const Values& inputs : {Values{input(DType::f32), input(DType::undefined)}, Values{input(DType::undefined), input(DType::f32)}}) {
    try {
      op_spec("AddV2", inputs);
      ADD_FAILURE() << "no error";
    } catch (const ConversionError& e) {
      EXPECT_EQ(e.diagnostic().code, Code::bad_model) << e.what();
    }
  }
}

}  // namespace
}  // namespace t2o::tf
