#include "tf2onnx/c_api.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "tf2onnx/tf2onnx.h"

struct tf2onnx_options {
  tf2onnx::Options value;
};

namespace {

void* copy(const std::string& bytes) {
  void* memory = std::malloc(bytes.size() + 1);
  if (memory) std::memcpy(memory, bytes.c_str(), bytes.size() + 1);
  return memory;
}

void tell(char** messages, const std::string& text) {
  if (messages) *messages = text.empty() ? nullptr : static_cast<char*>(copy(text));
}

int misuse(char** messages, const char* text) {
  tell(messages, std::string("error[bad-option]: ") + text + "\n");
  return TF2ONNX_BAD_OPTION;
}

tf2onnx::Options value_of(const tf2onnx_options* options) {
  return options ? options->value : tf2onnx::Options();
}

// What reaches this edge is std::bad_alloc, and no text can be made of it.
template <class Work>
int guarded(Work&& work) {
  try {
    return work();
  } catch (...) {
    return TF2ONNX_NOT_CONVERTIBLE;
  }
}

}  // namespace

extern "C" {

const char* tf2onnx_version(void) { return tf2onnx::version(); }

tf2onnx_options* tf2onnx_options_new(void) { return new (std::nothrow) tf2onnx_options(); }

void tf2onnx_options_free(tf2onnx_options* options) { delete options; }

int tf2onnx_options_set(tf2onnx_options* options, const char* name, const char* value, char** messages) {
  return guarded([&]() -> int {
    if (!options || !name || !value) return misuse(messages, "tf2onnx_options_set got a null pointer");
    std::string why;
    const bool good = tf2onnx::set_option(options->value, name, value, &why);
    tell(messages, why);
    return good ? TF2ONNX_OK : TF2ONNX_BAD_OPTION;
  });
}

int tf2onnx_convert_file(const tf2onnx_options* options, const char* model_path, const char* out_path,
                         char** messages) {
  return guarded([&]() -> int {
    if (!model_path || !out_path) return misuse(messages, "tf2onnx_convert_file got a null pointer");
    tf2onnx::Options used = value_of(options);
    used.model = model_path;
    const tf2onnx::Result result = tf2onnx::convert_file(used, out_path);
    tell(messages, tf2onnx::to_string(result));
    return result.exit_code;
  });
}

int tf2onnx_convert_memory(const tf2onnx_options* options, const void* graph_def, size_t size, void** onnx,
                           size_t* onnx_size, char** messages) {
  return guarded([&]() -> int {
    if ((!graph_def && size != 0) || !onnx || !onnx_size)
      return misuse(messages, "tf2onnx_convert_memory got a null pointer");
    *onnx = nullptr;
    *onnx_size = 0;
    std::string bytes;
    const std::string_view source(static_cast<const char*>(graph_def), size);
    const tf2onnx::Result result = tf2onnx::convert_memory(value_of(options), source, bytes);
    tell(messages, tf2onnx::to_string(result));
    if (!result.ok()) return result.exit_code;
    *onnx = copy(bytes);
    if (!*onnx) return TF2ONNX_NOT_CONVERTIBLE;
    *onnx_size = bytes.size();
    return TF2ONNX_OK;
  });
}

void tf2onnx_free(void* memory) { std::free(memory); }

}  // extern "C"
