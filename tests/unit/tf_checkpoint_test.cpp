#include "tf/checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "diagnostics.h"
#include "ir/attr.h"
#include "tf/checkpoint_slices.h"

namespace t2o::tf {
namespace {

namespace fs = std::filesystem;

const std::string kData = T2O_SOURCE_DIR "/tests/data/";

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ConversionError& e) {
    return e.what();
  }
  return "no error";
}

testing::AssertionResult says(const std::string& error, const std::string& part) {
  if (error.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << error << "' does not say '" << part << "'";
}

class Copy {  // of a checkpoint, to be damaged
 public:
  explicit Copy(const std::string& name)
      : dir_(fs::temp_directory_path() / ("checkpoint_test." + std::to_string(::getpid()))) {
    fs::create_directories(dir_);
    for (const auto& f : fs::directory_iterator(kData + "checkpoint"))
      if (f.path().stem() == name) fs::copy(f.path(), dir_ / f.path().filename());
    prefix_ = (dir_ / name).string();
  }
  ~Copy() { fs::remove_all(dir_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  const std::string& prefix() const { return prefix_; }
  std::string path(const std::string& suffix) const { return prefix_ + suffix; }
  void flip(const std::string& suffix, std::streamoff at) const {
    std::fstream f(path(suffix), std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(at);
    const auto c = static_cast<char>(f.get() ^ 0x10);
    f.seekp(at);
    f.put(c);
  }

 private:
  fs::path dir_;
  std::string prefix_;
};

TEST(Checkpoint, ReadsEveryNumberType) {
  const CheckpointPtr c = Checkpoint::open(kData + "checkpoint/types");
  for (const char* type : {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "uint16",
                           "int32", "uint32", "int64", "uint64"}) {
    const TensorPtr t = c->read(type);
    EXPECT_EQ(t->dtype(), dtype_from_name(type)) << type;
    EXPECT_EQ(t->dims(), (Ints{2, 3})) << type;
    EXPECT_EQ(t->to_floats(), (std::vector<double>{0, 1, 2, 3, 4, 5})) << type;
  }
  EXPECT_EQ(c->read("complex64")->at<float>(10), 5.0f);
  EXPECT_EQ(c->read("bool")->to_ints(), (Ints{1, 0, 1}));
  EXPECT_EQ(c->read("scalar")->dims(), Ints{});
  EXPECT_EQ(c->read("empty")->dims(), (Ints{0, 3}));
  EXPECT_EQ(c->read("empty")->bytes().size(), 0u);
}

TEST(Checkpoint, PacksFourBitIntegers) {
  const CheckpointPtr c = Checkpoint::open(kData + "checkpoint/types");
  EXPECT_EQ(c->read("int4")->byte_size(), 3u);
  EXPECT_EQ(c->read("int4")->to_ints(), (Ints{-8, -1, 0, 1, 7}));
  EXPECT_EQ(c->read("uint4")->to_ints(), (Ints{0, 1, 15}));
}

TEST(Checkpoint, ReadsStrings) {
  const TensorPtr t = Checkpoint::open(kData + "checkpoint/types")->read("strings");
  EXPECT_EQ(t->dims(), (Ints{2, 2}));
  EXPECT_EQ(t->strings(), (Strings{"", "a", std::string(300, 'b'), std::string("\0\xff", 2)}));
}

TEST(Checkpoint, ListsEntriesByKey) {
  const auto entries = Checkpoint::open(kData + "checkpoint/types.index")->entries();
  ASSERT_EQ(entries.size(), 20u);
  EXPECT_EQ(entries.front().key, "a/b/.ATTRIBUTES/VARIABLE_VALUE");
  EXPECT_EQ(entries.front().dtype, DType::f32);
  EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end(),
                             [](const auto& a, const auto& b) { return a.key < b.key; }));
  EXPECT_EQ(Checkpoint::open(kData + "checkpoint/sliced")->entries().size(), 2u);
}

TEST(Checkpoint, JoinsPartitionedVariables) {
  const CheckpointPtr c = Checkpoint::open(kData + "checkpoint/sliced");
  for (const char* name : {"rows", "columns"}) {
    const TensorPtr t = c->read(name);
    ASSERT_EQ(t->dims(), (Ints{4, 600}));
    for (std::int64_t i = 0; i < t->elements(); ++i)
      ASSERT_EQ(t->at<float>(i), static_cast<float>(i)) << name;
  }
}

TEST(Checkpoint, CutsSlices) {
  const CheckpointPtr c = Checkpoint::open(kData + "checkpoint/sliced");
  const TensorPtr stored = c->read_slice("columns", {{0, -1}, {500, 100}});
  EXPECT_EQ(stored->dims(), (Ints{4, 100}));
  EXPECT_EQ(stored->at<float>(100), 1100.0f);
  const TensorPtr cut = c->read_slice("columns", {{1, 2}, {498, 4}});
  EXPECT_EQ(cut->to_floats(), (std::vector<double>{1098, 1099, 1100, 1101, 1698, 1699, 1700, 1701}));
  EXPECT_TRUE(says(error_of([&] { c->read_slice("columns", {{3, 2}, {0, -1}}); }), "columns"));
}

TEST(Checkpoint, ReadsSeveralDataFiles) {
  const CheckpointPtr c = Checkpoint::open(kData + "checkpoint/sharded.data-00001-of-00002");
  EXPECT_EQ(c->read("first")->to_floats(), std::vector<double>(3, 1.0));
  EXPECT_EQ(c->read("second")->to_floats(), std::vector<double>(3, 2.0));
}

TEST(Checkpoint, FindsTheOneThatADirectoryMeans) {
  EXPECT_EQ(Checkpoint::open(kData + "checkpoint_state")->read("v")->float_at(0), 2.0);
  EXPECT_EQ(Checkpoint::open(kData + "keras3/variables")->prefix(), kData + "keras3/variables/variables");
  EXPECT_TRUE(says(error_of([] { Checkpoint::open(kData + "checkpoint"); }), "several checkpoints"));
  EXPECT_TRUE(says(error_of([] { Checkpoint::open(kData + "twins/assets"); }), "no checkpoint in"));
  EXPECT_TRUE(
      says(error_of([] { Checkpoint::open(kData + "checkpoint/none"); }), "none.index does not exist"));
}

TEST(Checkpoint, RefusesTheOldFormat) {
  EXPECT_TRUE(says(error_of([] { Checkpoint::open(kData + "checkpoint_v1/old.ckpt"); }), "V1 format"));
}

TEST(Checkpoint, RefusesAnUnknownKey) {
  EXPECT_TRUE(
      says(error_of([] { Checkpoint::open(kData + "checkpoint/types")->read("nothing"); }), "'nothing'"));
}

TEST(Checkpoint, FindsDamagedData) {
  const Copy copy("types");
  const CheckpointPtr c = Checkpoint::open(copy.prefix());
  const auto size = static_cast<std::streamoff>(fs::file_size(copy.path(".data-00000-of-00001")));
  for (std::streamoff i = 0; i < size; ++i) copy.flip(".data-00000-of-00001", i);
  for (const CheckpointEntry& e : c->entries()) {
    if (e.key == "empty") continue;
    EXPECT_TRUE(says(error_of([&] {
                       const TensorPtr t = c->read(e.key);
                       if (t->dtype() != DType::string) (void)t->bytes();
                     }),
                     "damaged"))
        << e.key;
  }
}

TEST(Checkpoint, FindsATruncatedDataFile) {
  const Copy copy("types");
  fs::resize_file(copy.path(".data-00000-of-00001"), 3);
  EXPECT_TRUE(says(error_of([&] { Checkpoint::open(copy.prefix())->read("float64"); }), "truncated"));
  fs::remove(copy.path(".data-00000-of-00001"));
  EXPECT_TRUE(says(error_of([&] { Checkpoint::open(copy.prefix())->read("float64"); }), "cannot read"));
}

// A few bytes are read by nobody (padding, LevelDB's empty table of filters): all others must be missed.
TEST(Checkpoint, ADamagedIndexIsRefusedOrChangesNothing) {
  const Copy copy("types");
  const auto list = [](const std::string& prefix) {
    std::string out;
    for (const CheckpointEntry& e : Checkpoint::open(prefix)->entries())
      out += e.key + std::to_string(e.dims.size()) + ",";
    return out;
  };
  const std::string whole = list(copy.prefix());
  const auto size = static_cast<std::streamoff>(fs::file_size(copy.path(".index")));
  int unnoticed = 0;
  for (std::streamoff i = 0; i < size; ++i) {
    copy.flip(".index", i);
    try {
      EXPECT_EQ(list(copy.prefix()), whole) << "byte " << i;
      ++unnoticed;
    } catch (const ConversionError&) {
    }
    copy.flip(".index", i);
  }
  EXPECT_LT(unnoticed, 60);
  for (std::streamoff i = 0; i < size; i += 7) {
    fs::resize_file(copy.path(".index"), static_cast<std::uintmax_t>(size - i - 1));
    EXPECT_NE(error_of([&] { Checkpoint::open(copy.prefix()); }), "no error") << i;
  }
}

TEST(Checkpoint, SliceKeysAreOrderedCode) {
  EXPECT_EQ(tensor_slice_key("a", {}), std::string("\0a\0\1\0", 5));
  EXPECT_EQ(tensor_slice_key("", {{0, -1}}), std::string("\0\0\1\1\1\x80\x7f", 7));
  EXPECT_EQ(tensor_slice_key("", {{64, 8192}}), std::string("\0\0\1\1\1\xc0\x40\xe0\x20\x00", 10));
}

TEST(Checkpoint, SlicesMustTile) {
  const auto slice = [](std::int64_t start, std::int64_t length) {
    return SliceData{{{start, length}}, nullptr};
  };
  EXPECT_TRUE(tile_exactly({4}, {slice(2, 2), slice(0, 2)}));
  EXPECT_FALSE(tile_exactly({4}, {slice(0, 2)}));
  EXPECT_FALSE(tile_exactly({4}, {slice(0, 2), slice(1, 2)}));
  EXPECT_FALSE(tile_exactly({4}, {slice(0, 2), slice(2, 3)}));
  EXPECT_FALSE(tile_exactly({4}, {slice(-1, 5)}));
}

}  // namespace
}  // namespace t2o::tf
