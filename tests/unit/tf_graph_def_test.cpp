#include "tf/graph_def.h"

#include <gtest/gtest.h>

#include "tf/protos/text.pb.h"
#include "tf/text_proto.h"

namespace t2o::tf {
namespace {

Bytes bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string attr_bytes(const std::string& text) {  // an AttrValue
  const std::string graph =
      graph_def_from_text("node { name: 'n' op: 'Op' attr { key: 'a' value {" + text + "} } }", "test");
  text::GraphDef g;
  g.ParseFromString(graph);
  return g.node(0).attr().at("a").SerializeAsString();
}

Attr attr(const std::string& text, std::string_view type = {}) {
  return decode_attr(bytes(attr_bytes(text)), {}, type);
}

TensorPtr tensor(const std::string& text) {
  const auto owner = std::make_shared<const std::string>(attr_bytes("tensor {" + text + "}"));
  return std::get<TensorPtr>(decode_attr(bytes(*owner), {owner}));
}

Code refusal(const std::string& text) {
  try {
    tensor(text);
  } catch (const ConversionError& e) {
    return e.diagnostic().code;
  }
  return Code::internal;
}

TEST(GraphDef, ReadsNodesFunctionsAndVersions) {
  const std::string binary = graph_def_from_text(R"(
      node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
      node { name: 'y' op: 'AddV2' input: 'x' input: 'x:1' input: '^x' device: '/cpu' }
      versions { producer: 1882 min_consumer: 12 }
      library { function {
        signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } }
        node_def { name: 'n' op: 'Relu' input: 'a' }
        ret { key: 'r' value: 'n:activations:0' }
        control_ret { key: 'c' value: 'n' } } })",
                                                 "test");
  const GraphDef g = parse_graph_def(bytes(binary), Owner{});
  ASSERT_EQ(g.body.nodes.size(), 2U);
  EXPECT_EQ(g.body.nodes[1].inputs.size(), 3U);
  EXPECT_EQ(g.body.nodes[1].inputs[2], "^x");
  EXPECT_EQ(g.body.nodes[1].device, "/cpu");
  ASSERT_NE(g.body.nodes[0].attr("dtype"), nullptr);
  EXPECT_EQ(g.body.nodes[0].attr("shape"), nullptr);
  EXPECT_EQ(g.producer, 1882);
  ASSERT_EQ(g.functions.size(), 1U);
  EXPECT_EQ(g.functions[0].name, "f");
  const FunctionDef f = parse_function(g.functions[0].bytes, Owner{});
  EXPECT_EQ(f.signature.inputs.at(0).type, DType::f32);
  EXPECT_EQ(f.ret.at(0).second, "n:activations:0");
  EXPECT_EQ(f.control_ret.at(0).first, "c");
}

TEST(GraphDef, EveryTruncationIsRefusedOrRead) {
  const std::string binary = graph_def_from_text(
      "node { name: 'x' op: 'Const' attr { key: 'value' value { tensor { dtype: DT_INT32 int_val: 3 } } } }",
      "test");
  for (std::size_t n = 0; n < binary.size(); ++n) {
    const std::string part = binary.substr(0, n);
    try {
      parse_graph_def(bytes(part), Owner{});
    } catch (const ConversionError& e) {
      EXPECT_EQ(e.diagnostic().code, Code::bad_file);
    }
  }
}

TEST(AttrValue, DecodesEveryKind) {
  EXPECT_EQ(attr("b: true"), Attr(std::int64_t{1}));
  EXPECT_EQ(attr("i: -3"), Attr(std::int64_t{-3}));
  EXPECT_EQ(attr("f: 0.5"), Attr(0.5F));
  EXPECT_EQ(attr("s: 'NHWC'"), Attr(std::string("NHWC")));
  EXPECT_EQ(attr("type: DT_HALF"), Attr(DType::f16));
  EXPECT_EQ(attr("type: DT_FLOAT_REF"), Attr(DType::f32));
  EXPECT_EQ(attr("shape { dim { size: -1 } dim { size: 3 } }"), Attr(Shape({-1, 3})));
  EXPECT_EQ(attr("shape { unknown_rank: true }"), Attr(Shape()));
  EXPECT_EQ(attr("list { i: 1 i: -2 }"), Attr(Ints{1, -2}));
  EXPECT_EQ(attr("list { b: true b: false }"), Attr(Ints{1, 0}));
  EXPECT_EQ(attr("list { s: 'a' s: 'b' }"), Attr(Strings{"a", "b"}));
  EXPECT_EQ(attr("list { shape { } }"), Attr(Shapes{Shape::scalar()}));
  EXPECT_EQ(attr("func { name: 'f' attr { key: 'T' value { type: DT_INT32 } } }"),
            Attr(Func{"f", {{"T", DType::i32}}}));
}

TEST(AttrValue, AnEmptyListIsOfTheKindThatTheOpDefines) {
  EXPECT_EQ(attr("list { }", "list(type)"), Attr(DTypes{}));
  EXPECT_EQ(attr("list { }", "list(float)"), Attr(Floats{}));
  EXPECT_EQ(attr("list { }"), Attr(Ints{}));
}

TEST(AttrValue, PlaceholdersStandForTheCallsAttributes) {
  const std::string value = attr_bytes("placeholder: 'T'");
  const Attrs call = {{"T", DType::f64}};
  EXPECT_EQ(decode_attr(bytes(value), {Owner{}, &call}), Attr(DType::f64));
  EXPECT_THROW(decode_attr(bytes(value), {}), ConversionError);
}

