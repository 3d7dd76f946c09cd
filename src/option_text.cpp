#include "option_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "diagnostics.h"
#include "onnx/opset_table.h"
#include "support/lists.h"
#include "support/nearest.h"

namespace t2o {
namespace {

using tf2onnx::ExternalData;
using tf2onnx::Fidelity;
using tf2onnx::Format;
using tf2onnx::Layout;
using tf2onnx::Options;
using tf2onnx::QuantizeMode;
using tf2onnx::ReferenceKernels;
using Strings = std::vector<std::string>;

int to_int(std::string_view what, const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end)
    fail(Code::bad_option, std::string(what) + " takes a whole number, not '" + text + "'");
  return value;
}

bool to_bool(const std::string& text) {
  if (text.empty() || contains({"1", "true", "on", "yes"}, text)) return true;
  if (contains({"0", "false", "off", "no"}, text)) return false;
  fail(Code::bad_option, "a switch takes true or false, not '" + text + "'");
}

template <class T, std::size_t N>
T one_of(std::string_view what, const std::string& text,
         const std::array<std::pair<std::string_view, T>, N>& choices) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    if (!name.empty()) names.append(names.empty() ? "" : ", ").append(name);
  }
  fail(Code::bad_option, std::string(what) + " does not know '" + text + "'", "one of: " + names);
}

void set_format(Options& o, const std::string& v) {
  static constexpr std::array<std::pair<std::string_view, Format>, 8> kFormats{
      {{"auto", Format::detect},
       {"graphdef", Format::graph_def},
       {"saved-model", Format::saved_model},
       {"checkpoint", Format::meta_graph},
       {"meta-graph", Format::meta_graph},
       {"tflite", Format::tflite},
       {"keras", Format::keras},
       {"tfjs", Format::tfjs}}};
  o.format = one_of("--format", v, kFormats);
}

void set_external_data(Options& o, const std::string& v) {
  static constexpr std::array<std::pair<std::string_view, ExternalData>, 4> kModes{
      {{"auto", ExternalData::automatic},
       {"always", ExternalData::always},
       {"", ExternalData::always},
       {"never", ExternalData::never}}};
  o.external_data = one_of("--external-data", v, kModes);
}

void set_runtime(Options& o, const std::string& v) {
  static constexpr std::array<std::pair<std::string_view, bool>, 3> kRuntimes{
      {{"ort-1.31", true}, {"ort", true}, {"any", false}}};
  o.target_runtime = one_of("--target-runtime", v, kRuntimes) ? "ort-1.31" : "any";
}

void set_fidelity(Options& o, const std::string& v) {
  static constexpr std::array<std::pair<std::string_view, Fidelity>, 2> kLevels{
      {{"plain", Fidelity::plain}, {"strict", Fidelity::strict}}};
  o.fidelity = one_of("--fidelity", v, kLevels);
}

