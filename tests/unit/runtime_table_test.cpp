#include "rewriters/runtime/table.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/text.h"
#include "pipeline.h"
#include "report.h"
#include "rewriters/all.h"

namespace t2o {
namespace {

using runtime::Kind;

onnx::Target ort(int opset) { return onnx::make_target(opset); }

TEST(RuntimeTable, EachRowIsWhole) {
  std::set<std::string_view> names, phases;
  for (const Phase& p : all_phases()) phases.insert(p.name);
  for (const runtime::Row& r : runtime::table()) {
    EXPECT_TRUE(names.insert(r.name).second) << r.name << " is there twice";
    EXPECT_FALSE(r.operators.empty() || r.why.empty()) << r.name;
    EXPECT_TRUE(r.make == nullptr || r.kind != Kind::veto) << r.name;
    EXPECT_EQ(r.make == nullptr, r.phase.empty()) << r.name;
    EXPECT_LE(r.first_opset, r.last_opset) << r.name;
    if (r.make) {
      EXPECT_TRUE(phases.contains(r.phase)) << r.name << ": there is no phase '" << r.phase << "'";
      EXPECT_EQ(r.make(r.kind == Kind::form ? onnx::make_target(21, "any") : ort(21)).name, r.name);
    }
  }
}

TEST(RuntimeTable, FormsAloneAreReachableForAnyRuntime) {
  for (int opset = onnx::kLowestOpset; opset <= onnx::kHighestOpset; ++opset) {
    const onnx::Target any = onnx::make_target(opset, "any", true);
    for (const Phase& p : onnx_phases(any))
      for (const Step& s : p.steps) {
        const runtime::Row* r = runtime::find_row(s.rewriter.name);
        EXPECT_TRUE(!r || r->kind == Kind::form) << s.rewriter.name;
      }
    for (const runtime::Row& r : runtime::table()) {
      EXPECT_EQ(runtime::applies(r, any), r.kind == Kind::form) << r.name;
      EXPECT_FALSE(r.kind == Kind::form && opset <= onnx::kHighestOrtOpset && runtime::applies(r, ort(opset))) << r.name;
      for (const std::string_view op : r.operators) EXPECT_TRUE(runtime::may_make(any, op, DType::f32));
      const bool is_asked = !r.make && r.kind != Kind::veto;
      EXPECT_FALSE(is_asked && runtime::needs(any, r.name)) << r.name;
    }
  }
}

TEST(RuntimeTable, ARowAppliesToItsOpsetsAndVersions) {
  runtime::Row r{.name = "row", .kind = Kind::veto, .phase = {}, .operators = {"Relu"}, .types = {}, .why = "it is slow"};
  r.first_opset = 13;
  r.last_opset = 20;
  EXPECT_FALSE(runtime::applies(r, ort(12)));
  EXPECT_TRUE(runtime::applies(r, ort(13)));
  EXPECT_TRUE(runtime::applies(r, ort(20)));
  EXPECT_FALSE(runtime::applies(r, ort(21)));
  r.versions = {.first = 20, .last = 30};
  EXPECT_FALSE(runtime::applies(r, ort(13))) << "it was no longer seen in 1.31";
  EXPECT_TRUE(runtime::applies(r, onnx::make_target(13, "ort-1.25")));
  EXPECT_FALSE(runtime::applies(r, onnx::make_target(13, "ort-1.19")));
  EXPECT_EQ(runtime::versions_text(r), "1.20 - 1.30");
}

TEST(RuntimeTable, ARowOfTheLevelStrictNeedsIt) {
  runtime::Row r{.name = "row", .kind = Kind::repair, .phase = {}, .operators = {"ArgMax"}, .types = {}, .why = "of NaN"};
  EXPECT_TRUE(runtime::applies(r, ort(21)));
  EXPECT_TRUE(runtime::applies(r, onnx::make_target(21, "ort-1.31", true)));
  r.level = runtime::Level::strict;
  EXPECT_FALSE(runtime::applies(r, ort(21)));
  EXPECT_TRUE(runtime::applies(r, onnx::make_target(21, "ort-1.31", true)));
  EXPECT_FALSE(runtime::applies(r, onnx::make_target(21, "any", true)));
}

TEST(RuntimeTable, AVetoIsCounted) {
  runtime::Recording outer;
  EXPECT_FALSE(runtime::may_make(ort(21), "GroupNormalization", DType::f32));
  {
    runtime::Recording inner;
    EXPECT_FALSE(runtime::may_make(ort(21), "GroupNormalization", DType::f32));
    inner.add("no_row", 3);
    EXPECT_EQ(inner.uses(), (runtime::Uses{{"group_normalization", 1}}));
  }
  EXPECT_FALSE(runtime::may_make(ort(21), "GroupNormalization", DType::f16));
  EXPECT_TRUE(runtime::may_make(ort(21), "InstanceNormalization", DType::f32));
  EXPECT_EQ(outer.uses(), (runtime::Uses{{"group_normalization", 2}}));
}

TEST(RuntimeTable, AFusionAsksForARowWithoutARewriter) {
  runtime::Recording outer;
  EXPECT_TRUE(runtime::needs(ort(23), "whole_masks"));
  EXPECT_FALSE(runtime::needs(ort(22), "whole_masks")) << "there is no Attention";
  EXPECT_EQ(outer.uses(), (runtime::Uses{{"whole_masks", 1}}));
  for (const char* row : {"no_row", "guard_casts", "group_normalization"}) EXPECT_THROW(runtime::needs(ort(23), row), std::logic_error) << row;
}

TEST(RuntimeTable, ARowWithoutARewriterMayBeLeftOut) {
  const runtime::Recording all({"whole_masks", "group_normalization"});
  EXPECT_FALSE(runtime::needs(ort(23), "whole_masks"));
  EXPECT_TRUE(runtime::may_make(ort(23), "GroupNormalization", DType::f32));
  EXPECT_TRUE(runtime::needs(ort(23), "held_masks"));
  EXPECT_EQ(all.uses(), (runtime::Uses{{"held_masks", 1}}));
}

// A float that becomes a wide integer and then a narrow one.
Conversion converted(const std::string& runtime) {
  Options o;
  o.target_runtime = runtime;
  return convert(o, ir::parse_graph(R"(graph t tf {
  input %x: f32[4]
  %wide: i64[4] = Cast(%x) {DstT=i64, SrcT=f32, Truncate=0}
  %y: i32[4] = Cast(%wide) {DstT=i32, SrcT=i64, Truncate=0}
  output %y
}
)"));
}

// A sum that is weighted by a constant, with a row of the table for its form and without it.
TEST(RuntimeTable, AConversionLeavesOutARowWithoutARewriter) {
  const auto has_squeeze = [](const std::vector<std::string>& without) {
    Options o;
    o.without = without;
    const Conversion c = convert(o, ir::parse_graph(R"(graph t tf {
  input %x: f32[2,3,4]
  const %w: f32[4] = [1, 2, 3, 5]
  %p: f32[*] = Mul(%x, %w) {T=f32}
  %y: f32[*] = Sum(%p, const i32 = -1) {T=f32, Tidx=i32, keep_dims=0}
  output %y
}
)"));
    return c.ok() && ir::to_text(*c.graph()).find("Squeeze(") != std::string::npos;
  };
  EXPECT_TRUE(has_squeeze({}));
  EXPECT_FALSE(has_squeeze({"column_products"}));
}

TEST(RuntimeTable, TheReportNamesTheRowsThatChangedTheGraph) {
  const Conversion c = converted("ort-1.31");
  ASSERT_EQ(c.runtime_uses.size(), 1U);
  const GraphReport r = report_on(*c.graph(), c.target, c.runtime_uses[0]);
  ASSERT_EQ(r.runtime_rows.size(), 1U);
  EXPECT_EQ(r.runtime_rows[0].row, "guard_casts");
  EXPECT_EQ(r.runtime_rows[0].kind, "repair");
  EXPECT_EQ(r.runtime_rows[0].uses, 1);
  EXPECT_EQ(r.runtime_rows[0].why, runtime::find_row("guard_casts")->why);
  EXPECT_EQ(converted("any").runtime_uses, std::vector<runtime::Uses>{{}});
}

}  // namespace
}  // namespace t2o
