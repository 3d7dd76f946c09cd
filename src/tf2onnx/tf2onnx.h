#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tf2onnx/export.h"
#include "tf2onnx/options.h"

// Converts TensorFlow models to ONNX.
//
//   tf2onnx::Options options;
//   options.model = "saved_model_dir";
//   const tf2onnx::Result result = tf2onnx::convert_file(options, "model.onnx");
//   if (!result.ok()) std::cerr << tf2onnx::to_string(result);
//
// No function throws; what goes wrong is in the result. Where there are errors, nothing is written. Functions
// may be called from several threads at a time.
namespace tf2onnx {

enum class Severity : std::uint8_t { note, warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;                // "unsupported-op", "bad-file" ...
  std::string message;             // the cause
  std::string remedy;              // what can be done; may be empty
  std::string node, op, function;  // where in the source model; empty where no node is to blame
};

struct Tensor {  // an input or output of the ONNX model
  std::string name;
  std::string dtype;  // "f32", "i64", "string" ...
  bool ranked = false;
  std::vector<std::int64_t> shape;  // -1: not known before the model runs
  bool has_default = false;  // an input that may be left out: the state of a variable, which then has its saved value
};

struct Model {  // an ONNX model that a conversion has made
  std::string signature;  // empty unless options.signature names several
  std::string path;       // empty if the model went to memory
  std::uint64_t bytes = 0;
  std::vector<Tensor> inputs, outputs;
  std::int64_t nodes = 0;
};

struct Result {
  std::vector<Diagnostic> diagnostics;  // all errors, warnings and notes, in the order of the source's nodes
  std::vector<Model> models;            // one, or one for each signature that options.signature names; none when there are errors
  std::vector<Tensor> inputs, outputs;  // of the model, if options.signature does not name several ("a,b", "all")
  std::int64_t nodes = 0;               // likewise
  std::string data_path;                // the file with the weights beside the models; empty if there is none
  std::uint64_t data_bytes = 0;
  int opset = 0;
  int ir_version = 0;
  int exit_code = 0;  // as the command line tool ends: 0 done, 1 not convertible, 2 bad option, 4 bad input
  bool ok() const { return exit_code == 0; }
};

// From options.model, to a file (written whole or not at all) or to memory. If options.signature names several signatures,
// convert_file writes OUT.SIGNATURE.onnx for each (or the signature in the place of "{signature}"), and the weights that they share
// to one file beside them.
TF2ONNX_API Result convert_file(const Options& options, const std::string& out_path) noexcept;
TF2ONNX_API Result convert_file_to_memory(const Options& options, std::string& onnx_bytes) noexcept;

// From the bytes of a GraphDef, to a file or to memory. The bytes are only read during the call.
TF2ONNX_API Result convert_memory(const Options& options, std::string_view graph_def,
                                  std::string& onnx_bytes) noexcept;
TF2ONNX_API Result convert_memory_to_file(const Options& options, std::string_view graph_def,
                                          const std::string& out_path) noexcept;

// Sets an option by the name and with the text that the command line has for it: ("opset", "18"), ("inputs",
// "x:0[1,4]"). False when there is no such option or the text makes no sense; `why` then says so, unless it
// is null.
TF2ONNX_API bool set_option(Options& options, std::string_view name, const std::string& value,
                            std::string* why = nullptr) noexcept;

// One diagnostic, or all of a result, a line or more each, as the command line shows them.
TF2ONNX_API std::string to_string(const Diagnostic& diagnostic) noexcept;
TF2ONNX_API std::string to_string(const Result& result) noexcept;

TF2ONNX_API const char* version() noexcept;  // of this library: "0.1.0"

}  // namespace tf2onnx