void set_layout(Options& o, const std::string& v) {
  static constexpr std::array<std::pair<std::string_view, Layout>, 3> kLayouts{
      {{"auto", Layout::automatic}, {"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}}};
  o.layout = one_of("--layout", v, kLayouts);
}

void set_quantize_mode(Options& o, const std::string& v) {
  static constexpr std::array<std::pair<std::string_view, QuantizeMode>, 3> kModes{
      {{"exact", QuantizeMode::exact}, {"qdq", QuantizeMode::qdq}, {"float", QuantizeMode::as_float}}};
  o.quantize_mode = one_of("--quantize-mode", v, kModes);
}

void set_reference_kernels(Options& o, const std::string& v) {
  static constexpr std::array<std::pair<std::string_view, ReferenceKernels>, 2> kKernels{
      {{"xnnpack", ReferenceKernels::xnnpack}, {"builtin", ReferenceKernels::builtin}}};
  o.reference_kernels = one_of("--reference-kernels", v, kKernels);
}

void set_targets(Options& o, const std::string& v) {
  const Strings known = {"rs4", "rs5", "rs6", "caffe2", "tensorrt"};
  Strings targets = split_names(v);
  for (const std::string& target : targets) {
    if (target == "nhwc")
      fail(Code::bad_option,
           "--target nhwc is not supported: it asks tf2onnx for operators with channels last",
           "--layout nhwc writes functions with channels last");
    if (!contains(known, target))
      fail(Code::bad_option, "--target does not know '" + target + "'",
           "one of: rs4, rs5, rs6, caffe2, tensorrt; --target-runtime and --opset choose the runtime");
  }
  o.targets = std::move(targets);
}

void set_opset(Options& o, const std::string& v) {
  o.opset = to_int("--opset", v);
  if (o.opset >= onnx::kLowestOpset && o.opset <= onnx::kHighestOpset) return;
  fail(Code::bad_option, "opset " + v + " is not supported",
       "use one from " + std::to_string(onnx::kLowestOpset) + " to " + std::to_string(onnx::kHighestOpset) +
           "; 'tf2onnx-cpp opsets' lists them");
}

template <Strings Options::*Member>
void set_list(Options& o, const std::string& v) {
  o.*Member = split_names(v);
}
template <std::string Options::*Member>
void set_text(Options& o, const std::string& v) {
  o.*Member = v;
}
template <bool Options::*Member>
void set_switch(Options& o, const std::string& v) {
  o.*Member = to_bool(v);
}

using enum OptionGroup;
constexpr OptionRow kRows[] = {
    {"format", "FORMAT",
     "The format of MODEL: auto (by its content), graphdef, saved-model, checkpoint, tflite, keras or tfjs.",
     model, set_format, "auto,graphdef,saved-model,checkpoint"},
    {"signature", "NAME",
     "The signature of a SavedModel or a .tflite model. The default is serving_default, or the only one. "
     "'convert' takes "
     "several as well: "
     "NAME,NAME or all.",
     model, set_text<&Options::signature>},
    {"tag", "TAGS",
     "The graph of a SavedModel, by its comma-separated tags. The default is serve, or the only one.", model,
     set_text<&Options::tags>},
    {"concrete-function", "FUNCTION",
     "A concrete function of a SavedModel of TensorFlow 2, instead of a signature: its number in __call__, "
     "counted from 0, or its name. --signature is then ignored.",
     model, set_text<&Options::concrete_function>},

    {"inputs", "NAMES",
     "The inputs, comma-separated. The graph is cut at these tensors. A shape after a name overrides the "
     "model's: X:0[1,28,28,3],Y:0 (-1: unknown).",
     interface, set_list<&Options::inputs>},
    {"outputs", "NAMES", "The outputs, comma-separated. Nodes that they do not need are removed.", interface,
     set_list<&Options::outputs>},
    {"rename-inputs", "NAMES", "The inputs' names in the ONNX model, in the order of the inputs.", interface,
     set_list<&Options::rename_inputs>},
    {"rename-outputs", "NAMES", "The outputs' names in the ONNX model, in the order of the outputs.",
     interface, set_list<&Options::rename_outputs>},
    {"use-graph-names", "", "Keep the graph's names (serving_default_x:0) instead of the signature's (x).",
     interface, set_switch<&Options::use_graph_names>},
    {"ignore-default", "NAMES",
     "PlaceholderWithDefault nodes that become inputs. Those that --inputs or the signature names become "
     "inputs as well; the others take their default value.",
     interface, set_list<&Options::ignore_default>},
    {"use-default", "NAMES", "PlaceholderWithDefault nodes that take their default value.", interface,
     set_list<&Options::use_default>},
    {"inputs-as-nchw", "NAMES", "Inputs that have their channels first in the ONNX model.", interface,
     set_list<&Options::inputs_as_nchw>},
    {"outputs-as-nchw", "NAMES", "Outputs that have their channels first in the ONNX model.", interface,
     set_list<&Options::outputs_as_nchw>},
    {"stateful-io", "",
     "Variables that the model changes, such as the states of stateful layers, become inputs and outputs: "
     "feed NAME with NAME_out of the run before, or leave it out in the first run. Without this option each "
     "run starts with the saved values.",
     interface, set_switch<&Options::stateful_io>},
    {"complex-as-pairs", "",
     "Complex inputs and outputs get a last axis of size 2 for the real and the imaginary part. Without this "
     "option they are refused.",
     interface, set_switch<&Options::complex_as_pairs>},
    {"dequantize", "",
     "Convert a quantized .tflite model to a float model: weights, inputs and outputs become floats, and no "
     "integer arithmetic remains.",
     interface, set_switch<&Options::dequantize>},

    {"opset", "N",
     "The ONNX opset of the model: 11 to 28 (27 and 28 with --target-runtime any). The default is 21.",
     target, set_opset, "11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28"},
    {"ir-version", "N", "A lower IR version than the opset's own, if the model allows it.", target,
     [](Options& o, const std::string& v) { o.ir_version = to_int("--ir-version", v); }},
    {"target-runtime", "NAME",
     "ort-1.31: only operators that ONNX Runtime has kernels for (the default). any: the ONNX standard "
     "alone.",
     target, set_runtime, "ort-1.31,any"},
    {"fidelity", "LEVEL",
     "plain: TensorFlow's results for ordinary values, in the plainest graph (the default). strict: also for "
     "NaN, infinities, denormals and empty tensors, with more operators.",
     target, set_fidelity, "plain,strict"},
    {"target", "NAMES",
     "Targets of tf2onnx, comma-separated: rs4, rs5, rs6, caffe2 and tensorrt change nothing. nhwc is "
     "--layout nhwc.",
     target, set_targets, "rs4,rs5,rs6,caffe2,tensorrt,nhwc"},
    {"layout", "LAYOUT",
     "The order of the axes of images. auto: channels first, with the fewest bytes transposed (the default). "
     "nchw: channels first, with the transposes at the model's inputs and outputs. nhwc: channels last, with "
     "convolutions and the like as functions that a device can match.",
     target, set_layout, "auto,nchw,nhwc"},
    {"quantize-mode", "MODE",
     "What the fake and uniform quantization of a TensorFlow graph becomes. exact: TensorFlow's formula (the "
     "default). qdq: 8-bit codes, which ONNX Runtime has integer kernels for, and QuantizeLinear and "
     "DequantizeLinear. float: nothing.",
     target, set_quantize_mode, "exact,qdq,float"},
    {"custom-ops", "OPS",
     "Ops to keep as they are, for a runtime that has them: Op or Op:domain, comma-separated. The default "
     "domain is ai.onnx.converters.tensorflow.",
     target, set_list<&Options::custom_ops>},
    {"extra-opset", "LIST",
     "Opsets of other domains that the model imports, as domain:version, comma-separated.", target,
     set_list<&Options::extra_opsets>},
    {"external-data", "[WHEN]",
     "Write the weights to a .data file beside the model: auto (only above 2 GB), always or never. Without a "
     "value it means always.",
     output, set_external_data, "auto,always,never"},
    {"node-metadata", "", "Write each ONNX node's source node and op into its metadata_props.", output,
     set_switch<&Options::node_metadata>},
    {"doc-string", "TEXT", "The doc_string of the ONNX model.", output, set_text<&Options::doc_string>},
    {"output-frozen-graph", "FILE",
     "Also write the part of the source graph that the outputs need, as a GraphDef with its variables as "
     "constants.",
     output, set_text<&Options::output_frozen_graph>},

    {"reference-kernels", "KERNELS",
     "The kernels of LiteRT that a .tflite model is compared with: xnnpack (the default), which LiteRT uses "
     "itself, or builtin.",
     verification, set_reference_kernels, "xnnpack,builtin"},

    {"dump-after", "STAGES", "Print the graph after these stages (read, tf, map, onnx) or rewriters.", debug,
     set_list<&Options::dump_after>, "read,tf,map,onnx"},
    {"trace-match", "REWRITERS", "Print what these rewriters try, and why a match fails.", debug,
     set_list<&Options::trace_match>},
    {"without", "NAMES", "Leave out these rewriters and rows of the runtime's table.", hidden,
     set_list<&Options::without>},
    {"rewriter-order", "STEPS", "Another order of the rewriters of a phase: PHASE/REWRITER,...", hidden,
     set_list<&Options::rewriter_order>},
    {"check-phases", "", "Check the contract of each phase.", hidden, set_switch<&Options::check_phases>},
};

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }

void set_option(Options& options, std::string_view name, const std::string& value) {
  std::string key(name);
  std::ranges::replace(key, '_', '-');
  if (key == "signature-def") key = "signature";
  Strings known;
  for (const OptionRow& row : kRows) {
    if (row.name == key) return row.set(options, value);
    known.emplace_back(row.name);
  }
  const std::string alike = nearest(key, known);
  fail(Code::bad_option, "there is no option '" + std::string(name) + "'",
       alike.empty() ? "" : "did you mean '" + alike + "'?");
}

Strings split_names(std::string_view list) {
  Strings names;
  std::string name;
  int depth = 0;
  const auto finish = [&] {
    const auto first = name.find_first_not_of(" \t\n");
    const auto last = name.find_last_not_of(" \t\n");
    if (first != std::string::npos) names.push_back(name.substr(first, last - first + 1));
    name.clear();
  };
  for (const char c : list) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth <= 0)
      finish();
    else
      name += c;
  }
  finish();
  return names;
}

}  // namespace t2o
