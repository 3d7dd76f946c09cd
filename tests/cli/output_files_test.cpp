// Two files that belong together, whatever else happens at that moment.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

#include "cli/graph_def_maker.h"
#include "cli/program.h"

namespace t2o::test {
namespace {

namespace fs = std::filesystem;

// Two models whose weights differ and whose files are of one size: nothing but the content tells a wrong
// pair.
class OutputFiles : public testing::Test {
 protected:
  struct Pair {
    std::string model, data;
    bool operator==(const Pair&) const = default;
  };

  OutputFiles() {
    for (const char* name : {"a", "b"}) {
      const Finished f = convert(name, in_ / name / "out.onnx", {});
      EXPECT_EQ(f.exit_code, 0) << f.err;
      expected_.push_back(read(in_ / name));
    }
    EXPECT_NE(expected_[0].model, expected_[1].model);
    EXPECT_NE(expected_[0].data, expected_[1].data);
    EXPECT_EQ(expected_[0].data.size(), expected_[1].data.size());
  }

  static std::string weights(char letter) {
    const std::string w(100'000, letter);
    return graph_def({placeholder("x", {25'000}), constant("w", {25'000}, w),
                      node(std::string("y") + letter, "AddV2", {"x", "w"}, {type_attr("T", kFloat)})});
  }

  Finished convert(const std::string& name, const fs::path& to, const Conditions& conditions) const {
    fs::create_directories(to.parent_path());
    return run({(in_ / (name + ".pb")).string(), "-o", to.string(), "--external-data", "-q"}, conditions);
  }
  Finished convert(const std::string& name, const Conditions& conditions) const {
    return convert(name, out_ / "out.onnx", conditions);
  }

  static Pair read(const fs::path& folder) {
    return {content(folder / "out.onnx"), content(folder / "out.onnx.data")};
  }
  bool is_a_pair() const {
    const Pair found = read(out_.path());
    return found == expected_[0] || found == expected_[1];
  }

  double replacing_takes() const {
    convert("a", {});
    return convert("a", {.environment = slow_}).seconds;
  }

  TemporaryDirectory in_, out_;
  std::string a_ = in_.file("a.pb", weights('a')), b_ = in_.file("b.pb", weights('b'));
  std::vector<Pair> expected_;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // which want to be loaded first
  const std::vector<std::string> slow_ = {};
#else
  const std::vector<std::string> slow_ = {"LD_PRELOAD=" T2O_SLOW_RENAME};
#endif
  const Names both_ = {"out.onnx", "out.onnx.data"};
};

TEST_F(OutputFiles, OfTwoConversionsAtOnceAreOfOne) {
  for (int round = 0; round < 30; ++round) {
    const Conditions conditions = {.environment = round % 2 == 0 ? slow_ : Names{}};
    Finished other;
    std::thread at_once([&] { other = convert("b", conditions); });
    const Finished f = convert("a", conditions);
    at_once.join();
    EXPECT_EQ(f.exit_code, 0) << f.err;
    EXPECT_EQ(other.exit_code, 0) << other.err;
    ASSERT_TRUE(is_a_pair()) << "round " << round;
    ASSERT_EQ(out_.files(), both_);
  }
}

TEST_F(OutputFiles, AreOfOneConversionAfterAnySignal) {
  const std::vector<int> signals = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGXCPU, SIGALRM, SIGUSR1, SIGABRT};
  std::mt19937 random(7);
  const double whole = replacing_takes();
  int interrupted = 0;
  for (int round = 0; round < 64; ++round) {
    const double after = whole * static_cast<double>(random() % 1000 + 1) / 1000;
    const int signal = signals[static_cast<std::size_t>(round) % signals.size()];
    const Finished f = convert(round % 2 == 0 ? "b" : "a",
                               {.environment = slow_, .interrupt_after = after, .interrupt_by = signal});
    EXPECT_TRUE(f.exit_code == 0 || f.signal == signal) << f.exit_code << f.err;
    interrupted += f.signal != 0 ? 1 : 0;
    ASSERT_TRUE(is_a_pair()) << "signal " << signal << " after " << after << " s of " << whole;
    ASSERT_EQ(out_.files(), both_) << "signal " << signal << " after " << after << " s of " << whole;
  }
  EXPECT_GT(interrupted, 0);
}

// Nobody can wait for that one: there may be no model then, and a temporary file, but never a wrong pair.
TEST_F(OutputFiles, AreOfOneConversionOrNoModelAfterSigkill) {
  std::mt19937 random(7);
  const double whole = replacing_takes();
  for (int round = 0; round < 48; ++round) {
    const double after = whole * static_cast<double>(random() % 1000 + 1) / 1000;
    convert(round % 2 == 0 ? "b" : "a",
            {.environment = slow_, .interrupt_after = after, .interrupt_by = SIGKILL});
    ASSERT_TRUE(is_a_pair() || !fs::exists(out_ / "out.onnx")) << after << " s of " << whole;
  }
  EXPECT_EQ(convert("a", {}).exit_code, 0);  // what the killed ones left is in nobody's way
  EXPECT_TRUE(is_a_pair());
  EXPECT_FALSE(fs::exists(out_ / ".tf2onnx-lock"));
}

}  // namespace
}  // namespace t2o::test
