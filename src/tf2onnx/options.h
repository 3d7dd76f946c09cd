#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tf2onnx {

enum class Format : std::uint8_t { detect, graph_def, saved_model, meta_graph, tflite, keras, tfjs };
enum class ExternalData : std::uint8_t { automatic, never, always };  // automatic: above 2 GB
enum class Layout : std::uint8_t { automatic, nchw, nhwc };  // docs/layout.md
enum class Fidelity : std::uint8_t { plain, strict };  // what the results promise beyond ordinary values: docs/fidelity.md
enum class QuantizeMode : std::uint8_t { exact, qdq, as_float };  // what TensorFlow's fake quantization becomes: docs/quantization.md
enum class ReferenceKernels : std::uint8_t { xnnpack, builtin };  // of LiteRT: docs/verify.md

// What to convert and how. Only `model` (or bytes given beside it) is needed.
struct Options {
  std::string model;                  // path of a file or directory
  Format format = Format::detect;

  // The interface of the exported graph. Empty inputs and outputs: the signature's, else placeholders and sinks.
  std::vector<std::string> inputs;    // "X:0", "X:0[1,28,28,3]" or "X[-1,10]": cuts the graph there and overrides the shape
  std::vector<std::string> outputs;   // "Y:0", "Y"
  std::string signature;              // empty: serving_default, else the only one
  std::string tags;                   // of the MetaGraph, comma-separated; empty: serve, else the only one
  std::string concrete_function;      // of a SavedModel, instead of a signature: its number in __call__, or its name
  std::vector<std::string> rename_inputs, rename_outputs;    // in the order of the inputs / outputs
  bool use_graph_names = false;       // names of the graph ("serving_default_x:0") instead of the signature's ("x")
  std::vector<std::string> ignore_default, use_default;      // PlaceholderWithDefault nodes that are no inputs: made inputs / fed their default (as they are anyway)
  std::vector<std::string> inputs_as_nchw, outputs_as_nchw;

  int opset = 0;                      // 0: the default (21)
  int ir_version = 0;                 // 0: from the opset table; may be lower as far as types and features allow
  std::string target_runtime = "ort-1.31";  // "any": the ONNX standard alone
  Fidelity fidelity = Fidelity::plain;
  Layout layout = Layout::automatic;
  std::vector<std::string> targets;         // of tf2onnx: "rs4", "rs5", "rs6", "caffe2", "tensorrt"; they change nothing
  std::vector<std::string> custom_ops;      // kept as they are: "Op" or "Op:domain"
  std::vector<std::string> extra_opsets;    // of other domains: "domain:version"
  bool stateful_io = false;                 // a variable that the model changes is an input, and "<its name>_out" an output
  bool complex_as_pairs = false;            // complex inputs and outputs get a last axis of 2; else they are refused

  bool dequantize = false;                  // of a quantized .tflite model: floats inside, and at the inputs and outputs
  QuantizeMode quantize_mode = QuantizeMode::exact;

  ExternalData external_data = ExternalData::automatic;
  bool node_metadata = false;         // source node, op and function in each ONNX node's metadata_props
  std::string doc_string;
  std::string output_frozen_graph;    // a file for the source graph with its variables as constants, a GraphDef

  ReferenceKernels reference_kernels = ReferenceKernels::xnnpack;  // that a .tflite model is verified with

  std::vector<std::string> dump_after;      // stages: read, tf, map, onnx; or a rewriter's name; printed to stderr
  std::vector<std::string> trace_match;     // rewriters whose attempts are told on stderr
  // For the tests of the rewriters, which find by them what each rewriter and their order are good for.
  std::vector<std::string> without;         // rewriters that are left out
  std::vector<std::string> rewriter_order;  // "phase/rewriter": another order of the rewriters of a phase
  bool check_phases = false;                // a phase that breaks its contract is an internal error
};

}  // namespace tf2onnx
