// LiteRT in its helper: what it says of models, and what it computes, with each library that the set-up has got.
#include "engines/litert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/mapped_file.h"
#include "tests/support/litert.h"
#include "verify/random.h"

namespace t2o::engines {
namespace {

std::string model_path(const std::string& name) { return T2O_SOURCE_DIR "/tests/data/litert/" + name + ".tflite"; }

class LiteRt : public testing::TestWithParam<std::string> {
 protected:
  LiteModel open(const std::string& name, LiteKernels kernels = LiteKernels::xnnpack) const {
    return LiteModel::from_file(model_path(name), {.library = GetParam(), .kernels = kernels});
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LiteRt);
INSTANTIATE_TEST_SUITE_P(Engines, LiteRt, testing::ValuesIn(test::litert_libraries()), [](const auto& p) {
  return p.param.find("libLiteRt") != std::string::npos ? std::string("LiteRt") : std::string("TensorFlowLiteC");
});

TEST(LiteRtLibraries, AreBothThere) {
  const auto found = test::litert_libraries();
  if (found.size() == 2) return;
  if (std::getenv("T2O_REQUIRE_ENGINES")) FAIL() << "LiteRT is not there";
  GTEST_SKIP() << "LiteRT is not there";
}

std::size_t signature(const LiteModel& m, const std::string& key) {
  for (std::size_t i = 0; i < m.signatures().size(); ++i)
    if (m.signatures()[i].key == key) return i;
  ADD_FAILURE() << "no signature " << key;
  return 0;
}

TensorPtr sample(const LiteTensor& t, const Ints& dims) {
  verify::Random random(11);
  return verify::random_tensor(t.dtype, dims, random);
}

Diagnostic error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ConversionError& e) {
    return e.diagnostic();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST_P(LiteRt, SaysWhichItIs) {
  const LiteVersion v = litert_version({.library = GetParam()});
  EXPECT_EQ(v.path, GetParam());
  EXPECT_EQ(v.version.find('.'), 1U) << v.version;
}

TEST_P(LiteRt, DescribesItsInterface) {
  const LiteModel m = open("net_int8");
  const LiteSignature& s = m.signatures()[0];
  ASSERT_EQ(s.inputs.size(), 1U);
  ASSERT_EQ(s.outputs.size(), 1U);
  EXPECT_EQ(s.inputs[0].dtype, DType::i8);
  EXPECT_EQ(s.inputs[0].shape, Shape({1, 8, 8, 3}));
  EXPECT_TRUE(s.inputs[0].is_quantized());
  EXPECT_NEAR(s.inputs[0].scales[0], 2.0 / 255, 1e-3);
  EXPECT_EQ(s.inputs[0].zero_points.size(), 1U);
  EXPECT_TRUE(s.outputs[0].is_quantized());
  const LiteModel open_batch = open("net_float");
  EXPECT_EQ(open_batch.signatures()[0].inputs[0].shape, Shape({-1, 8, 8, 3}));
  EXPECT_FALSE(open_batch.signatures()[0].inputs[0].is_quantized());
}

TEST_P(LiteRt, RunsWithOtherSizes) {
  LiteModel m = open("net_float");
  const TensorPtr many = sample(m.signatures()[0].inputs[0], {5, 8, 8, 3});
  const std::vector<TensorPtr> all = m.run(0, {many});
  ASSERT_EQ(all[0]->dims(), (Ints{5, 10}));
  const std::size_t image = 8 * 8 * 3 * sizeof(float);
  for (std::int64_t i = 0; i < 5; ++i) {  // each image alone gives the same
    const Bytes part = many->bytes().subspan(static_cast<std::size_t>(i) * image, image);
    const TensorPtr one = std::make_shared<Tensor>(
        DType::f32, Ints{1, 8, 8, 3}, heap_storage(std::vector<std::byte>(part.begin(), part.end())));
    const std::vector<double> row = m.run(0, {one})[0]->to_floats();
    for (std::int64_t k = 0; k < 10; ++k)
      EXPECT_NEAR(row[static_cast<std::size_t>(k)], all[0]->float_at(i * 10 + k), 1e-5);
  }
}

TEST_P(LiteRt, ModelsFromBytesAreTheSame) {
  const MappedFilePtr file = MappedFile::open(model_path("net_float"));
  LiteModel a = LiteModel::from_bytes(file->bytes(), {.library = GetParam()}), b = open("net_float");
  const TensorPtr x = sample(a.signatures()[0].inputs[0], {2, 8, 8, 3});
  EXPECT_TRUE(same_content(*a.run(0, {x})[0], *b.run(0, {x})[0]));
}

TEST_P(LiteRt, BothKernelsAgreeNearly) {
  LiteModel xnnpack = open("softmax_int8"), builtin = open("softmax_int8", LiteKernels::builtin);
  const TensorPtr x = sample(xnnpack.signatures()[0].inputs[0], {4, 16});
  const TensorPtr a = xnnpack.run(0, {x})[0], b = builtin.run(0, {x})[0];
  for (std::int64_t i = 0; i < a->elements(); ++i) EXPECT_LE(std::abs(a->int_at(i) - b->int_at(i)), 3);
}

TEST_P(LiteRt, EachRunStartsAnewOrGoesOn) {
  LiteModel m = open("counter");
  const TensorPtr x = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(m.run(0, {x})[0]->to_floats(), (std::vector<double>{11, 22}));
  EXPECT_EQ(m.run(0, {x})[0]->to_floats(), (std::vector<double>{11, 22}));
  EXPECT_EQ(m.run(0, {x}, true)[0]->to_floats(), (std::vector<double>{12, 24}));
  EXPECT_EQ(m.run(0, {x}, true)[0]->to_floats(), (std::vector<double>{13, 26}));
  EXPECT_EQ(m.run(0, {x})[0]->to_floats(), (std::vector<double>{11, 22}));
}

TEST_P(LiteRt, VariableTensorsStartAnew) {
  LiteModel m = open("lstm");
  const TensorPtr x = sample(m.signatures()[0].inputs[0], {1, 5, 4});
  const TensorPtr first = m.run(0, {x})[0];
  EXPECT_TRUE(same_content(*first, *m.run(0, {x})[0]));
}

TEST_P(LiteRt, SeveralSignatures) {
  LiteModel m = open("two_signatures");
  const std::size_t add = signature(m, "add"), twice = signature(m, "twice");
  const LiteSignature& s = m.signatures()[add];
  ASSERT_EQ(s.inputs.size(), 2U);
  std::vector<TensorPtr> inputs(2);
  for (std::size_t i = 0; i < 2; ++i)
    inputs[i] = s.inputs[i].key == "a" ? Tensor::of<float>({3}, {5, 6, 7}) : Tensor::of<float>({3}, {1, 1, 2});
  const std::vector<TensorPtr> got = m.run(add, inputs);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(got[i]->to_floats(), s.outputs[i].key == "sum" ? (std::vector<double>{6, 7, 9})
                                                             : (std::vector<double>{4, 5, 5}));
  EXPECT_EQ(m.run(twice, {Tensor::of<float>({2, 2}, {1, 2, 3, 4})})[0]->to_floats(),
            (std::vector<double>{2, 4, 6, 8}));
}

// Strings, and shapes that depend on values: the interface of TensorFlow Lite passes them, that of LiteRT says that it does not.
TEST_P(LiteRt, StringsAndShapesByValue) {
  LiteModel m = open("found");
  const LiteSignature& s = m.signatures()[0];
  std::vector<TensorPtr> inputs;
  for (const LiteTensor& t : s.inputs)
    inputs.push_back(t.dtype == DType::string
                         ? std::make_shared<Tensor>(Ints{2}, Strings{"one", std::string("t\0o", 3)})
                         : Tensor::of<float>({6}, {1, -1, 0, 2, 3, -4}));
  if (!m.version().is_complete) {
    const Diagnostic d = error_of([&] { m.run(0, inputs); });
    EXPECT_NE(d.remedy.find("libtensorflowlite_c.so"), std::string::npos) << to_string(d);
    return;
  }
  const std::vector<TensorPtr> got = m.run(0, inputs);
  for (const TensorPtr& t : got) {
    if (t->dtype() == DType::string) {
      EXPECT_EQ(t->strings(), (Strings{std::string("t\0o", 3), "one"}));
      continue;
    }
    EXPECT_EQ(t->dims(), (Ints{3, 1}));
    EXPECT_EQ(t->to_ints(), (Ints{0, 3, 4}));
  }
}

TEST_P(LiteRt, WhatItRefusesIsAnErrorAndNotTheEnd) {
  LiteModel m = open("net_float");
  const TensorPtr good = sample(m.signatures()[0].inputs[0], {1, 8, 8, 3});
  for (const TensorPtr& bad : {Tensor::of<std::int32_t>({1}, {1}), Tensor::of<float>({2, 2}, {1, 2, 3, 4})}) {
    const Diagnostic d = error_of([&] { m.run(0, {bad}); });
    EXPECT_NE(d.message.find("LiteRT "), std::string::npos) << d.message;
    EXPECT_EQ(m.run(0, {good})[0]->dims(), (Ints{1, 10}));
  }
  error_of([&] { m.run(0, {}); });
  error_of([&] { m.run(99, {good}); });
  EXPECT_EQ(m.run(0, {good})[0]->dims(), (Ints{1, 10}));
}

TEST_P(LiteRt, FilesThatAreNoModels) {
  const std::string junk(1000, 'j');
  error_of([&] { LiteModel::from_bytes(std::as_bytes(std::span(junk)), {.library = GetParam()}); });
  EXPECT_EQ(error_of([&] { LiteModel::from_file("/nowhere.tflite", {.library = GetParam()}); }).code, Code::bad_file);
}

// A damaged model may crash LiteRT; then that is an error here, and never the end of this process.
TEST_P(LiteRt, DamagedModels) {
  const MappedFilePtr file = MappedFile::open(model_path("net_int8"));
  std::string bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  int crashes = 0;
  for (std::size_t i = 8; i < bytes.size(); i += 61) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    try {
      LiteModel m = LiteModel::from_bytes(std::as_bytes(std::span(damaged)), {.library = GetParam(), .time_limit = 20});
      m.run(0, {sample(m.signatures().at(0).inputs.at(0), {1, 8, 8, 3})});
    } catch (const ConversionError& e) {
      crashes += e.diagnostic().message.find("crashed (SIG") != std::string::npos;
    } catch (const std::exception&) {  // the interface is another now
    }
  }
  RecordProperty("crashes", crashes);
}

}  // namespace
}  // namespace t2o::engines
