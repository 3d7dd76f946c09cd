#include "verify/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "diagnostics.h"
#include "verify/npy.h"

namespace t2o::verify {
namespace {

namespace fs = std::filesystem;

std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                const std::string& order = "False") {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 0xff) +
         static_cast<char>(header.size() >> 8) + header + data;
}

Bytes as_bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string little(std::uint32_t v, int bytes) {
  std::string s;
  for (int i = 0; i < bytes; ++i) s += static_cast<char>(v >> (8 * i));
  return s;
}

std::string zip(const std::string& name, const std::string& content, std::uint32_t method = 0) {
  const auto size = static_cast<std::uint32_t>(content.size()),
             name_size = static_cast<std::uint32_t>(name.size());
  const std::string common = little(20, 2) + little(0, 2) + little(method, 2) + little(0, 4) + little(0, 4) +
                             little(size, 4) + little(size, 4) + little(name_size, 2);
  const std::string local = "PK\3\4" + common + little(0, 2) + name + content;
  const std::string entry = "PK\1\2" + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) +
                            little(0, 2) + little(0, 4) + little(0, 4) + name;
  return local + entry + "PK\5\6" + little(0, 4) + little(1, 2) + little(1, 2) +
         little(static_cast<std::uint32_t>(entry.size()), 4) +
         little(static_cast<std::uint32_t>(local.size()), 4) + little(0, 2);
}

// onnx.TensorProto { dims: 2, data_type: FLOAT, name, raw_data }
std::string tensor_pb(const std::string& name, float a, float b) {
  std::string raw(8, '\0');
  std::memcpy(raw.data(), &a, 4);
  std::memcpy(raw.data() + 4, &b, 4);
  return std::string("\x08\x02\x10\x01\x42", 5) + static_cast<char>(name.size()) + name + "\x4a\x08" + raw;
}

class Folder {
 public:
  Folder()
      : path_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& content) const {
    const fs::path path = path_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

const std::vector<Port> kTwo = {{"x", "in_x:0", DType::f32, Shape({-1})},
                                {"y", "in_y:0", DType::f32, Shape({2})}};

TEST(VerifyNpy, ReadsNumbersAndStrings) {
  const TensorPtr t = parse_npy(as_bytes(npy("<i2", "(2, 1)", std::string("\x05\x00\xff\xff", 4))), "t");
  EXPECT_EQ(t->dims(), (Ints{2, 1}));
  EXPECT_EQ(t->to_ints(), (Ints{5, -1}));
  EXPECT_EQ(parse_npy(as_bytes(npy("|S3", "(2,)", std::string("ab\0cde", 6))), "t")->strings(),
            (Strings{"ab", "cde"}));
  EXPECT_EQ(parse_npy(as_bytes(npy("<U2", "()", std::string("\xe9\0\0\0x\0\0\0", 8))), "t")->strings(),
            (Strings{"\xc3\xa9x"}));
}

TEST(VerifyNpy, RefusesWhatItDoesNotUnderstand) {
  for (const std::string& bad :
       {std::string(), std::string("\x93NUMPY"), npy("<f4", "(2,)", "1234"), npy(">f4", "(1,)", "1234"),
        npy("<f4", "(1,)", "1234", "True"), npy("|O", "(1,)", "12345678"), npy("<f4", "(-1,)", "1234"),
        npy("<f4", "(9223372036854775807, 4)", "1234"), npy("<c16", "(2305843009213693952,)", ""),
        npy("|S0", "(9000000000000,)", ""), npy("<f4", "x", "1234"), npy("", "(1,)", "1234")})
    EXPECT_THROW(parse_npy(as_bytes(bad), "t"), ConversionError) << bad;
}

TEST(VerifyNpy, ReadsArchives) {
  const std::string file = zip("x.npy", npy("|u1", "(2,)", "\x01\x02"));
  const auto arrays = parse_npz(as_bytes(file), "t");
  ASSERT_EQ(arrays.size(), 1U);
  EXPECT_EQ(arrays[0].name, "x");
  EXPECT_EQ(arrays[0].tensor->to_ints(), (Ints{1, 2}));
  EXPECT_THROW(parse_npz(as_bytes(zip("x.npy", "abc", 8)), "t"), ConversionError);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string cut = file.substr(0, size);
    EXPECT_THROW(parse_npz(as_bytes(cut), "t"), ConversionError) << size;
  }
}

TEST(VerifyInputs, ChoosesSizes) {
  EXPECT_EQ(chosen_dims({"x", "", DType::f32, Shape({-1, -1, -1, 3})}), (Ints{2, 64, 64, 3}));
  EXPECT_EQ(chosen_dims({"x", "", DType::f32, Shape({-2, 3, -1, -1})}), (Ints{2, 3, 64, 64}));
  EXPECT_EQ(chosen_dims({"x", "", DType::i64, Shape({-1, -3})}), (Ints{2, 7}));
  EXPECT_EQ(chosen_dims({"x", "", DType::f32, Shape::scalar()}), Ints{});
  EXPECT_THROW(chosen_dims({"x", "", DType::f32, Shape()}), ConversionError);
}

