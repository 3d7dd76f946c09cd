#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "support/meter.h"
#include "tf2onnx/options.h"
#include "verify/compare.h"
#include "verify/reference.h"
#include "verify/special_values.h"

namespace t2o::verify {

struct VerifyOptions {
  tf2onnx::Options source;  // the source model and its interface, as for its conversion
  std::string onnx;         // path of the exported model
  Tolerance tolerance = {.by_scale = true};
  bool tolerance_given = false;  // else a model that computes in 16 bits gets a wider one
  std::uint64_t seed = 0;
  int samples = 1;       // of random data, with seeds seed, seed + 1 ...
  Strings input_shapes;  // "name:1,2,3": see inputs.h
  Strings input_data;    // files and folders: see inputs.h; then nothing is random
  bool bisect = false;   // on a mismatch: find the first tensor that differs
  bool special_values = false;  // compares NaN, infinities, extremes and empty tensors too
  int threads = 0;       // 0: the engines' own choice
  bool optimize = true;  // else ONNX Runtime computes the graph as it is written
  std::string tensorflow_library, onnxruntime_library, litert_library;  // paths; empty: they are searched
};

struct ComparedTensor {
  std::string name;
  DType dtype = DType::undefined;  // the source's
  Ints dims;
  Comparison comparison;
  bool is_random = false;  // the source gives other values each time: dtype and shape alone were compared
  bool within_rounding = false;  // it agrees since the source's own numbers change as much with the last digits of the inputs
  bool within_spread = false;    // it agrees since the runtime's two kinds of kernels differ as much
  std::optional<Comparison> other_kernels;  // of the runtime, against those that the ONNX model is compared with
  Evidence evidence = Evidence::some;
  std::string only;      // the one element that it has
  Comparison with_data;  // ONNX Runtime against the output that came with the data
  bool has_data = false;
};

struct ComparedSample {
  std::string label;                                        // "seed 0", "test_data_set_1"
  std::vector<std::pair<std::string, std::string>> inputs;  // name, "f32[2, 224, 224, 3]"
  std::vector<ComparedTensor> outputs;
  std::string problem;  // why ONNX Runtime does not run it; then there are no outputs
};

struct Divergence {              // what bisecting found
  std::size_t compared = 0;      // tensors that both graphs have, in the order of execution
  std::size_t incomparable = 0;  // ... of them in another form, which the ONNX model does not state
  bool found = false;
  std::string tensor, onnx_op;  // the first that differs, and the node that makes it
  std::string source_node, source_op;
  Comparison comparison;
  struct Node {
    std::string op, name;
  };
  std::vector<Node> between;  // the source's nodes that make it of tensors that agree, the last of them first
  Strings inputs;             // those tensors
  Strings weights;            // of the ONNX model, which are not what the source's nodes read
};

struct Warning {
  std::string text;
  std::string remedy = "give data as the model meets in use with --input-data, or more random data with --samples and --seed";
};

struct VerifyReport {
  Runtime runtime;  // of the source model
  std::string onnxruntime_version;
  Tolerance tolerance;
  std::string tolerance_reason;  // of another than the default
  bool in_codes = false;         // quantized outputs were compared in codes
  bool is_dequantized = false;   // the exported model has their numbers
  std::string cpu;               // of a quantized model: how ONNX Runtime's integer kernels add on this CPU
  std::vector<ComparedSample> samples;
  std::optional<SpecialReport> special;
  std::optional<Divergence> divergence;
  std::vector<Warning> warnings;  // of what agrees and proves little
  Strings notes;               // of what was left out
  std::string bisect_problem;  // why bisecting was not possible; empty otherwise
  bool ok() const;
};

// What cannot be verified is refused (ConversionError, bad_option) before it is converted.
void check_possible(const tf2onnx::Options&);

// Runs both models on the same data. Throws ConversionError: engine_missing, bad_option, bad_file, bad_model.
// The meter is told of the steps.
VerifyReport verify(const VerifyOptions&, Meter* = nullptr);

}  // namespace t2o::verify
