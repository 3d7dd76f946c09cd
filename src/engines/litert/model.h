#pragma once
#include <dlfcn.h>

#include <functional>
#include <memory>
#include <string>

#include "engines/litert/protocol.h"

// The helper's view of LiteRT: one library, one model.
namespace t2o::engines::lite {

struct Failed : std::runtime_error {
  explicit Failed(Failure f) : std::runtime_error(f.message), failure(std::move(f)) {}
  Failure failure;
};
[[noreturn]] void fail(std::string message, bool blames_values = false);

using Doing = std::function<void(const char* step)>;  // told before each step, which may crash

class Library {
 public:
  explicit Library(std::string path);  // throws Failed with the loader's message
  const std::string& path() const { return path_; }
  bool has(const char* name) const { return dlsym(handle_, name) != nullptr; }
  template <class F> void bind(F*& function, const char* name) const { function = reinterpret_cast<F*>(find(name)); }

 private:
  void* find(const char* name) const;  // throws Failed
  std::string path_;
  void* handle_;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual OpenReply about() const = 0;
  virtual LoadReply load(LoadRequest request) = 0;
  virtual RunReply run(const RunRequest& request) = 0;
};
std::unique_ptr<Engine> tflite_engine(const Library& library, Doing doing);  // libtensorflowlite_c.so
std::unique_ptr<Engine> litert_engine(const Library& library, Doing doing);  // libLiteRt.so
std::unique_ptr<Engine> open_engine(const OpenRequest& request, const Doing& doing);

std::uint64_t byte_size(const TensorValue& value);  // by type and dims; fails for strings
std::string shape_text(const std::vector<std::int64_t>& dims);

}  // namespace t2o::engines::lite
