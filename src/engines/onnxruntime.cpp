#include "engines/onnxruntime.h"

#include "diagnostics.h"
#include "engines/library.h"

#ifdef TF2ONNX_HAVE_ORT_HEADERS

#include <onnxruntime_c_api.h>

#include <array>
#include <map>
#include <memory>

#ifndef TF2ONNX_ORT_LIBRARY
#define TF2ONNX_ORT_LIBRARY ""
#endif

namespace t2o::engines {
namespace {

struct Engine {  // the library, its table of functions and the one environment of the process
  Library library;
  const OrtApi* api = nullptr;
  std::string version;
  OrtEnv* env = nullptr;  // never released: its threads may outlive main
};

const LibraryNames& library_names() {
  static const LibraryNames names = {"ONNX Runtime",
                                     "libonnxruntime.so",
                                     "TF2ONNX_ONNXRUNTIME",
                                     TF2ONNX_ORT_LIBRARY,
                                     "onnxruntime-",
                                     "onnxruntime",
                                     "capi",
                                     "onnxruntime"};
  return names;
}

void check(const OrtApi& api, OrtStatus* status, const std::string& what, bool loading = false) {
  if (!status) return;
  const OrtErrorCode code = api.GetErrorCode(status);
  const std::string message = "ONNX Runtime: " + what + ": " + api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  if (code == ORT_NO_SUCHFILE || code == ORT_INVALID_PROTOBUF || code == ORT_NO_MODEL ||
      (loading && code == ORT_INVALID_ARGUMENT))  // a message of another kind
    fail(Code::bad_file, message);
  throw OrtError({.code = Code::bad_model, .message = message});
}

Engine load(const std::string& path) {
  Engine engine{load_engine(library_names(), path), nullptr, "", nullptr};
  const OrtApiBase* (*base)() = nullptr;
  engine.library.bind(base, "OrtGetApiBase");
  engine.version = base()->GetVersionString();
  engine.api = base()->GetApi(ORT_API_VERSION);
  if (!engine.api)
    fail(Code::engine_missing,
         engine.library.path() + " is ONNX Runtime " + engine.version + ", which is too old",
         "Use a newer one: pip install -U onnxruntime");
  check(*engine.api, engine.api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "tf2onnx", &engine.env),
        "the environment");
  check(*engine.api, engine.api->DisableTelemetryEvents(engine.env), "the environment");
  return engine;
}

const Engine& engine(const std::string& path) {
  static std::map<std::string, Engine> engines;  // by the path asked for; in practice one
  auto it = engines.find(path);
  if (it == engines.end()) it = engines.emplace(path, load(path)).first;
  return it->second;
}

constexpr std::array<std::pair<ONNXTensorElementDataType, DType>, 20> kTypes = {{
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, DType::f32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, DType::u8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, DType::i8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, DType::u16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, DType::i16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, DType::i32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, DType::i64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, DType::string},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, DType::boolean},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, DType::f16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, DType::f64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, DType::u32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, DType::u64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, DType::bf16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, DType::f8e4m3fn},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, DType::f8e4m3fnuz},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, DType::f8e5m2},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, DType::f8e5m2fnuz},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, DType::u4},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, DType::i4},
}};

DType from_ort(ONNXTensorElementDataType type) {
  for (const auto& [ort, ours] : kTypes)
    if (ort == type) return ours;
  return DType::undefined;
}

ONNXTensorElementDataType to_ort(DType dtype) {
  for (const auto& [ort, ours] : kTypes)
    if (ours == dtype) return ort;
  fail(Code::unsupported_type, "ONNX Runtime has no tensors of " + std::string(name(dtype)));
}

template <auto Release>
struct Releaser {
  const OrtApi* api;
  template <class T>
  void operator()(T* object) const {
    (api->*Release)(object);
  }
};
template <class T, auto Release>
using Owned = std::unique_ptr<T, Releaser<Release>>;
using OwnedValue = Owned<OrtValue, &OrtApi::ReleaseValue>;
using OwnedInfo = Owned<OrtTensorTypeAndShapeInfo, &OrtApi::ReleaseTensorTypeAndShapeInfo>;
using OwnedType = Owned<OrtTypeInfo, &OrtApi::ReleaseTypeInfo>;
using OwnedOptions = Owned<OrtSessionOptions, &OrtApi::ReleaseSessionOptions>;

