#include "engines/litert/model.h"

namespace t2o::engines::lite {

void fail(std::string message, bool blames_values) {
  throw Failed({std::move(message), false, blames_values});
}

Library::Library(std::string path)
    : path_(std::move(path)), handle_(dlopen(path_.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) {
  if (!handle_) throw Failed({std::string("cannot load ") + dlerror(), true, false});
}

void* Library::find(const char* name) const {
  void* address = dlsym(handle_, name);
  if (!address) throw Failed({path_ + " has no function " + name, true, false});
  return address;
}

std::unique_ptr<Engine> open_engine(const OpenRequest& request, const Doing& doing) {
  std::string tried;
  for (const std::string& path : request.libraries) {
    doing(("loading " + path).c_str());
    try {
      const Library library(path);
      if (library.has("TfLiteInterpreterCreate")) return tflite_engine(library, doing);
      if (library.has("LiteRtCreateCompiledModel")) return litert_engine(library, doing);
      tried += "\n  " + path + " has neither the C interface of TensorFlow Lite nor that of LiteRT";
    } catch (const Failed& e) {
      tried += std::string("\n  ") + e.what();
    }
  }
  throw Failed({tried, true, false});
}

std::uint64_t byte_size(const TensorValue& value) {
  const std::size_t bits = bits_of(value.type);
  if (bits == 0) fail("a tensor has a type without a fixed size");
  std::uint64_t elements = 1;
  for (const std::int64_t d : value.dims)
    if (d < 0 || __builtin_mul_overflow(elements, static_cast<std::uint64_t>(d), &elements) ||
        elements > kLargestFrame)
      fail("a tensor has the impossible shape " + shape_text(value.dims), true);
  return (elements * bits + 7) / 8;
}

std::string shape_text(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (const std::int64_t d : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
  return text + "]";
}

}  // namespace t2o::engines::lite
