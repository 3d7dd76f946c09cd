#include "tf2onnx/c_api.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

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

struct KeptModel : tf2onnx_model {
  std::vector<tf2onnx_tensor> inputs, outputs;
};

// The structs of C point into the result of C++.
struct KeptResult : tf2onnx_result {
  tf2onnx::Result value;
  std::string text;
  std::vector<KeptModel> models;
  std::vector<tf2onnx_diagnostic> diagnostics;
};

std::vector<tf2onnx_tensor> as_c(const std::vector<tf2onnx::Tensor>& tensors) {
  std::vector<tf2onnx_tensor> list;
  for (const tf2onnx::Tensor& t : tensors)
    list.push_back(
        {t.name.c_str(), t.dtype.c_str(), t.ranked, t.shape.size(), t.shape.data(), t.has_default});
  return list;
}

tf2onnx_result* as_c(tf2onnx::Result result) {
  auto kept = std::make_unique<KeptResult>();
  kept->text = tf2onnx::to_string(result);
  const tf2onnx::Result& r = kept->value = std::move(result);
  for (const tf2onnx::Model& m : r.models)
    kept->models.push_back(
        {{m.signature.c_str(), m.path.c_str(), m.bytes, m.nodes, m.inputs.size(), m.outputs.size()},
         as_c(m.inputs),
         as_c(m.outputs)});
  for (const tf2onnx::Diagnostic& d : r.diagnostics)
    kept->diagnostics.push_back({static_cast<int>(d.severity), d.code.c_str(), d.message.c_str(),
                                 d.remedy.c_str(), d.node.c_str(), d.op.c_str(), d.function.c_str()});
  static_cast<tf2onnx_result&>(*kept) = {
      r.exit_code,         r.opset,      r.ir_version,         r.models.size(),
      r.data_path.c_str(), r.data_bytes, r.diagnostics.size(), kept->text.c_str()};
  return kept.release();
}

template <class T>
const T* at(const std::vector<T>& list, std::size_t i) {
  return i < list.size() ? &list[i] : nullptr;
}

tf2onnx::Options value_of(const tf2onnx_options* options) {
  return options ? options->value : tf2onnx::Options();
}

tf2onnx::Result convert_file(const tf2onnx_options* options, const char* model_path, const char* out_path) {
  if (model_path && out_path) {
    tf2onnx::Options used = value_of(options);
    used.model = model_path;
    return tf2onnx::convert_file(used, out_path);
  }
  tf2onnx::Result misused;
  misused.exit_code = TF2ONNX_BAD_OPTION;
  misused.diagnostics.emplace_back();
  misused.diagnostics[0].code = "bad-option";
  misused.diagnostics[0].message = "the path of a file is a null pointer";
  return misused;
}

// What reaches this edge is std::bad_alloc, and no text can be made of it.
template <class Work>
int guarded(char** messages, Work&& work) {
  if (messages) *messages = nullptr;
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
  return guarded(messages, [&]() -> int {
    if (!options || !name || !value) return misuse(messages, "tf2onnx_options_set got a null pointer");
    std::string why;
    const bool good = tf2onnx::set_option(options->value, name, value, &why);
    tell(messages, why);
    return good ? TF2ONNX_OK : TF2ONNX_BAD_OPTION;
  });
}

int tf2onnx_convert_file(const tf2onnx_options* options, const char* model_path, const char* out_path,
                         char** messages) {
  return guarded(messages, [&]() -> int {
    const tf2onnx::Result result = convert_file(options, model_path, out_path);
    tell(messages, tf2onnx::to_string(result));
    return result.exit_code;
  });
}

int tf2onnx_convert_memory(const tf2onnx_options* options, const void* graph_def, size_t size, void** onnx,
                           size_t* onnx_size, char** messages) {
  return guarded(messages, [&]() -> int {
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

int tf2onnx_convert(const tf2onnx_options* options, const char* model_path, const char* out_path,
                    tf2onnx_result** result) {
  return guarded(nullptr, [&]() -> int {
    if (!result) return TF2ONNX_BAD_OPTION;
    *result = nullptr;
    *result = as_c(convert_file(options, model_path, out_path));
    return (*result)->status;
  });
}

void tf2onnx_result_free(tf2onnx_result* result) { delete static_cast<KeptResult*>(result); }

const tf2onnx_model* tf2onnx_result_model(const tf2onnx_result* result, size_t i) {
  return result ? at(static_cast<const KeptResult*>(result)->models, i) : nullptr;
}

const tf2onnx_diagnostic* tf2onnx_result_diagnostic(const tf2onnx_result* result, size_t i) {
  return result ? at(static_cast<const KeptResult*>(result)->diagnostics, i) : nullptr;
}

const tf2onnx_tensor* tf2onnx_model_input(const tf2onnx_model* model, size_t i) {
  return model ? at(static_cast<const KeptModel*>(model)->inputs, i) : nullptr;
}

const tf2onnx_tensor* tf2onnx_model_output(const tf2onnx_model* model, size_t i) {
  return model ? at(static_cast<const KeptModel*>(model)->outputs, i) : nullptr;
}

void tf2onnx_free(void* memory) { std::free(memory); }

}  // extern "C"