OrtAllocator* allocator(const OrtApi& api) {
  OrtAllocator* a = nullptr;
  check(api, api.GetAllocatorWithDefaultOptions(&a), "the allocator");
  return a;
}

OwnedValue make_value(const OrtApi& api, const Tensor& t, const std::string& feed) {
  OrtValue* value = nullptr;
  const auto rank = static_cast<std::size_t>(t.rank());
  check(api, api.CreateTensorAsOrtValue(allocator(api), t.dims().data(), rank, to_ort(t.dtype()), &value),
        "input " + feed);
  OwnedValue owned(value, {&api});
  if (t.dtype() == DType::string) {
    for (std::size_t i = 0; i < t.strings().size();
         ++i) {  // may hold zero bytes, which FillStringTensor would cut off
      char* buffer = nullptr;
      const std::string& s = t.strings()[i];
      check(api, api.GetResizedStringTensorElementBuffer(value, i, s.size(), &buffer), "input " + feed);
      std::ranges::copy(s, buffer);
    }
  } else if (const Bytes bytes = t.bytes(); !bytes.empty()) {
    void* data = nullptr;
    check(api, api.GetTensorMutableData(value, &data), "input " + feed);
    std::memcpy(data, bytes.data(), bytes.size());
  }
  return owned;
}

Ints dims_of(const OrtApi& api, const OrtTensorTypeAndShapeInfo* info) {
  std::size_t rank = 0;
  check(api, api.GetDimensionsCount(info, &rank), "a shape");
  Ints dims(rank);
  check(api, api.GetDimensions(info, dims.data(), rank), "a shape");
  return dims;
}

Strings read_strings(const OrtApi& api, const OrtValue* value, std::size_t count) {
  std::size_t size = 0;
  check(api, api.GetStringTensorDataLength(value, &size), "a string tensor");
  std::string all(size, '\0');
  std::vector<std::size_t> offsets(count + 1, size);
  if (count)
    check(api, api.GetStringTensorContent(value, all.data(), size, offsets.data(), count), "a string tensor");
  Strings strings(count);
  for (std::size_t i = 0; i < count; ++i) strings[i] = all.substr(offsets[i], offsets[i + 1] - offsets[i]);
  return strings;
}

TensorPtr read_value(const OrtApi& api, OrtValue* value, const std::string& output) {
  int is_tensor = 0, has_value = 0;
  check(api, api.HasValue(value, &has_value), "output " + output);
  if (has_value) check(api, api.IsTensor(value, &is_tensor), "output " + output);
  if (!is_tensor) fail(Code::unsupported_type, "ONNX Runtime: output " + output + " is not a tensor");
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  check(api, api.GetTensorTypeAndShape(value, &raw), "output " + output);
  const OwnedInfo info(raw, {&api});
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  check(api, api.GetTensorElementType(raw, &type), "output " + output);
  const DType dtype = from_ort(type);
  Ints dims = dims_of(api, raw);
  const std::int64_t count = element_count(dims);
  if (dtype == DType::string)
    return std::make_shared<Tensor>(std::move(dims),
                                    read_strings(api, value, static_cast<std::size_t>(count)));
  if (dtype == DType::undefined)
    fail(Code::unsupported_type, "ONNX Runtime: output " + output + " has an unknown element type");
  std::vector<std::byte> bytes(byte_size(dtype, count));
  void* data = nullptr;
  check(api, api.GetTensorMutableData(value, &data), "output " + output);
  if (!bytes.empty()) std::memcpy(bytes.data(), data, bytes.size());
  return std::make_shared<Tensor>(dtype, std::move(dims), heap_storage(std::move(bytes)));
}

void describe_type(const OrtApi& api, const OrtTypeInfo* type, TensorInfo& info) {
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;  // belongs to type; null for a sequence, a map ...
  check(api, api.CastTypeInfoToTensorInfo(type, &tensor), "the type of " + info.name);
  if (!tensor) return;
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  check(api, api.GetTensorElementType(tensor, &element), "the type of " + info.name);
  info.dtype = from_ort(element);
  Ints dims = dims_of(api, tensor);
  std::vector<const char*> symbols(dims.size());
  check(api, api.GetSymbolicDimensions(tensor, symbols.data(), symbols.size()), "the type of " + info.name);
  info.symbols.assign(symbols.begin(), symbols.end());
  info.shape = Shape(std::move(dims));
}

