#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rewriters/runtime/table.h"
#include "tests/probes/probe.h"

namespace t2o::probes {
namespace {

Observation fails() { return {.failure = "no kernel"}; }
Observation wrong() { return {.difference = "y: 1, expected 2"}; }
Observation right(double seconds = 1) { return {.seconds = seconds}; }

Verdict verdict(Claim claim, const Observation& with, const Observation& without, double times = 2) {
  return judge({.row = "row", .name = "name", .claim = claim, .times = times}, with, without).verdict;
}

TEST(RuntimeProbe, ADefectIsStillThereOrGone) {
  EXPECT_EQ(verdict(Claim::wrong, right(), wrong()), Verdict::needed);
  EXPECT_EQ(verdict(Claim::fails, right(), fails()), Verdict::needed);
  EXPECT_EQ(verdict(Claim::wrong, right(), right()), Verdict::no_longer_needed);
  EXPECT_EQ(verdict(Claim::fails, right(), right()), Verdict::no_longer_needed);
}

TEST(RuntimeProbe, AnotherDefectThanTheRowSaysIsForSomebodyToLookAt) {
  EXPECT_EQ(verdict(Claim::wrong, right(), fails()), Verdict::cannot_tell);
  EXPECT_EQ(verdict(Claim::fails, right(), wrong()), Verdict::cannot_tell);
  EXPECT_EQ(verdict(Claim::slower, right(), wrong()), Verdict::cannot_tell);
  EXPECT_EQ(verdict(Claim::slower, right(), fails()), Verdict::cannot_tell);
}

TEST(RuntimeProbe, ARowWhoseOwnFormIsBrokenProvesNothing) {
  for (const Claim claim : {Claim::wrong, Claim::fails, Claim::slower})
    for (const Observation& without : {right(), wrong(), fails()}) {
      EXPECT_EQ(verdict(claim, fails(), without), Verdict::cannot_tell);
      EXPECT_EQ(verdict(claim, wrong(), without), Verdict::cannot_tell);
    }
}

TEST(RuntimeProbe, TimesCountFromTheStatedFactorOn) {
  EXPECT_EQ(verdict(Claim::slower, right(1), right(2)), Verdict::needed);
  EXPECT_EQ(verdict(Claim::slower, right(1), right(1.9)), Verdict::cannot_tell);
  EXPECT_EQ(verdict(Claim::slower, right(1), right(0.6)), Verdict::cannot_tell);
  EXPECT_EQ(verdict(Claim::slower, right(1), right(0.5)), Verdict::no_longer_needed);
}

TEST(RuntimeProbe, OneProbeThatFailsIsEnough) {
  const Finding needed{Verdict::needed, ""}, gone{Verdict::no_longer_needed, ""}, unclear{Verdict::cannot_tell, ""};
  EXPECT_EQ(worst({needed, needed}), Verdict::needed);
  EXPECT_EQ(worst({needed, gone}), Verdict::no_longer_needed);
  EXPECT_EQ(worst({unclear, gone, needed}), Verdict::cannot_tell);
  EXPECT_EQ(worst({}), Verdict::cannot_tell) << "a row without a probe";
}

// A probe with these lines between its name and its graph.
std::string read(const std::string& lines, Probe* probe = nullptr) {
  const auto folder = std::filesystem::temp_directory_path() / ("runtime_probe_test." + std::to_string(getpid()));
  const auto path = folder / "some_row.t2o";
  std::filesystem::create_directory(folder);
  std::ofstream(path) << "// a comment\n== its name\n" + lines + "graph t tf {\n}\n\n== another\nwithout: fails\ngraph t tf {\n}\n";
  std::string error;
  try {
    const std::vector<Probe> all = read_probes(path);
    EXPECT_EQ(all.size(), 2U);
    if (probe) *probe = all.at(0);
  } catch (const std::runtime_error& e) {
    error = e.what();
  }
  std::filesystem::remove_all(folder);
  return error;
}

TEST(RuntimeProbe, IsReadFromText) {
  Probe p;
  ASSERT_EQ(read("without: slower 1.5\nopset: 13\ncpu: x86_64\n// more\ninput: x = 1, -2.5, nan\nright: y = inf\nsession: a.b=c\n", &p), "");
  EXPECT_EQ(p.row, "some_row");
  EXPECT_EQ(p.name, "its name");
  EXPECT_EQ(p.claim, Claim::slower);
  EXPECT_EQ(p.times, 1.5);
  EXPECT_EQ(p.graph.opset(), 13);
  EXPECT_EQ(p.cpu, "x86_64");
  EXPECT_EQ(p.inputs.at("x").size(), 3U);
  EXPECT_EQ(p.inputs.at("x")[1], -2.5);
  EXPECT_EQ(p.right.at("y").size(), 1U);
  EXPECT_EQ(p.session, (std::vector<std::pair<std::string, std::string>>{{"a.b", "c"}}));
  EXPECT_TRUE(p.optimizes);
  EXPECT_NE(p.graph.input.find("graph t tf"), std::string::npos);
  ASSERT_EQ(read("without: wrong\noptimizer: off\n", &p), "");
  EXPECT_FALSE(p.optimizes);
}

TEST(RuntimeProbe, WhatIsMalformedIsNamed) {
  for (const char* lines : {"", "without: better\n", "without: slower\n", "without: slower 1\n", "without: slower 2 3\n",
                            "without: wrong\ninput: x 1\n", "without: wrong\ninput: x = 1, b\n", "without: wrong\ninput: x = 1 2\n",
                            "without: wrong\nsession: a\n", "without: wrong\nopset: new\n", "without: wrong\noptimizer: on\n", "without: wrong\nwidth: 2\n"})
    EXPECT_NE(read(lines).find("some_row.t2o:"), std::string::npos) << lines;
}

// The engine is needed to run the probes, not to see that each row has one.
TEST(RuntimeProbe, EachRowHasOne) {
  const auto folder = std::filesystem::path(T2O_SOURCE_DIR) / "tests/probes";
  for (const runtime::Row& row : runtime::table()) {
    if (row.kind == runtime::Kind::form) continue;  // about other runtimes than the one that runs probes
    const auto path = folder / (std::string(row.name) + ".t2o");
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    for (const Probe& p : read_probes(path)) {
      const bool is_repair = row.kind == runtime::Kind::repair, is_of_time = p.claim == Claim::slower;
      EXPECT_FALSE(is_repair && is_of_time) << row.name;
      EXPECT_TRUE(is_repair || is_of_time || (row.kind == runtime::Kind::preference && !p.optimizes)) << row.name;
    }
  }
}

}  // namespace
}  // namespace t2o::probes
