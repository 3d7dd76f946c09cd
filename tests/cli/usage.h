#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "cli/graph_def_maker.h"
#include "cli/program.h"

namespace t2o::test {

constexpr int kNotConvertible = 1, kUsage = 2;

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Usage : public testing::Test {
 protected:
  // Converts the model with these arguments and gives the file's bytes; the model is put where "MODEL"
  // stands.
  std::string converted(Names arguments) {
    const std::string out = (dir_ / "out.onnx").string();
    std::filesystem::remove(out);
    std::replace(arguments.begin(), arguments.end(), std::string("MODEL"), model_);
    std::replace(arguments.begin(), arguments.end(), std::string("OUT"), out);
    last_ = run(arguments, {.directory = dir_.path()});
    EXPECT_EQ(last_.exit_code, 0) << last_.err;
    return content(out);
  }
  Finished refused(int exit_code, Names arguments, const Names& words) {
    std::replace(arguments.begin(), arguments.end(), std::string("MODEL"), model_);
    Finished f = run(arguments, {.directory = dir_.path()});
    EXPECT_EQ(f.exit_code, exit_code) << f.err;
    for (const std::string& word : words) EXPECT_TRUE(has(f.err, word)) << "'" << word << "' in:\n" << f.err;
    EXPECT_EQ(dir_.files(), Names{"model.pb"}) << "nothing may be written";
    return f;
  }

  TemporaryDirectory dir_;
  std::string model_ = dir_.file("model.pb", relu_model());
  Finished last_;
};

}  // namespace t2o::test