using GetCount = OrtStatus* (*)(const ::OrtSession*, std::size_t*) noexcept;
using GetName = OrtStatus* (*)(const ::OrtSession*, std::size_t, OrtAllocator*, char**) noexcept;
using GetType = OrtStatus* (*)(const ::OrtSession*, std::size_t, OrtTypeInfo**) noexcept;

std::vector<TensorInfo> describe(const OrtApi& api, const ::OrtSession* session, GetCount get_count,
                                 GetName get_name, GetType get_type) {
  std::size_t count = 0;
  check(api, get_count(session, &count), "the model's interface");
  std::vector<TensorInfo> infos(count);
  for (std::size_t i = 0; i < count; ++i) {
    char* text = nullptr;
    check(api, get_name(session, i, allocator(api), &text), "the model's interface");
    infos[i].name = text;
    check(api, api.AllocatorFree(allocator(api), text), "the model's interface");
    OrtTypeInfo* type = nullptr;
    check(api, get_type(session, i, &type), "the model's interface");
    describe_type(api, OwnedType(type, {&api}).get(), infos[i]);
  }
  return infos;
}

GraphOptimizationLevel level(OrtOptimization o) {
  switch (o) {
    case OrtOptimization::none:
      return ORT_DISABLE_ALL;
    case OrtOptimization::basic:
      return ORT_ENABLE_BASIC;
    case OrtOptimization::extended:
      return ORT_ENABLE_EXTENDED;
    case OrtOptimization::all:
      break;
  }
  return ORT_ENABLE_ALL;
}

OwnedOptions session_options(const OrtApi& api, const OrtOptions& o) {
  OrtSessionOptions* raw = nullptr;
  check(api, api.CreateSessionOptions(&raw), "session options");
  OwnedOptions options(raw, {&api});
  check(api,
        api.SetSessionLogSeverityLevel(raw, o.verbose ? ORT_LOGGING_LEVEL_WARNING : ORT_LOGGING_LEVEL_FATAL),
        "options");
  check(api, api.SetSessionGraphOptimizationLevel(raw, level(o.optimization)), "options");
  if (o.threads > 0) {
    check(api, api.SetIntraOpNumThreads(raw, o.threads), "options");
    check(api, api.SetInterOpNumThreads(raw, 1), "options");
  }
  if (!o.arena) {
    check(api, api.DisableCpuMemArena(raw), "options");
    check(api, api.DisableMemPattern(raw), "options");
  }
  if (!o.external_data_folder.empty())
    check(api,
          api.AddSessionConfigEntry(raw, "session.model_external_initializers_file_folder_path",
                                    o.external_data_folder.c_str()),
          "options");
  for (const auto& [key, value] : o.entries)
    check(api, api.AddSessionConfigEntry(raw, key.c_str(), value.c_str()), "option " + key);
  return options;
}

}  // namespace

struct OrtSession::Impl {
  const OrtApi* api;
  Owned<::OrtSession, &OrtApi::ReleaseSession> session;
  std::vector<TensorInfo> inputs, optional_inputs, outputs;

  template <class Create>
  Impl(const OrtOptions& o, const std::string& what, Create create)
      : api(engine(o.library).api), session(nullptr, {api}) {
    const OwnedOptions options = session_options(*api, o);
    ::OrtSession* raw = nullptr;
    check(*api, create(engine(o.library).env, options.get(), &raw), what, true);
    session.reset(raw);
    inputs = describe(*api, raw, api->SessionGetInputCount, api->SessionGetInputName,
                      api->SessionGetInputTypeInfo);
    optional_inputs =
        describe(*api, raw, api->SessionGetOverridableInitializerCount,
                 api->SessionGetOverridableInitializerName, api->SessionGetOverridableInitializerTypeInfo);
    outputs = describe(*api, raw, api->SessionGetOutputCount, api->SessionGetOutputName,
                       api->SessionGetOutputTypeInfo);
  }
};

