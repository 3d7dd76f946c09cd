#include "rewriters/runtime/cpu.h"

#include <gtest/gtest.h>

namespace t2o::runtime {
namespace {

TEST(Cpu, WarnsWhereSumsMaySaturate) {
  const Cpu old{true, false, "x86-64 with AVX2 and without VNNI"}, exact{true, true, "x86-64 with AVX-VNNI"}, arm{false, false, "AArch64"};
  EXPECT_NE(saturation_warning(old).find("session.x64quantprecision=1"), std::string::npos);
  EXPECT_NE(saturation_warning(old).find("AVX2 and without VNNI"), std::string::npos);
  EXPECT_EQ(saturation_warning(exact), "");
  EXPECT_EQ(saturation_warning(arm), "");
  EXPECT_EQ(cpu_text(arm), "ONNX Runtime ran on AArch64, which adds 8-bit products exactly");
  EXPECT_NE(cpu_text(old), cpu_text(exact));
}

TEST(Cpu, ThisOneIsKnown) { EXPECT_FALSE(this_cpu().features.empty()); }

}  // namespace
}  // namespace t2o::runtime
