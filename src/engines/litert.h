#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engines/refusal.h"
#include "ir/attr.h"

namespace t2o::engines {

enum class LiteKernels : std::uint8_t { xnnpack, builtin };

struct LiteOptions {
  std::string library = {};  // path of libtensorflowlite_c.so or libLiteRt.so; empty: it is searched
  std::string helper = {};   // path of tf2onnx-litert; empty: it is searched
  LiteKernels kernels = LiteKernels::xnnpack;
  int threads = 1;
  Strings flex_operators = {};          // of the model: "FlexRoll"
  std::string tensorflow_library = {};  // which runs them; empty: it is searched
  double time_limit = 600;  // seconds that one request may take
};

struct LiteTensor {
  std::string key, name;  // in the signature, which may have none; in the graph
  DType dtype = DType::undefined;
  Shape shape = {};       // with its open sizes
  Floats scales = {};     // of a quantized tensor: one, or as many as the axis has elements
  Ints zero_points = {};  // as many
  int axis = 0;
  bool is_quantized() const { return !scales.empty() && scales[0] != 0; }
};

struct LiteSignature {
  std::string key;  // empty: the main graph, whether or not a signature names it
  std::vector<LiteTensor> inputs, outputs;
};

struct LiteVersion {
  std::string path, version;
  bool is_complete = false;  // libtensorflowlite_c.so; libLiteRt.so passes no strings and no outputs with shapes that depend on values
};
LiteVersion litert_version(const LiteOptions& options = {});  // throws Code::engine_missing

class LiteError : public Refusal {  // what LiteRT refuses, or ends at
 public:
  using Refusal::Refusal;
};

// The library has no code for a part of the model: an operator, or a kind of tensor.
class LiteLacks : public LiteError {
 public:
  explicit LiteLacks(Diagnostic d) : LiteError(std::move(d), false) {}
};

// A .tflite model in LiteRT, which runs in a process of its own: there it may crash. All that goes wrong is a ConversionError, which
// names what LiteRT was doing.
class LiteModel {
 public:
  static LiteModel from_file(const std::string& path, const LiteOptions& options = {});
  static LiteModel from_bytes(Bytes model, const LiteOptions& options = {});  // the bytes may go afterwards
  LiteModel(LiteModel&&) noexcept;
  LiteModel& operator=(LiteModel&&) noexcept;
  ~LiteModel();

  const LiteVersion& version() const;
  const std::vector<LiteSignature>& signatures() const;
  // All outputs. Each run starts with the model's own state, unless it keeps that of the run before.
  std::vector<TensorPtr> run(std::size_t signature, const std::vector<TensorPtr>& inputs, bool keep_state = false);

 private:
  class Impl;
  explicit LiteModel(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

std::string litert_helper(const std::string& explicit_path = "");  // its path; throws Code::engine_missing

}  // namespace t2o::engines
