#include "onnx/op_traits.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <set>
#include <string>

#include "onnx/opset_table.h"
#include "onnx/schema_table.h"

namespace t2o::onnx {
namespace {

// Operators of which no trait is true. A new one of ONNX is decided upon: it is put here, or gets its row.
const std::set<std::string> kWithoutTraits = {
    "AffineGrid", "Attention", "Bernoulli", "BlackmanWindow", "Col2Im", "ConcatFromSequence", "Constant", "ConstantOfShape", "DFT", "Det", "Dropout",
    "DynamicQuantizeLinear", "Einsum", "EyeLike", "GRU", "Gemm", "HammingWindow", "HannWindow", "If", "ImageDecoder", "LSTM", "LayerNormalization",
    "LinearAttention", "Loop", "MatMulInteger", "MelWeightMatrix", "Multinomial", "NegativeLogLikelihoodLoss", "NonMaxSuppression", "NonZero", "OneHot",
    "Optional", "OptionalGetElement", "OptionalHasElement", "QLinearMatMul", "RMSNormalization", "RNN", "RandomNormal", "RandomNormalLike",
    "RandomUniform", "RandomUniformLike", "Range", "RegexFullMatch", "RotaryEmbedding", "STFT", "Scan", "ScatterElements", "ScatterND", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "Shape", "Size", "SoftmaxCrossEntropyLoss", "SplitToSequence",
    "StringConcat", "StringNormalizer", "StringSplit", "SwiGLU", "TfIdfVectorizer", "Unique"};

std::set<std::string> operators() {
  std::set<std::string> names;
  for (const ::onnx::OpSchema& s : ::onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const ::onnx::OpSchema* newest = s.domain().empty() ? find_schema("", s.Name(), kHighestOpset) : nullptr;
    if (newest && !newest->Deprecated()) names.insert(s.Name());
  }
  return names;
}

TEST(OpTraits, each_operator_of_onnx_has_some_or_is_known_to_have_none) {
  const auto all = operators();
  EXPECT_GT(all.size(), 190U);
  for (const std::string& op : all) {
    const bool some = traits_of(op) != Trait{};
    EXPECT_NE(some, kWithoutTraits.contains(op)) << op;
  }
}

TEST(OpTraits, are_of_operators_of_onnx_each_named_once) {
  const auto all = operators();
  std::set<std::string_view> seen;
  for (const std::string_view op : ops_with_traits()) {
    EXPECT_TRUE(all.contains(std::string(op))) << op;
    EXPECT_TRUE(seen.insert(op).second) << op;
  }
  for (const std::string& op : kWithoutTraits) EXPECT_TRUE(all.contains(op)) << op;
}

TEST(OpTraits, fit_the_schemas) {
  for (const std::string& op : operators()) {
    const ::onnx::OpSchema& s = *find_schema("", op, kHighestOpset);
    EXPECT_EQ(has(op, Trait::reduces), op.starts_with("Reduce")) << op;
    EXPECT_TRUE(!has(op, Trait::reduces) || s.attributes().contains("keepdims")) << op;
    EXPECT_TRUE(!has(op, Trait::broadcasts) || s.max_input() > 1) << op;
    EXPECT_TRUE(!has(op, Trait::elementwise) || (s.min_output() == 1 && s.max_output() == 1)) << op;
    EXPECT_TRUE(!has(op, Trait::elementwise) || s.min_input() == 1 || op == "CastLike") << op;
  }
}

bool follows(std::string_view op, Trait first, Trait second) { return !has(op, first) || has(op, second); }

TEST(OpTraits, follow_from_others) {
  for (const std::string_view op : ops_with_traits()) {
    EXPECT_TRUE(follows(op, Trait::moves, Trait::picks)) << op;
    EXPECT_TRUE(follows(op, Trait::moves, Trait::within)) << op;
    EXPECT_TRUE(follows(op, Trait::moves, Trait::keeps_factor)) << op;
    EXPECT_TRUE(follows(op, Trait::keeps_factor, Trait::keeps_positive_factor)) << op;
    EXPECT_TRUE(follows(op, Trait::elementwise | Trait::broadcasts | Trait::reduces, Trait::any_axes)) << op;
  }
}

TEST(OpTraits, of_what_is_not_known) {
  EXPECT_FALSE(has("com.microsoft::FusedConv", Trait::channels_first));
  EXPECT_EQ(traits_of("Zzz"), Trait{});
  EXPECT_EQ(traits_of(""), Trait{});
}

}  // namespace
}  // namespace t2o::onnx