TEST(VerifyInputs, ShapesFromTheUser) {
  std::vector<Port> ports = kTwo;
  apply_input_shapes(ports, {"in_x:0:5"});
  EXPECT_EQ(ports[0].shape, Shape({5}));
  for (const std::string bad : {"z:1", "x:a", "x:-1", "x:1;2", "y:3", "4"}) {
    ports = kTwo;
    EXPECT_THROW(apply_input_shapes(ports, {bad}), ConversionError) << bad;
  }
}

TEST(VerifyInputs, RandomSamplesDifferBySeedOnly) {
  EXPECT_TRUE(same_content(*random_sample(kTwo, 4).inputs[0], *random_sample(kTwo, 4).inputs[0]));
  EXPECT_FALSE(same_content(*random_sample(kTwo, 4).inputs[0], *random_sample(kTwo, 5).inputs[0]));
}

TEST(VerifyInputs, QuantizedInputsTakeAllCodes) {
  for (const auto& [dtype, low, high] : {std::tuple(DType::i8, -128, 127), std::tuple(DType::u8, 0, 255), std::tuple(DType::i16, -32767, 32767)}) {
    Port port{"x", "x", dtype, Shape({100000})};
    port.codes = {1, static_cast<int>(bit_width(dtype))};
    const Ints values = random_sample({port}, 1).inputs[0]->to_ints();
    EXPECT_NEAR(static_cast<double>(*std::min_element(values.begin(), values.end())), low, bit_width(dtype) == 16 ? 10 : 0);
    EXPECT_NEAR(static_cast<double>(*std::max_element(values.begin(), values.end())), high, bit_width(dtype) == 16 ? 10 : 0);
    EXPECT_GE(*std::min_element(values.begin(), values.end()), low);
  }
}

TEST(VerifyInputs, ReadsDataSets) {
  const Folder folder;
  folder.write("test_data_set_0/input_0.pb", tensor_pb("y", 1, 2));
  folder.write("test_data_set_0/input_1.pb", tensor_pb("other", 3, 4));
  folder.write("test_data_set_0/output_0.pb", tensor_pb("", 5, 6));
  const auto samples = read_samples({folder.path()}, kTwo, 1);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].label, "test_data_set_0");
  EXPECT_EQ(samples[0].inputs[0]->to_floats(), (std::vector<double>{3, 4}));
  EXPECT_EQ(samples[0].inputs[1]->to_floats(), (std::vector<double>{1, 2}));
  EXPECT_EQ(samples[0].expected[0]->to_floats(), (std::vector<double>{5, 6}));
  EXPECT_THROW(read_samples({folder.path()}, kTwo, 2), ConversionError);
}

TEST(VerifyInputs, ReadsAllDataSetsOfAFolderInTheirOrder) {
  const Folder folder;
  const std::vector<Port> one = {kTwo[0]};
  for (const char* set : {"test_data_set_10", "test_data_set_2", "test_data_set_0", "own"})
    folder.write(std::string(set) + "/input_0.pb", tensor_pb("", 1, 2));
  folder.write("model.onnx", "");
  Strings labels;
  for (const Sample& s : read_samples({folder.path()}, one, 1)) labels.push_back(s.label);
  EXPECT_EQ(labels, (Strings{"own", "test_data_set_0", "test_data_set_2", "test_data_set_10"}));
  EXPECT_EQ(read_samples({folder.path() + "/own/"}, one, 1)[0].label, "own");
  folder.write("test_data_set_3/output_0.pb", tensor_pb("", 1, 2));
  EXPECT_THROW(read_samples({folder.path()}, one, 1), ConversionError) << "it has no input";
  EXPECT_EQ(read_samples({folder.path() + "/test_data_set_3"}, {}, 1).size(), 1U);
}

TEST(VerifyInputs, ReadsNamedFiles) {
  const Folder folder;
  const std::string a = folder.write("a.npy", npy("<f4", "(2,)", std::string(8, '\0')));
  const std::string b = folder.write("b.pb", tensor_pb("", 1, 2));
  const auto samples = read_samples({"y=" + b, "x=" + a}, kTwo, 1);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].inputs[1]->to_floats(), (std::vector<double>{1, 2}));
  EXPECT_THROW(read_samples({"z=" + a, b}, kTwo, 1), ConversionError);
  EXPECT_THROW(read_samples({a}, kTwo, 1), ConversionError);
  EXPECT_THROW(read_samples({folder.path()}, kTwo, 1), ConversionError);
  EXPECT_THROW(read_samples({folder.write("c.txt", "")}, kTwo, 1), ConversionError);
}

}  // namespace
}  // namespace t2o::verify
