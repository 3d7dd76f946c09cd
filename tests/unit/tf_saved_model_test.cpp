#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "diagnostics.h"
#include "tf/source.h"

namespace t2o::tf {
namespace {

using tf2onnx::Options;

const std::string kData = T2O_SOURCE_DIR "/tests/data/";

Options model(const std::string& name) {
  Options o;
  o.model = kData + name;
  return o;
}

Source open(const Options& o) {
  return open_source(o);
}

ImportRequest request(const Options& o) {
  Diagnostics d;
  ImportRequest r = make_request(open_source(o), o, d);
  if (has_errors(d)) throw ConversionError(d.front());
  return r;
}

std::string error_of(const Options& o) {
  try {
    request(o);
  } catch (const ConversionError& e) {
    return e.what();
  }
  return "no error";
}

testing::AssertionResult says(const std::string& error, const std::string& part) {
  if (error.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << error << "' does not say '" << part << "'";
}

std::string text(const ImportRequest& r) {
  std::string out;
  for (const Feed& f : r.feeds) out += f.name + "<" + f.tensor + " ";
  for (const Fetch& f : r.fetches) out += f.name + ">" + f.tensor + " ";
  return out;
}

// The variable behind a node at top level, as the importer asks for it.
VariableRef variable(const Source& s, const std::string& node) {
  const auto& nodes = s.graph.body.nodes;
  const auto n = std::find_if(nodes.begin(), nodes.end(), [&](const NodeDef& d) { return d.name == node; });
  if (n == nodes.end()) throw std::logic_error("no node " + node);
  const auto attr = [&](const char* name) { return decode_attr(*n->attr(name), {s.graph.owner}); };
  VariableRef v{node, "", "", std::string(n->op)};
  if (n->attr("shared_name") != nullptr) v.shared_name = std::get<std::string>(attr("shared_name"));
  v.dtype = std::get<DType>(attr("dtype"));
  v.shape = std::get<Shape>(attr("shape"));
  return v;
}

// The variables that the call of a signature reads: node and first element.
std::vector<std::pair<std::string, double>> captures(const Source& s) {
  const std::string& output = s.signature->outputs.front().tensor;
  std::vector<std::pair<std::string, double>> out;
  for (const NodeDef& n : s.graph.body.nodes) {
    if (n.name != output.substr(0, output.find(':'))) continue;
    for (const std::string_view input : n.inputs)
      if (std::none_of(s.signature->inputs.begin(), s.signature->inputs.end(), [&](const SignatureTensor& t) {
            return t.tensor.starts_with(std::string(input) + ":");
          }))
        out.emplace_back(input, s.variable(variable(s, std::string(input)))->float_at(0));
  }
  return out;
}

TEST(SavedModel, Keras3) {
  const Source s = open(model("keras3"));
  EXPECT_EQ(s.kind, "saved_model");
  EXPECT_EQ(s.tags, Strings{"serve"});
  EXPECT_EQ(s.signature->name, "serving_default");
  EXPECT_FALSE(s.tensorflow_version.empty());
  EXPECT_FALSE(s.graph.op_list.empty());
  std::vector<double> values;
  for (const auto& [node, value] : captures(s)) values.push_back(value);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(text(request(model("keras3"))),
            "extra<serving_default_extra:0 features<serving_default_features:0 "
            "product>StatefulPartitionedCall_1:0 total>StatefulPartitionedCall_1:1 ");
}

TEST(SavedModel, TellsVariablesOfOneNameApart) {
  Options o = model("twins");
  o.signature = "add";
  const auto both = captures(open(o));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_NE(both[0].second, both[1].second);
  o.signature = "scale";
  const auto second = captures(open(o));
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].second, 2.0);
}

// tests/data/tracked: tf.saved_model.save of a module with a Keras 3 layer, whose restore function restores copies
// of the variables. Two of them are called 'v'; what the signature captures tells them apart.
TEST(SavedModel, VariablesThatNoRestoreFunctionRestores) {
  const Source s = open(model("tracked"));
  const auto values = [&](const std::string& node) { return s.variable(variable(s, node))->to_floats(); };
  EXPECT_EQ(values("twins/v_1"), (std::vector<double>{1, 2}));
  EXPECT_EQ(values("twins/v"), (std::vector<double>{10, 20}));
  EXPECT_EQ(values("twins/count"), (std::vector<double>{7}));
}

TEST(SavedModel, SignaturesAndAssets) {
  Options o = model("twins");
  EXPECT_TRUE(says(error_of(o), "'add', 'scale'"));
  o.signature = "scael";
  EXPECT_TRUE(says(error_of(o), "did you mean 'scale'?"));
  o.signature = "scale";
  const Source s = open(o);
  EXPECT_EQ(s.signatures.size(), 2u);
  EXPECT_FALSE(s.signature->inputs[0].shape.ranked());
  EXPECT_EQ(s.signature->inputs[0].dtype, DType::f32);
  ASSERT_EQ(s.assets.size(), 1u);
  EXPECT_EQ(s.assets[0].filename, "words.txt");
}

TEST(SavedModel, TensorFlow1) {
  const Source s = open(model("tf1"));
  EXPECT_EQ(s.variable(variable(s, "ref"))->to_floats(), std::vector<double>(4, 3.0));
  EXPECT_EQ(s.variable(variable(s, "resource"))->to_floats(), std::vector<double>(4, 4.0));
  EXPECT_EQ(s.variable(variable(s, "table/part_1"))->to_floats(),
            (std::vector<double>{12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(text(request(model("tf1"))), "x<x:0 y>y:0 ");
}

TEST(SavedModel, Tags) {
  Options o = model("tf1");
  o.tags = "tpu, serve";
  EXPECT_EQ(open(o).tags, (Strings{"serve", "tpu"}));
  o.tags = "gpu";
  EXPECT_TRUE(says(error_of(o), "'serve', 'serve,tpu'"));
}

TEST(SavedModel, TextFormat) {
  const Source s = open(model("text"));
  EXPECT_EQ(s.signature->inputs[0].tensor, "x:0");
  EXPECT_EQ(s.variable(variable(s, "v"))->to_floats(), std::vector<double>(2, 5.0));
  EXPECT_EQ(open(model("text/saved_model.pbtxt")).kind, "saved_model");
}

TEST(SavedModel, VariablesMustFitTheGraph) {
  const Source s = open(model("tf1"));
  VariableRef v = variable(s, "ref");
  v.dtype = DType::f64;
  EXPECT_THROW(s.variable(v), ConversionError);
  v = variable(s, "ref");
  v.shape = Shape({5});
  EXPECT_THROW(s.variable(v), ConversionError);
  EXPECT_THROW(s.variable({"stranger", "stranger", "", "VarHandleOp"}), ConversionError);
}

TEST(MetaGraph, ReadsTheCheckpointBesideIt) {
  for (const char* path : {"meta_graph/model.ckpt.meta", "meta_graph/model.ckpt", "meta_graph"}) {
    const Source s = open(model(path));
    EXPECT_EQ(s.kind, "meta_graph");
    EXPECT_EQ(s.variable(variable(s, "table/part_0"))->to_floats().size(), 12u);
    EXPECT_EQ(s.variable(variable(s, "resource"))->float_at(0), 4.0);
    EXPECT_FALSE(s.signature);
  }
  EXPECT_TRUE(request(model("meta_graph")).find_interface);
}

TEST(MetaGraph, TextFormatWithoutCheckpoint) {
  const Source s = open(model("text/graph.meta"));
  EXPECT_EQ(s.kind, "meta_graph");
  EXPECT_THROW(s.variable(variable(s, "v")), ConversionError);
}

TEST(GraphDefSource, BinaryAndText) {
  for (const char* path : {"meta_graph/graph.pb", "text/graph.pbtxt"}) {
    const Source s = open(model(path));
    EXPECT_EQ(s.kind, "graph_def") << path;
    EXPECT_GT(s.graph.producer, 0) << path;
    EXPECT_TRUE(std::any_of(s.graph.body.nodes.begin(), s.graph.body.nodes.end(),
                            [](const NodeDef& n) { return n.name == "y"; }));
  }
  const Source s = open(model("meta_graph/graph.pb"));
  try {
    s.variable(variable(s, "ref"));
    FAIL();
  } catch (const ConversionError& e) {
    EXPECT_TRUE(says(e.what(), "no checkpoint"));
  }
}

TEST(Request, TensorsByGraphName) {
  Options o = model("meta_graph/graph.pb");
  o.inputs = {"x:0[?, 4]"};
  o.outputs = {"y"};
  const ImportRequest r = request(o);
  EXPECT_EQ(text(r), "x:0<x:0 y>y ");
  EXPECT_TRUE(r.feeds[0].shape_given);
  EXPECT_EQ(r.feeds[0].shape, Shape({kUnknownDim, 4}));
  EXPECT_FALSE(r.find_interface);
}

TEST(Request, SignatureKeysAndGraphNames) {
  Options o = model("keras3");
  o.inputs = {"features[2,4]", "serving_default_extra:0[2,2]"};
  o.outputs = {"total"};
  EXPECT_EQ(text(request(o)),
            "features<serving_default_features:0 serving_default_extra:0<serving_default_extra:0 "
            "total>StatefulPartitionedCall_1:1 ");
  EXPECT_EQ(request(o).feeds[0].shape, Shape({2, 4}));
  o = model("keras3");
  o.use_graph_names = true;
  EXPECT_TRUE(says(text(request(o)), "serving_default_extra:0<serving_default_extra:0 "));
  o.rename_inputs = {"a", "b"};
  o.rename_outputs = {"c", "d"};
  EXPECT_EQ(text(request(o)),
            "a<serving_default_extra:0 b<serving_default_features:0 c>StatefulPartitionedCall_1:0 "
            "d>StatefulPartitionedCall_1:1 ");
}

TEST(Request, RefusesWhatIsWrong) {
  const auto error = [](const std::function<void(Options&)>& change) {
    Options o = model("keras3");
    change(o);
    return error_of(o);
  };
  EXPECT_TRUE(says(error([](Options& o) { o.inputs = {"featurs"}; }), "did you mean 'features'?"));
  EXPECT_TRUE(says(error([](Options& o) { o.outputs = {"Total_"}; }), "did you mean 'total'?"));
  EXPECT_TRUE(says(error([](Options& o) { o.outputs = {"nope"}; }), "The outputs of the signature are: ")) << "not the node NoOp";
  EXPECT_FALSE(says(error([](Options& o) { o.outputs = {"nope"}; }), "NoOp"));
  EXPECT_TRUE(says(error([](Options& o) { o.inputs = {"features[2,x]"}; }), "'x' is not a dimension"));
  EXPECT_TRUE(says(error([](Options& o) { o.inputs = {"features[2"}; }), "does not end in ']'"));
  EXPECT_TRUE(says(error([](Options& o) { o.inputs = {"[2]"}; }), "no name"));
  EXPECT_TRUE(says(error([](Options& o) { o.outputs = {"total[2]"}; }), "takes no shape"));
  EXPECT_TRUE(says(error([](Options& o) { o.inputs = {"features", "features"}; }), "given twice"));
  EXPECT_TRUE(says(error([](Options& o) { o.rename_inputs = {"a"}; }), "1 new names are given for 2 inputs"));
  EXPECT_TRUE(says(error([](Options& o) { o.rename_inputs = {"a", "a"}; }), "two inputs have the name 'a'"));
  EXPECT_TRUE(says(error([](Options& o) { o.concrete_function = "nonsense"; }), "there is no function 'nonsense'"));
}

// What a signature without outputs is run for is no model; the sinks of its graph are the saver's.
TEST(Source, RefusesASignatureWithoutOutputs) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::temp_directory_path() / ("t2o_signatures_" + std::to_string(getpid()));
  fs::create_directory(dir);
  const auto error = [&](const std::string& signatures, const std::string& chosen, const Strings& outputs = {}) {
    std::ofstream(dir / "saved_model.pbtxt") << R"(saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' } graph_def {
        node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
        node { name: 'y' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
        node { name: 'other' op: 'Exp' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } })" << signatures << "}";
    Options o;
    o.model = dir.string();
    o.signature = chosen;
    o.outputs = outputs;
    return error_of(o);
  };
  const std::string input = "inputs { key: 'x' value { name: 'x:0' dtype: DT_FLOAT } }";
  const std::string update = "signature_def { key: 'update' value { " + input + " } }";
  const std::string apply = "signature_def { key: 'apply' value { " + input + " outputs { key: 'y' value { name: 'y:0' dtype: DT_FLOAT } } } }";
  EXPECT_TRUE(says(error(update, ""), "the signature 'update' has no outputs"));
  EXPECT_TRUE(says(error(update, ""), "name outputs with --outputs"));
  EXPECT_EQ(error(update, "", {"y:0"}), "no error");
  EXPECT_TRUE(says(error(update + apply, "update"), "choose one with --signature: 'apply'"));
  EXPECT_EQ(error(update + apply, "apply"), "no error");
  EXPECT_TRUE(says(error(update + apply, ""), "choose one with --signature: 'apply'"));
  fs::remove_all(dir);
}

TEST(Source, RefusesWhatItCannotRead) {
  EXPECT_TRUE(says(error_of(model("nowhere")), "cannot read"));
  EXPECT_TRUE(says(error_of(model("twins/assets")), "no saved_model.pb or saved_model.pbtxt"));
  EXPECT_TRUE(says(error_of(model("checkpoint_state")), "a checkpoint, but no graph"));
  Options o = model("keras3");
  o.format = tf2onnx::Format::tfjs;
  EXPECT_TRUE(says(error_of(o), "does not read yet"));
}

}  // namespace
}  // namespace t2o::tf
