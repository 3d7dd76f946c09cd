#include "op_mappers/conversion_registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "op_mappers/custom_ops.h"
#include "op_mappers/map_ops.h"

namespace t2o {
namespace {

ConversionRegistry registry_with(const std::vector<std::string>& custom_ops, int opset) {
  ConversionRegistry registry(onnx::make_target(opset));
  Diagnostics wrong;
  registry.add_overlay(custom_rows(custom_ops, wrong));
  EXPECT_FALSE(has_errors(wrong));
  return registry;
}

// A node for each reason: an unknown op, one that needs a higher opset, one that complex numbers have no row
// for, a custom op that has its contents elsewhere, and an unknown op in a branch.
constexpr const char* kGraph = R"(graph g tf {
  input %x: f32[2]
  input %c: c64[2]
  input %p: bool[]
  %a: f32[2] = NoSuchOp(%x)
  %b: c64[2] = Relu(%c)
  %h: resource[] = MutableHashTableV2() {key_dtype=i64, value_dtype=f32}
  %e: f32[2] = If(%p, %x) {then_branch=graph then tf {
    input %i: f32[2]
    %o: f32[2] = Other(%i)
    output %o
  }, else_branch=graph else tf {
    input %j: f32[2]
    %q: f32[2] = Relu(%j)
    output %q
  }}
  %s: f32[2] = Relu(%x)
  output %a, %b, %h, %e, %s
}
)";

std::vector<std::string> reasons(const ir::Graph& g, const ConversionRegistry& registry) {
  std::vector<std::string> all;
  for (const auto& [node, way] : registry.without_way(g)) all.push_back(way.refusal->why);
  return all;
}

TEST(ConversionRegistry, KnowsBeforeTheMappingWhatHasNoWay) {
  const GraphPtr g = ir::parse_graph(kGraph, "test");
  const ConversionRegistry registry = registry_with({"MutableHashTableV2"}, 21);
  Diagnostics found;
  map_ops(*g, registry, found);
  std::vector<std::string> reported;
  for (const Diagnostic& d : found)
    if (d.severity == Severity::error) reported.push_back(d.message);
  std::vector<std::string> known = reasons(*g, registry);
  EXPECT_EQ(known.size(), 4u);
  std::sort(known.begin(), known.end());
  std::sort(reported.begin(), reported.end());
  EXPECT_EQ(known, reported);
}

TEST(ConversionRegistry, AnOverlayComesBeforeTheDialect) {
  const GraphPtr g = ir::parse_graph(kGraph, "test");
  ConversionRegistry registry = registry_with({"NoSuchOp", "Other", "Relu"}, 21);
  EXPECT_EQ(reasons(*g, registry).size(), 1u)
      << "the table alone; Relu of complex numbers is a custom op too";
  OpRegistry later;
  later.family("later");
  later.op("Relu").to("Relu");
  registry.add_overlay(std::move(later));
  for (const ir::Node& n : g->nodes()) {
    if (n.op() != "Relu" || n.output()->dtype() != DType::f32) continue;
    EXPECT_EQ(registry.way_of(n).row->family, "later");
  }
}

TEST(ConversionRegistry, ACustomOpHasNoLists) {
  const GraphPtr g = ir::parse_graph(R"(graph g tf {
  input %x: f32[2]
  const %s: i32[1] = [2]
  const %n: i32[] = 4
  const %i: i32[] = 0
  %l: variant[*] = TensorListReserve(%s, %n) {element_dtype=f32, shape_type=i32}
  %m: variant[*] = TensorListSetItem(%l, %i, %x) {element_dtype=f32}
  %y: f32[4,2] = TensorListStack(%m, %s) {element_dtype=f32, num_elements=4}
  output %y
}
)",
                                     "test");
  EXPECT_TRUE(reasons(*g, registry_with({}, 21)).empty());
  for (const char* op : {"TensorListReserve", "TensorListSetItem", "TensorListStack"})
    EXPECT_EQ(reasons(*g, registry_with({op}, 21)).size(), 1u) << op;
}

TEST(ConversionRegistry, NamesTheLowestOpset) {
  const GraphPtr g = ir::parse_graph(R"(graph g tf {
  input %x: f32[2]
  %a: f32[2] = RoundTest(%x)
  output %a
}
)",
                                     "test");
  ConversionRegistry registry(onnx::make_target(13));
  OpRegistry rows;
  rows.op("RoundTest").since(18).to("Round");
  registry.add_overlay(std::move(rows));
  const auto found = registry.without_way(*g);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].second.lowest_opset, 18);
  EXPECT_EQ(found[0].second.refusal->code, Code::opset_too_low);
}

}  // namespace
}  // namespace t2o
