#include "tf2onnx/c_api.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

class CApi : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override {
    tf2onnx_options_free(options_);
    fs::remove_all(folder_);
  }
  void set(const char* name, const char* value) { ASSERT_EQ(tf2onnx_options_set(options_, name, value, nullptr), TF2ONNX_OK) << name; }

  fs::path folder_ = fs::path(testing::TempDir()) / "c_api";
  tf2onnx_options* options_ = tf2onnx_options_new();
};

TEST_F(CApi, SeveralSignaturesAreSeveralModels) {
  set("signature", "all");
  tf2onnx_result* r = nullptr;
  const std::string out = (folder_ / "m.onnx").string();
  ASSERT_EQ(tf2onnx_convert(options_, T2O_SOURCE_DIR "/tests/data/signatures", out.c_str(), &r), TF2ONNX_OK) << r->messages;
  EXPECT_EQ(r->opset, 21);
  EXPECT_EQ(r->ir_version, 10);
  EXPECT_EQ(r->data_path, out + ".data");
  EXPECT_EQ(r->data_bytes, fs::file_size(out + ".data"));
  ASSERT_EQ(r->model_count, 4u);
  std::set<std::string> names;
  for (std::size_t i = 0; i < r->model_count; ++i) {
    const tf2onnx_model* m = tf2onnx_result_model(r, i);
    names.insert(m->signature);
    EXPECT_EQ(m->path, (folder_ / ("m." + std::string(m->signature) + ".onnx")).string());
    EXPECT_EQ(m->bytes, fs::file_size(m->path));
    EXPECT_GT(m->nodes, 0);
    ASSERT_EQ(m->input_count, 1u);
    ASSERT_EQ(m->output_count, 1u);
  }
  EXPECT_EQ(names, (std::set<std::string>{"encode", "glance", "look", "project"}));
  const tf2onnx_model* encode = tf2onnx_result_model(r, 0);
  const tf2onnx_tensor* x = tf2onnx_model_input(encode, 0);
  EXPECT_STREQ(x->name, "x");
  EXPECT_STREQ(x->dtype, "f32");
  ASSERT_TRUE(x->ranked);
  ASSERT_EQ(x->rank, 2u);
  EXPECT_EQ(x->shape[0], -1);
  EXPECT_EQ(x->shape[1], 48);
  EXPECT_FALSE(x->has_default);
  EXPECT_STREQ(tf2onnx_model_output(encode, 0)->name, "code");
  EXPECT_EQ(tf2onnx_model_input(encode, 1), nullptr);
  EXPECT_EQ(tf2onnx_result_model(r, 4), nullptr);
  ASSERT_EQ(r->diagnostic_count, 1u);
  EXPECT_EQ(tf2onnx_result_diagnostic(r, 0)->severity, TF2ONNX_NOTE);
  EXPECT_NE(std::string(tf2onnx_result_diagnostic(r, 0)->message).find("'reset' has no outputs"), std::string::npos);
  tf2onnx_result_free(r);
}

TEST_F(CApi, OneModelIsAModelWithoutASignature) {
  set("stateful-io", "true");
  tf2onnx_result* r = nullptr;
  const std::string out = (folder_ / "m.onnx").string();
  ASSERT_EQ(tf2onnx_convert(options_, T2O_SOURCE_DIR "/tests/data/states/module", out.c_str(), &r), TF2ONNX_OK) << r->messages;
  ASSERT_EQ(r->model_count, 1u);
  const tf2onnx_model* m = tf2onnx_result_model(r, 0);
  EXPECT_STREQ(m->signature, "");
  EXPECT_EQ(m->path, out);
  EXPECT_STREQ(r->data_path, "");
  std::size_t states = 0;
  for (std::size_t i = 0; i < m->input_count; ++i) states += tf2onnx_model_input(m, i)->has_default;
  EXPECT_EQ(states, 4u) << "count, after, mean, queue";
  EXPECT_EQ(m->input_count, 5u);
  tf2onnx_result_free(r);
}

TEST_F(CApi, WhatGoesWrongIsInTheResult) {
  set("signature", "encode,nowhere");
  tf2onnx_result* r = nullptr;
  const std::string out = (folder_ / "m.onnx").string();
  EXPECT_EQ(tf2onnx_convert(options_, T2O_SOURCE_DIR "/tests/data/signatures", out.c_str(), &r), TF2ONNX_BAD_OPTION);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->status, TF2ONNX_BAD_OPTION);
  EXPECT_EQ(r->model_count, 0u);
  ASSERT_EQ(r->diagnostic_count, 1u);
  const tf2onnx_diagnostic* d = tf2onnx_result_diagnostic(r, 0);
  EXPECT_EQ(d->severity, TF2ONNX_ERROR);
  EXPECT_STREQ(d->code, "bad-option");
  EXPECT_STRNE(d->remedy, "");
  EXPECT_NE(std::string(r->messages).find("signature 'nowhere'"), std::string::npos) << r->messages;
  tf2onnx_result_free(r);
  EXPECT_EQ(tf2onnx_convert(nullptr, nullptr, nullptr, &r), TF2ONNX_BAD_OPTION);
  EXPECT_STREQ(tf2onnx_result_diagnostic(r, 0)->code, "bad-option");
  tf2onnx_result_free(r);
  EXPECT_EQ(tf2onnx_convert(nullptr, "a", "b", nullptr), TF2ONNX_BAD_OPTION);
  tf2onnx_result_free(nullptr);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
