#include "support/write_behind.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "diagnostics.h"
#include "support/parallel.h"

namespace t2o {
namespace {

std::byte byte_of(int tensor, std::size_t i) { return static_cast<std::byte>(i * 31 + i / 4099 + static_cast<std::size_t>(tensor)); }

PartReader reader(int tensor, std::size_t piece) {
  PartReader parts;
  parts.piece = piece;
  parts.read = [tensor](std::size_t at, std::span<std::byte> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = byte_of(tensor, at + i);
  };
  parts.computes = true;
  return parts;
}

class WriteBehindTest : public testing::Test {
 protected:
  std::string path_ = (std::filesystem::temp_directory_path() / ("t2o_write_behind_" + std::to_string(getpid()))).string();
  HelpingThreads threads_{3};
  ~WriteBehindTest() override { std::filesystem::remove(path_); }
};

TEST_F(WriteBehindTest, KeepsTheOrderOfPiecesOfAllKinds) {
  std::string expected;
  const auto expect = [&](int tensor, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) expected += static_cast<char>(byte_of(tensor, i));
  };
  {
    AtomicFile file(path_);
    WriteBehind out(file);
    for (int t = 0; t < 12; ++t) {
      const std::size_t n = t % 3 == 0 ? 3'000'000 : 700'001 + static_cast<std::size_t>(t) * 1000;
      if (t % 4 == 1) {
        const auto whole = std::make_shared<std::vector<std::byte>>(n);
        reader(t, n).read(0, *whole);
        out.write(OwnedBytes{*whole, whole});
      } else {
        out.write(reader(t, 100'000 + static_cast<std::size_t>(t) * 77'777), n);
      }
      expect(t, n);
      const std::byte small[] = {byte_of(t, 0), byte_of(t, 1), byte_of(t, 2)};
      out.write(Bytes(small));
      expect(t, 3);
    }
    out.finish();
    file.commit();
  }
  std::ifstream in(path_, std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(in), {}) == expected);
}

TEST_F(WriteBehindTest, ThrowsWhatMakingAPieceThrew) {
  for (const std::size_t bad : {std::size_t{0}, std::size_t{2'000'000}, std::size_t{59'000'000}}) {
    AtomicFile file(path_);
    WriteBehind out(file);
    PartReader parts = reader(1, 1'000'000);
    parts.read = [&, read = parts.read](std::size_t at, std::span<std::byte> to) {
      if (at == bad) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the others run ahead and wait
        throw std::runtime_error("damaged");
      }
      read(at, to);
    };
    EXPECT_THROW(out.write(parts, 60'000'000), std::runtime_error);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WriteBehindTest, ThrowsWhatWritingThrew) {
  AtomicFile file("/dev/full");
  WriteBehind out(file);
  EXPECT_THROW(
      {
        for (int i = 0; i < 10; ++i) out.write(reader(i, 1'000'000), 8'000'000);
        out.finish();
      },
      ConversionError);
}

TEST_F(WriteBehindTest, ManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::string path = path_ + std::to_string(t);
      {
        AtomicFile file(path);
        WriteBehind out(file);
        for (int i = 0; i < 5; ++i) out.write(reader(t, 300'000), 2'000'000);
        out.finish();
        file.commit();
      }
      right += std::filesystem::file_size(path) == 10'000'000;
      std::filesystem::remove(path);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 4);
}

}  // namespace
}  // namespace t2o
