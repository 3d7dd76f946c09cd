#include "rewriters/phase.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "ir/text.h"
#include "rewriters/all.h"

namespace t2o {
namespace {

// Replaces the operator `from` by `to`, everywhere.
Rewriter renames(const std::string& name, const std::string& from, const std::string& to) {
  const Pat x = any();
  return rewriter(name, op(from, x), [=](const Match& m, Rewrite& r) { return r.make(to, {m[x]}); });
}

GraphPtr graph() {
  return ir::parse_graph(R"(graph g onnx {
  input %x: f32[2]
  %y: f32[2] = A(%x)
  output %y
}
)",
                         "test");
}

std::string op_after(const std::vector<Phase>& phases, const PhaseOptions& options) {
  const GraphPtr g = graph();
  run_phases(phases, *g, options);
  return std::string(g->nodes().begin()->op());
}

std::vector<Phase> phases() {
  return {{"one", "", "", {{renames("first", "A", "B")}, {renames("second", "A", "C")}}},
          {"two", "", "", {{renames("third", "B", "D")}}}};
}

TEST(Phases, TheTableKeepsItsOwnRelations) {
  EXPECT_NO_THROW(check_phases(tf_phases()));
  for (const auto layout : {tf2onnx::Layout::automatic, tf2onnx::Layout::nchw, tf2onnx::Layout::nhwc})
    for (const std::string runtime : {"ort-1.31", "any"}) {
      const std::vector<Phase> all = onnx_phases(onnx::make_target(onnx::kDefaultOpset, runtime), layout);
      EXPECT_NO_THROW(check_phases(all));
      EXPECT_LE(all.size() + tf_phases().size(), 14u);
      for (const Phase& p : all) EXPECT_FALSE(p.name.empty() || p.begins.empty() || p.ends.empty()) << p.name;
    }
}

TEST(Phases, TheDocumentationHasTheContracts) {
  std::ifstream file(T2O_SOURCE_DIR "/docs/architecture.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  std::string table;
  for (const Phase& p : all_phases()) table += "| " + p.name + " | " + p.begins + " | " + p.ends + " |\n";
  EXPECT_NE(page.find("|---|---|---|\n" + table + "\n"), std::string::npos) << table;
}

TEST(Phases, WrongTablesAreRefused) {
  std::vector<Phase> wrong = phases();
  wrong[0].steps[0].after = {{"second", "it takes the same nodes"}};
  EXPECT_THROW(check_phases(wrong), std::logic_error);
  wrong = phases();
  wrong[0].steps.push_back({renames("first", "A", "B")});
  EXPECT_THROW(check_phases(wrong), std::logic_error);
}

TEST(Phases, StepsRunInTheOrderOfTheTableOrInAnother) {
  EXPECT_EQ(op_after(phases(), {}), "D");
  EXPECT_EQ(op_after(phases(), {.without = {"third"}}), "B");
  EXPECT_EQ(op_after(phases(), {.without = {"first"}}), "C");
  EXPECT_EQ(op_after(phases(), {.order = {"one/second", "one/first"}}), "C");
}

TEST(Phases, TheContractIsChecked) {
  std::vector<Phase> all = phases();
  all[0].settled = {renames("back", "B", "A"), renames("forth", "A", "B")};  // each undoes the other
  EXPECT_NO_THROW(op_after(all, {})) << "it ends all the same";
  EXPECT_THROW(op_after(all, {.check = true}), std::logic_error);
  EXPECT_NO_THROW(op_after(phases(), {.check = true}));
}

TEST(Phases, ShapesAreNeededForTheNodesThatARewriterNames) {
  Rewriter needs = renames("needs", "A", "B");
  needs.reads_shapes_of = [](const ir::Node& n) { return n.op() == "A"; };
  const std::vector<Phase> all = {{"one", "", "", {{needs}}}};
  EXPECT_FALSE(lacks_shapes(all, *graph()));
  const GraphPtr unknown =
      ir::parse_graph("graph g tf {\n  input %x: f32[*]\n  %y: f32[*] = A(%x)\n  output %y\n}\n", "test");
  EXPECT_TRUE(lacks_shapes(all, *unknown));
  EXPECT_FALSE(lacks_shapes(phases(), *unknown));
}

}  // namespace
}  // namespace t2o
