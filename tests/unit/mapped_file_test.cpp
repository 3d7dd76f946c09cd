#include "support/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "diagnostics.h"
#include "support/crc32c.h"

namespace t2o {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("mapped_file_test." + std::to_string(::getpid()));
    std::ofstream(path_, std::ios::binary) << content_;
  }
  void TearDown() override { fs::remove(path_); }

  static Bytes bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }
  std::string read(Storage& s) {
    std::string out;
    s.stream([&](Bytes b) { out.append(reinterpret_cast<const char*>(b.data()), b.size()); });
    return out;
  }

  fs::path path_;
  std::string content_ = std::string(20 << 20, 'x') + "end";  // several chunks
};

Code code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ConversionError& e) {
    return e.diagnostic().code;
  }
  return Code::internal;
}

TEST_F(MappedFileTest, StorageIsAView) {
  const MappedFilePtr file = MappedFile::open(path_.string());
  ASSERT_EQ(file->size(), content_.size());
  const StoragePtr tail = mapped_storage(file, content_.size() - 3, 3);
  EXPECT_EQ(tail->bytes().data(), file->bytes().data() + content_.size() - 3);
  EXPECT_EQ(read(*tail), "end");
  tail->release();
  EXPECT_EQ(read(*tail), "end");
}

// What of the file is in this process's memory.
std::size_t resident_kilobytes(const fs::path& file) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t sum = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" kB") == std::string::npos) inside = line.ends_with(file.string());
    if (inside && line.starts_with("Rss:")) sum += std::stoul(line.substr(4));
  }
  return sum;
}

TEST_F(MappedFileTest, ViewsGiveTheirPagesBack) {
  const MappedFilePtr file = MappedFile::open(path_.string());
  const StoragePtr checked = mapped_storage(file, 0, content_.size(), ExpectedCrc{crc32c(bytes_of(content_)), "t"});
  const StoragePtr viewed = borrowed_storage(file->bytes(), file);
  const auto touch = [](Bytes b) { return crc32c(b); };
  for (const StoragePtr& s : {viewed, checked}) {
    touch(s->bytes());
    EXPECT_GE(resident_kilobytes(path_), 20U << 10);
    s->release();
    EXPECT_LE(resident_kilobytes(path_), 128U);
    s->stream(touch);
    EXPECT_LE(resident_kilobytes(path_), 128U);
    const auto take = [&] { touch(s->take().bytes); };
    take();
    EXPECT_LE(resident_kilobytes(path_), 128U);
  }
}

TEST_F(MappedFileTest, StreamsInPiecesAndKeepsTheContent) {
  const StoragePtr all = mapped_storage(MappedFile::open(path_.string()), 0, content_.size(),
                                        ExpectedCrc{crc32c(bytes_of(content_)), "t"});
  EXPECT_EQ(read(*all), content_);
  EXPECT_EQ(read(*all), content_);
  EXPECT_EQ(all->bytes().size(), content_.size());
}

TEST_F(MappedFileTest, WrongChecksumNamesFileAndTensor) {
  const StoragePtr bad =
      mapped_storage(MappedFile::open(path_.string()), 0, content_.size(), ExpectedCrc{1, "dense/kernel"});
  try {
    (void)bad->bytes();
    FAIL();
  } catch (const ConversionError& e) {
    EXPECT_EQ(e.diagnostic().code, Code::bad_file);
    EXPECT_NE(e.diagnostic().message.find("dense/kernel"), std::string::npos);
    EXPECT_NE(e.diagnostic().message.find(path_.string()), std::string::npos);
  }
  EXPECT_EQ(code_of([&] { read(*bad); }), Code::bad_file);
}

TEST_F(MappedFileTest, PartsOutsideOfTheFileAreRefused) {
  const MappedFilePtr file = MappedFile::open(path_.string());
  EXPECT_EQ(code_of([&] { mapped_storage(file, content_.size(), 1); }), Code::bad_file);
  EXPECT_EQ(code_of([&] { mapped_storage(file, 1, ~std::uint64_t{0}); }), Code::bad_file);
  EXPECT_EQ(mapped_storage(file, content_.size(), 0)->bytes().size(), 0u);
}

TEST_F(MappedFileTest, WhatCannotBeReadIsRefused) {
  EXPECT_EQ(code_of([&] { MappedFile::open(path_.string() + ".missing"); }), Code::bad_file);
  EXPECT_EQ(code_of([&] { MappedFile::open(path_.parent_path().string()); }), Code::bad_file);
  std::ofstream(path_, std::ios::trunc);
  EXPECT_EQ(MappedFile::open(path_.string())->size(), 0u);
}

}  // namespace
}  // namespace t2o
