// Each sample model below tests/data/tflite against LiteRT: with its states at their initial values, and with
// --stateful-io over three runs. A new sample is compared without a line here; what cannot be compared stands
// in the tables, with the reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "pipeline.h"
#include "support/mapped_file.h"
#include "tests/support/litert.h"
#include "tflite/model.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace t2o::numeric {
namespace {

namespace fs = std::filesystem;

struct NotCompared {
  const char *model, *library;  // of the second library, or of both: ""
  const char* error;            // a part of it
};
// A part of the error tells why: the library has no code for the operator, or crashes at it.
constexpr NotCompared kNotCompared[] = {
    {"custom_landmarks", "", "has no code for Landmarks2TransformMatrix"},  // MediaPipe's own runtime has it
    {"custom_unknown", "", "only its own runtime knows"},                   // a sample for this refusal
    {"custom_unpool", "libtensorflowlite_c", "crashed (SIGSEGV) while it was running the model"},
    {"custom_unpool", "libLiteRt", "has no code for a custom operator that XNNPACK computes"},
    {"variable_call", "", "has no code for CALL"},
    {"hlo_elementwise", "", "has no code for STABLEHLO_"},
    {"hlo_moves", "", "has no code for STABLEHLO_"},
    {"hlo_products", "", "has no code for STABLEHLO_"},
    {"hlo_reduce_sort", "", "has no code for STABLEHLO_"},
    {"hlo_while", "", "has no code for STABLEHLO_"},
    {"hlo_case", "libtensorflowlite_c", "has no code for operator number 209"},  // newer than this library
    {"hlo_composite", "libtensorflowlite_c", "has no code for STABLEHLO_COMPOSITE"},
    {"embedding_sparse", "libLiteRt", "has no code for outputs whose shapes depend on values"},
    {"drawn", "libLiteRt", "has no code for outputs whose shapes depend on values"},
    {"variable_loop", "libLiteRt",
     "has no code for outputs whose shapes depend on values"},  // so it takes those of a loop
    {"variable_nested", "libLiteRt", "has no code for outputs whose shapes depend on values"},
    {"weights_beside", "libtensorflowlite_c", "has no code for weights in another file"},
    {"table_by_text", "libLiteRt", "has no code for strings"},
    {"table_of_text", "libLiteRt", "has no code for strings"},
    {"text", "libLiteRt", "has no code for strings"},
    {"flex", "libLiteRt", "has no code for Flex"},  // it takes no operators of others
    {"flex_list", "libLiteRt", "has no code for a type of the model's tensors"},
    {"flex_list_loop", "libLiteRt", "has no code for a type of the model's tensors"},
    {"flex_values", "libLiteRt", "has no code for Flex"},
    {"flex_text", "libLiteRt", "has no code for strings"},
};
constexpr const char* kNoStates =
    "has no code for variable tensors";  // libLiteRt.so, of any model that has them

// Outputs that a library does not compute: it leaves the places of the maxima at zero.
constexpr std::pair<const char*, const char*> kOutputsNotCompared[] = {{"custom_pool", "y1"}};

const NotCompared* find_reason(const std::string& model, const std::string& library) {
  const auto* found = std::find_if(
      std::begin(kNotCompared), std::end(kNotCompared),
      [&](const NotCompared& n) { return n.model == model && library.find(n.library) != std::string::npos; });
  return found == std::end(kNotCompared) ? nullptr : found;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> samples() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(T2O_SOURCE_DIR "/tests/data/tflite"))
    if (entry.path().extension() == ".tflite") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

class LiteFiles : public testing::TestWithParam<std::tuple<std::string, fs::path>> {
 protected:
  const std::string& library() const { return std::get<0>(GetParam()); }
  const fs::path& path() const { return std::get<1>(GetParam()); }
  std::string model() const { return path().stem().string(); }

  Options options(const std::string& signature, bool keep_state) const {
    Options o;
    o.model = path().string();
    o.signature = signature;
    o.stateful_io = keep_state;
    return o;
  }

  static bool is_compared(const std::string& model, const std::string& output) {
    return std::none_of(std::begin(kOutputsNotCompared), std::end(kOutputsNotCompared),
                        [&](const auto& n) { return n.first == model && n.second == output; });
  }

