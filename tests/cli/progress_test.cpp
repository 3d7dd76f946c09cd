// What a terminal shows while something takes long: the program writes into a pipe whose reader takes its
// time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <regex>
#include <string>
#include <thread>

#include "cli/graph_def_maker.h"
#include "cli/program.h"

namespace t2o::test {
namespace {

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() { mkfifo(pipe_.c_str(), 0600); }

  // What the program writes to its terminal; `slow`: its reader stops in the middle for longer than a second.
  std::string shown(const std::string& options, bool slow, const std::string& before = "TERM=xterm",
                    unsigned short columns = 200, const std::string& errors = "") {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master), unlockpt(master);
    const winsize size = {24, columns, 0, 0};
    ioctl(master, TIOCSWINSZ, &size);
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    std::string seen;
    std::thread reader([&] {
      std::array<char, 4096> piece{};
      for (ssize_t n; (n = read(master, piece.data(), piece.size())) > 0;)
        seen.append(piece.data(), static_cast<std::size_t>(n));
    });
    const std::string script = "{ head -c 2500000; " + std::string(slow ? "sleep 1.6; " : "") + "cat; } < '" +
                               pipe_ + "' > /dev/null & " + before + " '" T2O_PROGRAM "' '" + model_ +
                               "' -o '" + pipe_ + "' " + options + " 2>" +
                               (errors.empty() ? ttyname(terminal) : errors.c_str()) +
                               " >/dev/null; code=$?; wait; exit $code";
    EXPECT_EQ(std::system(script.c_str()), 0);
    close(terminal);  // the last one: the reader's end
    reader.join();
    close(master);
    return seen;
  }

  TemporaryDirectory dir_;
  std::string model_ = dir_.file("model.pb", big_model(5 << 20)), pipe_ = (dir_ / "out.onnx").string();
};

TEST_F(ProgressTest, PercentBytesAndRateOnATerminal) {
  const std::string seen = shown("", true);
  const std::regex line(
      "\r\033\\[Kwriting [^\r]*out\\.onnx: ([0-9]+) %, ([0-9.]+) MB of 5\\.2 MB, [0-9.]+ [kM]?B/s");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(seen, found, line)) << seen;
  EXPECT_GT(std::stoi(found[1]), 30);
  EXPECT_LT(std::stoi(found[1]), 90);
  EXPECT_TRUE(seen.ends_with("\r\033[K")) << "nothing stays: " << seen;
}

TEST_F(ProgressTest, NoneWhereNobodyWaitsOrNobodyLooks) {
  EXPECT_EQ(shown("", false), "") << "it takes no second";
  EXPECT_EQ(shown("-q", true), "");
  EXPECT_EQ(shown("--json", true), "");
  EXPECT_EQ(shown("", true, "TERM=dumb"), "");
  const std::string file = (dir_ / "errors").string();
  EXPECT_EQ(shown("", true, "TERM=xterm", 200, file), "");
  EXPECT_EQ(content(file), "") << "no terminal";
}

// A line that wraps would stay.
TEST_F(ProgressTest, FitsATerminalOfAnyWidth) {
  const std::string seen = shown("", true, "TERM=xterm", 30);
  ASSERT_NE(seen, "");
  for (std::size_t at = 0; (at = seen.find("\033[K", at)) != std::string::npos; ++at)
    EXPECT_LT(std::min(seen.find('\r', at), seen.size()) - at - 3, 30U) << seen;
}

}  // namespace
}  // namespace t2o::test