std::string onnxruntime_version(const std::string& library) { return engine(library).version; }

OrtSession OrtSession::from_file(const std::string& path, const OrtOptions& o) {
  return OrtSession(std::make_unique<Impl>(
      o, path, [&](const OrtEnv* env, const OrtSessionOptions* options, ::OrtSession** session) {
        return engine(o.library).api->CreateSession(env, path.c_str(), options, session);
      }));
}

OrtSession OrtSession::from_bytes(Bytes model, const OrtOptions& o) {
  return OrtSession(std::make_unique<Impl>(
      o, "the model", [&](const OrtEnv* env, const OrtSessionOptions* options, ::OrtSession** session) {
        return engine(o.library).api->CreateSessionFromArray(env, model.data(), model.size(), options,
                                                             session);
      }));
}

OrtSession::OrtSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OrtSession::OrtSession(OrtSession&&) noexcept = default;
OrtSession& OrtSession::operator=(OrtSession&&) noexcept = default;
OrtSession::~OrtSession() = default;

const std::vector<TensorInfo>& OrtSession::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& OrtSession::optional_inputs() const { return impl_->optional_inputs; }
const std::vector<TensorInfo>& OrtSession::outputs() const { return impl_->outputs; }

std::vector<TensorPtr> OrtSession::run(const Feeds& feeds) const {
  Strings names;
  for (const TensorInfo& info : impl_->outputs) names.push_back(info.name);
  return run(feeds, names);
}

std::vector<TensorPtr> OrtSession::run(const Feeds& feeds, const Strings& outputs) const {
  const OrtApi& api = *impl_->api;
  std::vector<OwnedValue> owned;
  std::vector<const char*> input_names, output_names;
  std::vector<const OrtValue*> inputs;
  for (const auto& [feed, tensor] : feeds) {
    owned.push_back(make_value(api, *tensor, feed));
    inputs.push_back(owned.back().get());
    input_names.push_back(feed.c_str());
  }
  for (const std::string& output : outputs) output_names.push_back(output.c_str());
  std::vector<OrtValue*> raw(outputs.size());
  check(api,
        api.Run(impl_->session.get(), nullptr, input_names.data(), inputs.data(), inputs.size(),
                output_names.data(), output_names.size(), raw.data()),
        "run");
  std::vector<OwnedValue> results;
  for (OrtValue* value : raw) results.emplace_back(value, Releaser<&OrtApi::ReleaseValue>{&api});
  std::vector<TensorPtr> tensors;
  for (std::size_t i = 0; i < results.size(); ++i)
    tensors.push_back(read_value(api, results[i].get(), outputs[i]));
  return tensors;
}

}  // namespace t2o::engines

#else

namespace t2o::engines {
namespace {

[[noreturn]] void fail_without_headers() {
  fail(Code::engine_missing, "this program was built without the header of ONNX Runtime's C API",
       "Run scripts/setup.sh --engines, or give ONNXRUNTIME_INCLUDE_DIR to cmake, and build again.");
}

}  // namespace

struct OrtSession::Impl {};
std::string onnxruntime_version(const std::string&) { fail_without_headers(); }
OrtSession OrtSession::from_file(const std::string&, const OrtOptions&) { fail_without_headers(); }
OrtSession OrtSession::from_bytes(Bytes, const OrtOptions&) { fail_without_headers(); }
OrtSession::OrtSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OrtSession::OrtSession(OrtSession&&) noexcept = default;
OrtSession& OrtSession::operator=(OrtSession&&) noexcept = default;
OrtSession::~OrtSession() = default;
const std::vector<TensorInfo>& OrtSession::inputs() const { fail_without_headers(); }
const std::vector<TensorInfo>& OrtSession::optional_inputs() const { fail_without_headers(); }
const std::vector<TensorInfo>& OrtSession::outputs() const { fail_without_headers(); }
std::vector<TensorPtr> OrtSession::run(const Feeds&) const { fail_without_headers(); }
std::vector<TensorPtr> OrtSession::run(const Feeds&, const Strings&) const { fail_without_headers(); }

}  // namespace t2o::engines

#endif
