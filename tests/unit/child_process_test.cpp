// The process beside this one: what it says, how it ends, and that nothing of it harms this one.
#include "engines/child_process.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "diagnostics.h"
#include "engines/litert.h"
#include "engines/litert/protocol.h"

namespace t2o::engines {
namespace {

using namespace std::chrono_literals;
using Result = ChildProcess::Result;

ChildProcess::Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

std::string received(ChildProcess& child, std::size_t size) {
  std::string text(size, '\0');
  EXPECT_EQ(child.receive(text.data(), size, in(10s)), Result::ok);
  return text;
}

TEST(ChildProcess, SendsAndReceives) {
  ChildProcess echo("/bin/sh", {"-c", "cat <&3 >&3"});
  const std::string large(1 << 16, 'x');
  ASSERT_EQ(echo.send(large.data(), large.size(), in(10s)), Result::ok);
  EXPECT_EQ(received(echo, large.size()), large);
}

TEST(ChildProcess, SaysHowItEnded) {
  for (const auto& [script, end] : std::vector<std::pair<std::string, std::string>>{
           {"kill -SEGV $$", "SIGSEGV"}, {"kill -ABRT $$", "SIGABRT"}, {"exit 7", "exit code 7"}}) {
    ChildProcess child("/bin/sh", {"-c", "echo one; echo two >&2; " + script});
    char byte = 0;
    EXPECT_EQ(child.receive(&byte, 1, in(10s)), Result::closed);
    EXPECT_EQ(child.end(), end);
    EXPECT_EQ(child.log(), "one\ntwo\n");
  }
}

TEST(ChildProcess, HasATimeLimit) {
  ChildProcess child("/bin/sh", {"-c", "exec sleep 100"});
  char byte = 0;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(child.receive(&byte, 1, in(50ms)), Result::late);
  const std::string more(std::size_t{1} << 24, 'x');  // more than the socket holds
  EXPECT_EQ(child.send(more.data(), more.size(), in(50ms)), Result::late);
  child.kill();
  EXPECT_EQ(child.end(), "SIGKILL");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

TEST(ChildProcess, GetsNoOtherFileOfThisProcess) {
  const std::ofstream open("/dev/null");
  ChildProcess child("/bin/sh", {"-c", "ls /proc/self/fd | tr '\\n' ' ' >&2"});
  char byte = 0;
  EXPECT_EQ(child.receive(&byte, 1, in(10s)), Result::closed);
  child.end();
  EXPECT_EQ(child.log(), "0 1 2 3 4 ");  // 4: ls reads the folder
}

TEST(ChildProcess, ThatIsNotThere) {
  EXPECT_THROW(ChildProcess("/nowhere/program", {}), ConversionError);
}

// A helper that does what a bad LiteRT might.
class FaultyHelper {
 public:
  explicit FaultyHelper(const std::string& script) : path_(::testing::TempDir() + "faulty_helper_" + std::to_string(getpid()) + ".sh") {
    std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
    chmod(path_.c_str(), 0700);
  }
  ~FaultyHelper() { std::filesystem::remove(path_); }
  Diagnostic error(double time_limit = 60) const {
    try {
      litert_version({.library = "/nowhere.so", .helper = path_, .time_limit = time_limit});
    } catch (const ConversionError& e) {
      return e.diagnostic();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

 private:
  std::string path_;
};

std::string bytes_in_shell(const std::string& bytes) {
  std::string text = "printf '";
  for (const char c : bytes) {
    char octal[8];
    std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += octal;
  }
  return text + "' >&3";
}

TEST(LiteHelper, ThatCrashes) {
  const Diagnostic d = FaultyHelper("echo 'the reason' >&2; kill -SEGV $$").error();
  EXPECT_NE(d.message.find("LiteRT crashed (SIGSEGV)"), std::string::npos) << d.message;
  EXPECT_NE(d.message.find("the reason"), std::string::npos) << d.message;
}

TEST(LiteHelper, ThatCrashesLater) {
  const std::string doing = bytes_in_shell(lite::frame(lite::Kind::doing, "loading the model"));
  const Diagnostic d = FaultyHelper(doing + "; kill -ABRT $$").error();
  EXPECT_NE(d.message.find("(SIGABRT) while it was loading the model"), std::string::npos) << d.message;
}

TEST(LiteHelper, ThatHangs) {
  const Diagnostic d = FaultyHelper("exec sleep 100").error(0.2);
  EXPECT_NE(d.message.find("not done with starting"), std::string::npos) << d.message;
}

TEST(LiteHelper, WhoseAnswerIsNone) {
  lite::FrameHead large;
  large.size = lite::kLargestFrame + 1;
  const std::string too_large(reinterpret_cast<const char*>(&large), sizeof large);
  for (const std::string& answer : {std::string(64, 'x'), too_large, lite::frame(lite::Kind::done, "ab"),
                                    lite::frame(lite::Kind::failed, std::string(9, '\xff')),
                                    lite::frame(lite::Kind::done, lite::encode(lite::OpenReply{}) + "more")})
    EXPECT_EQ(FaultyHelper(bytes_in_shell(answer) + "; exec sleep 100").error().code, Code::internal) << answer;
}

TEST(LiteHelper, WithoutALibrary) {
  try {
    litert_version({.library = "/nowhere/libLiteRt.so", .helper = T2O_LITERT_HELPER});
    FAIL();
  } catch (const ConversionError& e) {
    EXPECT_EQ(e.diagnostic().code, Code::engine_missing);
    EXPECT_NE(e.diagnostic().message.find("/nowhere/libLiteRt.so"), std::string::npos) << e.what();
    EXPECT_NE(e.diagnostic().remedy.find("scripts/setup.sh --engines"), std::string::npos) << e.what();
  }
}

TEST(LiteHelper, RefusesALibraryOfAnotherKind) {
  try {
    litert_version({.library = "libc.so.6", .helper = T2O_LITERT_HELPER});
    FAIL();
  } catch (const ConversionError& e) {
    EXPECT_NE(e.diagnostic().message.find("neither the C interface"), std::string::npos) << e.what();
  }
}

TEST(LiteHelper, EndsAtBadRequests) {
  for (const std::string& request :
       {std::string(64, 'x'), lite::frame(lite::Kind::load, "x"), lite::frame(lite::Kind::open, "xyz"),
        lite::frame(lite::Kind::done, "")}) {
    ChildProcess helper(T2O_LITERT_HELPER, {"--serve"});
    ASSERT_EQ(helper.send(request.data(), request.size(), in(10s)), Result::ok);
    char byte = 0;
    EXPECT_EQ(helper.receive(&byte, 1, in(10s)), Result::closed);
    EXPECT_EQ(helper.end(), "exit code 3") << helper.log();
  }
}

TEST(LiteProtocol, GivesBackWhatItWasGiven) {
  const lite::TensorValue tensor{5, {2}, "", {"a", std::string("b\0c", 3)}};
  const auto run = lite::decode<lite::RunRequest>(lite::encode(lite::RunRequest{3, true, {tensor}}));
  EXPECT_EQ(run.signature, 3U);
  EXPECT_TRUE(run.keep_state);
  EXPECT_EQ(run.inputs.at(0).strings, tensor.strings);
  EXPECT_EQ(run.inputs.at(0).dims, tensor.dims);
}

// Cut anywhere, or with any byte changed, a message is read or refused.
TEST(LiteProtocol, DamagedMessages) {
  const std::string whole = lite::encode(lite::RunReply{{{1, {1, 2}, "12345678", {}}, {5, {1}, "", {"text"}}}});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_THROW(lite::decode<lite::RunReply>(std::string_view(whole).substr(0, i)), lite::BadMessage);
    for (const char byte : {'\0', '\1', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = byte;
      try {
        lite::decode<lite::RunReply>(damaged);
      } catch (const lite::BadMessage&) {
      }
    }
  }
}

}  // namespace
}  // namespace t2o::engines