  // Throws the error that keeps the models from being compared.
  void compare(const std::string& signature, bool keep_state) const {
    SCOPED_TRACE("signature '" + signature + (keep_state ? "', --stateful-io" : "'"));
    verify::VerifyOptions v;
    v.source = options(signature, keep_state);
    v.onnx = ::testing::TempDir() + "lite_files.onnx";
    v.litert_library = library();
    v.threads = 1;
    v.samples = 3;
    const Conversion c = convert(v.source);
    throw_first_error(c.diagnostics);
    throw_first_error(write_model(c, v.source, v.onnx));
    const verify::VerifyReport report = verify::verify(v);
    fs::remove(v.onnx);
    EXPECT_TRUE(report.runtime.name == "LiteRT");
    EXPECT_GE(report.samples.size(), 3U);
    bool agrees = true;
    for (const verify::ComparedSample& s : report.samples) {
      agrees = agrees && s.problem.empty();
      for (const verify::ComparedTensor& t : s.outputs)
        agrees = agrees && (t.comparison.ok() || !is_compared(model(), t.name));
    }
    EXPECT_TRUE(agrees) << verify::to_text(report);
  }

  bool has_states() const {
    const Conversion plain = convert(options("", false)), kept = convert(options("", true));
    return plain.ok() && kept.ok() && plain.graph()->inputs().size() != kept.graph()->inputs().size();
  }
};

TEST_P(LiteFiles, Agree) {
  Strings signatures;
  const tflite::ModelPtr file = tflite::Model::open(path().string());
  for (const ModelSignature& s : file->signatures()) signatures.push_back(s.name);
  if (signatures.empty()) signatures.push_back("");
  const NotCompared* reason = find_reason(model(), library());
  std::string error;
  try {
    for (const std::string& s : signatures) compare(s, false);
    if (has_states()) compare(signatures[0], true);
  } catch (const ConversionError& e) {
    error = e.what();
  }
  const bool lacks_states =
      library().find("libLiteRt") != std::string::npos && error.find(kNoStates) != std::string::npos;
  if (reason) {
    EXPECT_NE(error.find(reason->error), std::string::npos)
        << "the table says: " << reason->error << "; it is: " << error;
  } else if (!lacks_states) {
    EXPECT_EQ(error, "");
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LiteFiles);
INSTANTIATE_TEST_SUITE_P(Samples, LiteFiles,
                         testing::Combine(testing::ValuesIn(test::litert_libraries()),
                                          testing::ValuesIn(samples())),
                         [](const auto& p) {
                           const bool newest = std::get<0>(p.param).find("libLiteRt") != std::string::npos;
                           return std::get<1>(p.param).stem().string() +
                                  (newest ? "_LiteRt" : "_TensorFlowLiteC");
                         });

// ---- TensorFlow's own operators

TEST(LiteFlex, SaysThatItNeedsTensorFlow) {
  for (const std::string& library : test::litert_libraries()) {
    verify::VerifyOptions v;
    v.source.model = T2O_SOURCE_DIR "/tests/data/tflite/flex.tflite";
    v.onnx = ::testing::TempDir() + "flex.onnx";
    ASSERT_FALSE(has_errors(write_model(convert(v.source), v.source, v.onnx)));
    v.litert_library = library;
    v.tensorflow_library = "/nowhere/libtensorflow_cc.so.2";
    try {
      verify::verify(v);
      ADD_FAILURE() << "no error";
    } catch (const ConversionError& e) {
      EXPECT_EQ(e.diagnostic().code, Code::engine_missing);
      EXPECT_NE(e.diagnostic().message.find("has no code for FlexSinh"), std::string::npos) << e.what();
      EXPECT_NE(e.diagnostic().remedy.find("--tensorflow"), std::string::npos) << e.what();
    }
    fs::remove(v.onnx);
  }
}

// ---- --stateful-io of a model that was exported without it

TEST(LiteStates, VerifySaysThatThereAreNone) {
  if (test::lacks_litert()) GTEST_SKIP() << "LiteRT is not there";
  for (const bool asks : {false, true}) {
    verify::VerifyOptions v;
    v.source.model = T2O_SOURCE_DIR "/tests/data/tflite/variable_stream.tflite";
    v.onnx = ::testing::TempDir() + "without_states.onnx";
    v.litert_library = test::litert_libraries()[0];
    ASSERT_FALSE(has_errors(write_model(convert(v.source), v.source, v.onnx)));
    v.source.stateful_io = asks;
    const verify::VerifyReport report = verify::verify(v);
    EXPECT_TRUE(report.ok()) << verify::to_text(report);
    EXPECT_EQ(std::any_of(report.warnings.begin(), report.warnings.end(),
                          [](const auto& w) { return w.text.find("has no states") != std::string::npos; }),
              asks);
    fs::remove(v.onnx);
  }
}

// ---- --bisect: the operator with other weights is found

struct Weights {
  std::string tensor;     // of the weights
  std::string operator_;  // by its output
};

// Constants of several bytes that an operator multiplies with, in the order of the operators.
std::vector<Weights> damage_each(const fs::path& source,
                                 const std::function<void(const Weights&, const fs::path&)>& use) {
  const std::string content = read(source);
  const tflite::ModelPtr model = tflite::Model::open(source.string());
  std::vector<Weights> all;
  const auto& graph = model->subgraph(0);
  for (unsigned k = 0; k < tflite::count(graph.operators()); ++k) {
    const auto& op = *graph.operators()->Get(k);
    const auto inputs = tflite::items(op.inputs());
    const auto stored = std::find_if(inputs.begin(), inputs.end(), [&](std::int32_t i) {
      const TensorPtr t = i < 0 ? nullptr : model->constant(model->tensor(0, i));
      return t && t->elements() >= 16;
    });
    if (stored == inputs.end()) continue;
    const TensorPtr weights = model->constant(model->tensor(0, *stored));
    const Bytes bytes = weights->bytes();
    const std::string part(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = content.find(part);
    if (at == std::string::npos) continue;
    std::string reversed;
    const std::size_t width = bit_width(weights->dtype()) / 8;
    for (std::size_t i = part.size(); i >= width; i -= width) reversed += part.substr(i - width, width);
    std::string damaged = content;
    damaged.replace(at, part.size(), reversed);
    const fs::path file = ::testing::TempDir() + "damaged.tflite";
    std::ofstream(file, std::ios::binary) << damaged;
    all.push_back({model->tensor_name(0, *stored), model->tensor_name(0, op.outputs()->Get(0))});
    use(all.back(), file);
    fs::remove(file);
  }
  return all;
}

verify::VerifyReport bisected(const fs::path& source, const fs::path& exported) {
  verify::VerifyOptions v;
  v.onnx = ::testing::TempDir() + "bisected.onnx";
  v.source.model = exported.string();
  const Conversion c = convert(v.source);
  EXPECT_TRUE(c.ok());
  EXPECT_FALSE(has_errors(write_model(c, v.source, v.onnx)));
  v.source.model = source.string();
  v.bisect = true;
  v.threads = 1;
  const verify::VerifyReport report = verify::verify(v);
  fs::remove(v.onnx);
  return report;
}

TEST(LiteBisect, NamesTheDamagedOperator) {
  if (test::lacks_litert()) GTEST_SKIP() << "LiteRT is not there";
  const fs::path folder = T2O_SOURCE_DIR "/tests/data/tflite";
  for (const char* name :
       {"cnn", "cnn_batch", "cnn_half", "cnn_int8", "cnn_int8io", "cnn_int16", "dynamic_range", "images"}) {
    SCOPED_TRACE(name);
    const fs::path source = folder / (std::string(name) + ".tflite");
    const auto all = damage_each(source, [&](const Weights& w, const fs::path& damaged) {
      SCOPED_TRACE(w.tensor);
      const verify::VerifyReport report = bisected(source, damaged);
      EXPECT_FALSE(report.ok());
      EXPECT_EQ(report.bisect_problem, "");
      ASSERT_TRUE(report.divergence && report.divergence->found) << verify::to_text(report);
      const auto& between = report.divergence->between;
      EXPECT_TRUE(std::any_of(between.begin(), between.end(), [&](const auto& n) {
        return n.name == w.operator_ || n.name == w.tensor;
      })) << verify::to_text(report);
      EXPECT_LE(between.size(), 16U);
    });
    EXPECT_GE(all.size(), 1U);
  }
}

}  // namespace
}  // namespace t2o::numeric
