#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "diagnostics.h"
#include "ir/attr.h"

namespace t2o::engines {

struct TensorInfo {
  std::string name;
  DType dtype =
      DType::undefined;  // undefined: not a tensor (a sequence, a map ...), or a type that is not known here
  Shape shape = {};      // -1 also for symbolic dims; those have their names in `symbols`
  Strings symbols = {};  // one for each dim, empty where there is none
};

using Feeds = std::vector<std::pair<std::string, TensorPtr>>;

enum class OrtOptimization : std::uint8_t { none, basic, extended, all };

struct OrtOptions {
  std::string library = {};  // path of libonnxruntime.so; empty: it is searched
  int threads = 0;           // 0: ONNX Runtime's own choice
  OrtOptimization optimization = OrtOptimization::all;
  bool arena = true;                      // the memory pool: good for many runs, slow for one
  bool verbose = false;                   // let it log warnings
  std::string external_data_folder = {};  // of a model from bytes
  std::vector<std::pair<std::string, std::string>> entries = {};  // of the session's configuration
};

std::string onnxruntime_version(const std::string& library = "");  // throws Code::engine_missing

class OrtError : public ConversionError {  // what ONNX Runtime does not load, or does not run
 public:
  using ConversionError::ConversionError;
};

// A model ready to run in ONNX Runtime. All that goes wrong is a ConversionError.
class OrtSession {
 public:
  static OrtSession from_file(const std::string& path, const OrtOptions& = {});
  static OrtSession from_bytes(Bytes model, const OrtOptions& = {});  // the bytes may go afterwards
  OrtSession(OrtSession&&) noexcept;
  OrtSession& operator=(OrtSession&&) noexcept;
  ~OrtSession();

  const std::vector<TensorInfo>& inputs() const;           // that must be fed
  const std::vector<TensorInfo>& optional_inputs() const;  // that have a value of their own
  const std::vector<TensorInfo>& outputs() const;
  std::vector<TensorPtr> run(const Feeds& feeds) const;  // all outputs, in the model's order
  std::vector<TensorPtr> run(const Feeds& feeds, const Strings& outputs) const;

 private:
  struct Impl;
  explicit OrtSession(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace t2o::engines