TEST(TensorProto, ViewsItsContent) {
  const auto t = tensor(
      R"(dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: "\001\000\000\000\377\377\377\377")");
  EXPECT_EQ(t->to_ints(), (Ints{1, -1}));
  EXPECT_EQ(refusal("dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: '1234'"),
            Code::bad_model);
}

TEST(TensorProto, TheLastValueRepeatsAndNoneIsZero) {
  EXPECT_EQ(tensor("dtype: DT_INT64 tensor_shape { dim { size: 4 } } int64_val: 7 int64_val: 8")->to_ints(),
            (Ints{7, 8, 8, 8}));
  EXPECT_EQ(tensor("dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 2")->to_floats(),
            (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(tensor("dtype: DT_INT8 tensor_shape { dim { size: 2 } }")->to_ints(), (Ints{0, 0}));
  EXPECT_EQ(tensor("dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'a'")->strings(),
            (Strings{"a", "a"}));
}

TEST(TensorProto, ASplatOfAnySizeCostsNothing) {
  const auto t =
      tensor("dtype: DT_FLOAT tensor_shape { dim { size: 1000000 } dim { size: 1000000 } } float_val: 1");
  EXPECT_EQ(t->elements(), 1'000'000'000'000);
}

TEST(TensorProto, ReadsEveryValueList) {
  EXPECT_EQ(tensor("dtype: DT_HALF half_val: 15360")->float_at(0), 1.0);
  EXPECT_EQ(tensor("dtype: DT_BFLOAT16 half_val: 16256")->float_at(0), 1.0);
  EXPECT_EQ(tensor("dtype: DT_BOOL bool_val: true")->int_at(0), 1);
  EXPECT_EQ(tensor("dtype: DT_UINT8 int_val: 200")->int_at(0), 200);
  EXPECT_EQ(tensor("dtype: DT_INT16 int_val: -5")->int_at(0), -5);
  EXPECT_EQ(tensor("dtype: DT_COMPLEX64 scomplex_val: 1 scomplex_val: 2")->at<float>(1), 2.0F);
  EXPECT_EQ(tensor("dtype: DT_UINT64 uint64_val: 5")->int_at(0), 5);
}

TEST(TensorProto, FourBitTypesArePacked) {
  const auto t = tensor(R"(dtype: DT_INT4 tensor_shape { dim { size: 3 } } tensor_content: "\001\377\003")");
  EXPECT_EQ(t->byte_size(), 2U);
  EXPECT_EQ(t->to_ints(), (Ints{1, -1, 3}));
  EXPECT_EQ(tensor("dtype: DT_INT4 tensor_shape { dim { size: 3 } } int_val: -2")->to_ints(),
            (Ints{-2, -2, -2}));
}

TEST(TensorProto, ReadsStringsFromContent) {
  EXPECT_EQ(
      tensor(R"(dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\001\002abc")")->strings(),
      (Strings{"a", "bc"}));
  EXPECT_EQ(refusal(R"(dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\001\007abc")"),
            Code::bad_model);
}

TEST(TensorProto, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal("dtype: DT_FLOAT tensor_shape { dim { size: -2 } }"), Code::bad_model);
  EXPECT_EQ(refusal("dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } }"),
            Code::bad_model);
  EXPECT_EQ(refusal("dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 1 float_val: 2"),
            Code::bad_model);
  EXPECT_EQ(refusal("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"), Code::bad_model);
  EXPECT_EQ(refusal("dtype: DT_STRING tensor_shape { dim { size: 1000000000000 } } string_val: 'a'"),
            Code::bad_model);
  EXPECT_EQ(refusal("dtype: DT_RESOURCE"), Code::unsupported_type);
  EXPECT_EQ(refusal("dtype: DT_FLOAT4_E2M1FN"), Code::unsupported_type);
}

TEST(OpDefs, KnowsTensorFlowsOps) {
  const OpDef* conv = find_op_def("Conv2D");
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(conv->inputs.size(), 2U);
  EXPECT_EQ(*conv->attr("data_format")->fallback, Attr(std::string("NHWC")));
  EXPECT_EQ(*conv->attr("dilations")->fallback, Attr(Ints{1, 1, 1, 1}));
  EXPECT_EQ(*conv->attr("explicit_paddings")->fallback, Attr(Ints{}));
  EXPECT_FALSE(conv->attr("strides")->fallback);
  EXPECT_EQ(*find_op_def("FusedBatchNormV3")->attr("epsilon")->fallback, Attr(1e-4F));
  EXPECT_EQ(*find_op_def("Placeholder")->attr("shape")->fallback, Attr(Shape()));
  EXPECT_TRUE(find_op_def("Assign")->inputs[0].is_ref);
  EXPECT_TRUE(find_op_def("While")->stateful);
  EXPECT_EQ(find_op_def("Conv2"), nullptr);
  EXPECT_EQ(find_op_def(""), nullptr);
}

TEST(OpDefs, FlattensArguments) {
  const OpDef* split = find_op_def("Split");
  EXPECT_EQ(tensor_types(split->outputs, {{"num_split", std::int64_t{3}}, {"T", DType::f16}}),
            DTypes(3, DType::f16));
  EXPECT_EQ(tensor_types(find_op_def("IdentityN")->outputs, {{"T", DTypes{DType::f32, DType::i64}}}),
            (DTypes{DType::f32, DType::i64}));
  EXPECT_THROW(tensor_types(split->outputs, {}), ConversionError);
  EXPECT_THROW(tensor_types(split->outputs, {{"num_split", std::int64_t{1} << 40}, {"T", DType::f16}}),
               ConversionError);
}

}  // namespace
}  // namespace t2o::tf
