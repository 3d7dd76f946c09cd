#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "formats/formats.h"
#include "harness.h"
#include "onnx/writer.h"
#include "verify/bisect.h"
#include "verify/candidate.h"
#include "verify/reference.h"

// Bisecting names the layer whose weights are not the source's, in nets of every family (scripts/make_nets.py).
namespace t2o {
namespace {

using tf2onnx::Layout;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Options options_of(const std::string& model) {
  Options o;
  o.model = model;
  o.outputs = {"Identity:0"};
  return o;
}

struct Weights {
  std::string name;
  std::set<std::string> readers;  // the nodes that compute with them
  std::string bytes;
};

// Identity and Cast give the weights on; what reads a table or adds a bias computes.
void find_readers(const Value* v, std::set<std::string>& readers) {
  for (const ir::Use& u : v->uses()) {
    const std::string& op = u.node->op();
    if (op == "Identity" || op == "ReadVariableOp" || op == "Reshape" || op == "ExpandDims")
      find_readers(u.node->output(), readers);
    else
      readers.insert(u.node->origin().node);
  }
}

// Numbers of which there are several, all of the main graph.
std::vector<Weights> weights_of(const std::string& model) {
  Diagnostics diagnostics;
  const Options o = options_of(model);
  const GraphPtr g = prepare_source(*format_of(o).open(o), o, diagnostics).graph;
  std::vector<Weights> all;
  for (const Value* v : g->constants()) {
    if (v->dtype() != DType::f32 || v->constant()->elements() < 2) continue;
    const Bytes b = v->constant()->bytes();
    if (std::all_of(b.begin(), b.end(), [](std::byte x) { return x == std::byte{}; })) continue;  // a first state
    Weights& w = all.emplace_back(Weights{v->name(), {}, {reinterpret_cast<const char*>(b.data()), b.size()}});
    find_readers(v, w.readers);
    if (w.readers.empty()) all.pop_back();
  }
  return all;
}

// Each number another, none of them below what it was: a variance stays one.
std::string damaged(std::string bytes) {
  for (std::size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float x = 0;
    std::memcpy(&x, &bytes[i], sizeof x);
    x += 0.5F + 0.25F * static_cast<float>(i / sizeof x % 3);
    std::memcpy(&bytes[i], &x, sizeof x);
  }
  return bytes;
}

// The file with other weights, where it has these once.
bool damage(std::string& file, const Weights& w) {
  const std::size_t at = file.find(w.bytes);
  if (at == std::string::npos || file.find(w.bytes, at + 1) != std::string::npos) return false;
  file.replace(at, w.bytes.size(), damaged(w.bytes));
  return true;
}

verify::VerifyReport bisected(const std::string& source, const std::string& exported, Options options) {
  options.model = exported;
  verify::VerifyOptions v;
  v.onnx = exported + ".onnx";
  const Conversion c = convert(options);
  EXPECT_TRUE(c.graph()) << exported;
  EXPECT_FALSE(has_errors(write_model(c, options, v.onnx)));
  options.model = source;
  v.source = options;
  v.bisect = true;
  const verify::VerifyReport report = verify::verify(v);
  std::filesystem::remove(v.onnx);
  return report;
}

std::string nodes_of(const verify::Divergence& d) {
  std::string text;
  for (const auto& n : d.between) text += n.op + " " + n.name + "; ";
  return text;
}

// "net/layer/..."
std::set<std::string> layers_of(const verify::Divergence& d) {
  std::set<std::string> layers;
  for (const auto& n : d.between) {
    const std::size_t at = n.name.find('/') + 1;
    layers.insert(n.name.substr(at, n.name.find('/', at) - at));
  }
  return layers;
}

// A shift of all keys, which a softmax does not see.
bool shows(const std::string& weights) { return weights.find("attention_1/key_1/Add") == std::string::npos; }

class Bisect : public testing::TestWithParam<const char*> {
  void SetUp() override { numeric::engines_missing(); }
};

TEST_P(Bisect, NamesTheDamagedLayer) {
  const std::string source = std::string(T2O_SOURCE_DIR "/tests/data/nets/") + GetParam() + ".pb";
  const std::string exported = ::testing::TempDir() + "damaged_" + GetParam() + ".pb";
  const std::string content = read(source);
  int count = 0;
  std::size_t named_weights = 0;
  for (const Weights& w : weights_of(source)) {
    SCOPED_TRACE(w.name);
    std::string file = content;
    ASSERT_TRUE(damage(file, w));
    std::ofstream(exported, std::ios::binary) << file;
    const verify::VerifyReport report = bisected(source, exported, options_of(source));
    if (!shows(w.name)) continue;
    EXPECT_FALSE(report.ok());
    EXPECT_EQ(report.bisect_problem, "");
    if (!report.divergence || !report.divergence->found) {
      ADD_FAILURE() << "nothing was found";
      continue;
    }
    const verify::Divergence& d = *report.divergence;
    const bool named = std::any_of(d.between.begin(), d.between.end(),
                                   [&](const auto& n) { return w.readers.contains(n.name); });
    EXPECT_TRUE(named) << d.tensor << ": " << nodes_of(d);
    EXPECT_LE(layers_of(d).size(), 4U) << d.tensor << ": " << nodes_of(d);  // with what is fused into it
    EXPECT_EQ(d.incomparable, 0U);
    EXPECT_LE(d.weights.size(), 1U);
    named_weights += d.weights.size();
    ++count;
  }
  EXPECT_GE(count, 6);
  EXPECT_GE(named_weights, 1U);  // those that are not part of others
  std::filesystem::remove(exported);
}

// Each value of the export that has a name of the source's is what the source has under it, whatever its form.
TEST_P(Bisect, FindsNothingInAGoodExport) {
  Options options = options_of(std::string(T2O_SOURCE_DIR "/tests/data/nets/") + GetParam() + ".pb");
  for (const auto& [opset, layout] : {std::pair(21, Layout::automatic), std::pair(13, Layout::automatic),
                                      std::pair(21, Layout::nchw), std::pair(21, Layout::nhwc)}) {
    options.opset = opset;
    options.layout = layout;
    verify::VerifyOptions v;
    v.source = options;
    v.onnx = ::testing::TempDir() + "good_" + GetParam() + ".onnx";
    const Conversion c = convert(options);
    ASSERT_TRUE(c.graph());
    ASSERT_FALSE(has_errors(write_model(c, options, v.onnx)));
    const auto opened = verify::open_reference(options, {});
    verify::Reference& reference = *opened;
    std::vector<verify::Port> inputs = reference.inputs(), outputs = reference.outputs();
    verify::Candidate candidate(engines::OrtSession::from_file(v.onnx, {}), options, inputs, outputs);
    const verify::Sample sample = verify::random_sample(inputs, 0);
    const verify::Divergence d = verify::bisect(v, candidate.feeds(sample.inputs), sample.inputs);
    EXPECT_FALSE(d.found) << d.tensor << " by " << d.onnx_op << ": " << d.comparison.problem;
    EXPECT_EQ(d.incomparable, 0U);
    EXPECT_GE(d.compared, 6U);
    std::filesystem::remove(v.onnx);
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, Bisect,
                         testing::Values("plain", "resnet", "mobilenet", "unet", "lstm", "both_ways",
                                         "transformer", "text_cnn", "convnext", "inception", "densenet", "mlp"),
                         [](const auto& net) { return std::string(net.param); });

}  // namespace
}  // namespace t2o
