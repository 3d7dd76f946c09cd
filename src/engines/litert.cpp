#include "engines/litert.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "engines/child_process.h"
#include "engines/library.h"
#include "engines/litert/protocol.h"
#include "engines/tensorflow.h"

#ifndef TF2ONNX_LIBEXEC_DIR
#define TF2ONNX_LIBEXEC_DIR ""
#endif

namespace t2o::engines {
namespace {

namespace fs = std::filesystem;
using lite::Kind;

constexpr const char* kHelper = "tf2onnx-litert";
constexpr std::size_t kLinesOfLog = 4;

const LibraryNames& complete_library() {
  static const LibraryNames names = {"LiteRT", "libtensorflowlite_c.so", "TF2ONNX_LITERT",
                                     "",       "tensorflowlite-c-",      "pymicro_wakeword",
                                     "lib",    "pymicro-wakeword==2.5.0"};
  return names;
}
const LibraryNames& newest_library() {
  static const LibraryNames names = {
      "LiteRT", "libLiteRt.so", "TF2ONNX_LITERT", "", "litert-", "ai_edge_litert", "", "ai-edge-litert"};
  return names;
}

LibraryNames any_library() {
  LibraryNames names = complete_library();
  names.file += " or " + newest_library().file;
  return names;
}

// The complete interface goes before the newest.
Strings libraries(const std::string& explicit_path) {
  Strings all = engine_candidates(complete_library(), explicit_path);
  for (std::string& path : engine_candidates(newest_library(), explicit_path))
    if (std::find(all.begin(), all.end(), path) == all.end()) all.push_back(std::move(path));
  return all;
}

// The element types of a .tflite file, by their numbers.
constexpr std::array<DType, 21> kTypes = {
    DType::undefined, DType::f32,     DType::i32, DType::u8,  DType::i64, DType::string, DType::boolean,
    DType::i16,       DType::c64,     DType::i8,  DType::f16, DType::f64, DType::c128,   DType::u64,
    DType::resource,  DType::variant, DType::u32, DType::u16, DType::i4,  DType::bf16,   DType::i2};

DType dtype_of(std::int32_t type) {
  return type >= 0 && static_cast<std::size_t>(type) < kTypes.size() ? kTypes[static_cast<std::size_t>(type)]
                                                                     : DType::undefined;
}

std::int32_t type_of(DType dtype) {
  for (std::size_t i = 1; i < kTypes.size(); ++i)
    if (kTypes[i] == dtype) return static_cast<std::int32_t>(i);
  throw LiteError(
      {.code = Code::unsupported_type, .message = "LiteRT has no type " + std::string(name(dtype))}, false);
}

LiteTensor tensor_info(const lite::TensorInfo& t) {
  return {t.key, t.name, dtype_of(t.type), Shape(t.dims), t.scales, t.zero_points, t.axis};
}

lite::TensorValue to_wire(const Tensor& t) {
  lite::TensorValue v{type_of(t.dtype()), t.dims(), "", t.strings()};
  if (t.dtype() == DType::string) return v;
  const Bytes bytes = t.bytes();
  v.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return v;
}

// The helper's numbers are checked: LiteRT made them of an untrusted file.
TensorPtr from_wire(lite::TensorValue& v) {
  const DType dtype = dtype_of(v.type);
  std::int64_t elements = 1;
  for (const std::int64_t d : v.dims)
    if (d < 0 || __builtin_mul_overflow(elements, d, &elements)) elements = -1;
  const bool is_string = dtype == DType::string;
  const std::size_t expected = is_string               ? v.strings.size()
                               : bit_width(dtype) == 0 ? v.bytes.size() + 1
                                                       : byte_size(dtype, elements);
  if (elements < 0 || expected != (is_string ? static_cast<std::size_t>(elements) : v.bytes.size()))
    throw LiteError(
        {.code = Code::bad_model, .message = "LiteRT gives an output that does not fit its shape"}, false);
  if (is_string) return std::make_shared<Tensor>(v.dims, std::move(v.strings));
  std::vector<std::byte> bytes(v.bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), v.bytes.data(), bytes.size());
  return std::make_shared<Tensor>(dtype, v.dims, heap_storage(std::move(bytes)));
}

bool is_noise(std::string_view line) {
  return line.empty() || line.starts_with("INFO:") || line.starts_with("VERBOSE:") ||
         line.starts_with("WARNING:");
}

// What LiteRT has printed of an error.
std::string last_lines(const std::string& log) {
  Strings lines;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    if (const std::string line = log.substr(at, end - at); !is_noise(line)) lines.push_back(line);
    at = end + 1;
  }
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLinesOfLog); i < lines.size(); ++i)
    text += "\n  " + lines[i];
  return text;
}

// What a library says when it has no kernel for an operator. The operator's name follows.
struct Lack {
  std::string_view begin, end;  // of the name; without `begin` the name is `what`
  std::string_view what = {};
};
constexpr Lack kLacks[] = {
    {"Didn't find op for builtin opcode '", "'"},
    {"Encountered unresolved custom op: ", "."},
    {"Op builtin_code out of range: ", ".", "operator number "},
    {"(Flex", ") failed to prepare", "Flex"},
};
constexpr std::pair<std::string_view, std::string_view> kMissingParts[] = {
    {"Variable tensors not yet supported", "variable tensors"},
    {"Stub operation invoked", "a custom operator that XNNPACK computes"},
    {"Failed to set custom allocation for output", "outputs whose shapes depend on values"},
    {"cannot pass strings", "strings"},
    {"lacks data", "weights in another file"},
    {"not currently supported", "a type of the model's tensors"},
    {"a resource that LiteRT has made", "operators of TensorFlow that take its own resources"},
};

// What the library has no code for, by what it has printed. Empty: its refusal has another cause.
std::string missing_part(const std::string& log) {
  for (const Lack& l : kLacks) {
    const std::size_t at = log.find(l.begin);
    if (at == std::string::npos) continue;
    const std::size_t from = at + l.begin.size(), to = log.find(l.end, from);
    if (to != std::string::npos) return std::string(l.what) + log.substr(from, to - from);
  }
  for (const auto& [text, what] : kMissingParts)
    if (log.find(text) != std::string::npos) return std::string(what);
  return "";
}

// Asks the helper one thing after the other.
class Helper {
 public:
  Helper(const LiteOptions& options, Strings libraries)
      : limit_(options.time_limit), process_(litert_helper(options.helper), {"--serve"}) {
    try {
      const auto reply = ask<lite::OpenReply>(Kind::open, lite::OpenRequest{std::move(libraries)});
      version_ = {reply.path, reply.version, reply.is_complete};
    } catch (const lite::Failure& f) {
      fail_missing_engine(any_library(), f.message);
    }
  }
  const LiteVersion& version() const { return version_; }

  template <class Reply, class Request>
  Reply ask(Kind kind, const Request& request) {
    deadline_ =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(limit_));
    runs_ = kind == Kind::run;
    const std::string bytes = lite::frame(kind, lite::encode(request));
    const ChildProcess::Result sent = process_.send(bytes.data(), bytes.size(), deadline_);
    if (sent == ChildProcess::Result::late)
      check(sent);  // one that has ended may have said before what it was doing
    while (true) {
      const auto [what, payload] = receive();
      try {
        if (what == Kind::doing) doing_ = payload;
        if (what == Kind::done) return lite::decode<Reply>(payload);
        if (what == Kind::failed) throw lite::decode<lite::Failure>(payload);
      } catch (const lite::BadMessage&) {
        fail_garbled();
      }
    }
  }

  // What LiteRT itself refuses, with what it has printed.
  [[noreturn]] void refuse(const lite::Failure& f) {
    const std::string log = process_.log(), part = missing_part(f.message + log);
    if (!part.empty())
      throw LiteLacks(
          {.code = Code::engine_missing,
           .message = title() + " does not run the model: it has no code for " + part + last_lines(log),
           .remedy = part.starts_with("Flex")
                         ? "Flex operators run in libtensorflow_cc.so.2 and libtensorflowlite_c.so: "
                           "scripts/setup.sh --engines gets both, --tensorflow and --litert name them."
                         : "libtensorflowlite_c.so has the complete interface, libLiteRt.so the newest "
                           "operators: --litert names one of them."});
    throw LiteError({.code = Code::bad_model, .message = title() + ": " + f.message + last_lines(log)},
                    f.blames_values);
  }
  bool is_dead() const { return dead_; }

 private:
  std::string title() const { return version_.version.empty() ? "LiteRT" : "LiteRT " + version_.version; }

  std::pair<Kind, std::string> receive() {
    lite::FrameHead head;
    check(process_.receive(&head, sizeof head, deadline_));
    if (!lite::is_valid(head)) fail_garbled();
    std::string payload(head.size, '\0');
    check(process_.receive(payload.data(), payload.size(), deadline_));
    return {head.kind, std::move(payload)};
  }

  void check(ChildProcess::Result result) {
    if (result == ChildProcess::Result::ok) return;
    dead_ = true;
    const bool late = result == ChildProcess::Result::late;
    if (late) process_.kill();
    const std::string end = process_.end();
    const std::string during = doing_.empty() ? "starting" : doing_;
    const std::string message =
        late ? title() + " was not done with " + during + " after " +
                   std::to_string(static_cast<long>(limit_)) + " s"
             : title() + " crashed (" + end + ") while it was " + during + last_lines(process_.log());
    throw LiteError(
        {.code = version_.path.empty() ? Code::engine_missing : Code::bad_model, .message = message},
        !late && runs_);
  }

  [[noreturn]] void fail_garbled() {
    dead_ = true;
    process_.kill();
    fail(Code::internal, "the helper of LiteRT gave an answer that is none, while it was " + doing_);
  }

  double limit_;
  ChildProcess process_;
  ChildProcess::Deadline deadline_{};
  LiteVersion version_;
  std::string doing_;
  bool dead_ = false, runs_ = false;  // runs_: it was asked for a run
};

}  // namespace

std::string litert_helper(const std::string& explicit_path) {
  std::error_code error;
  const char* own = std::getenv("TF2ONNX_LITERT_HELPER");
  if (!explicit_path.empty()) return explicit_path;
  if (own && *own) return own;
  const fs::path here = own_folder();
  for (const fs::path& folder :
       {here, here / "../libexec/tf2onnx", here / "../../libexec/tf2onnx", fs::path(TF2ONNX_LIBEXEC_DIR)})
    if (!folder.empty() && fs::exists(folder / kHelper, error)) return (folder / kHelper).string();
  fail(Code::engine_missing,
       std::string(kHelper) +
           " is not there: LiteRT runs in this program, which is installed with tf2onnx-cpp",
       "Put it beside " + here.string() + "/, or set TF2ONNX_LITERT_HELPER to its path.");
}

LiteVersion litert_version(const LiteOptions& options) {
  return Helper(options, libraries(options.library)).version();
}

class LiteModel::Impl {
 public:
  Impl(lite::LoadRequest request, const LiteOptions& options)
      : request_(std::move(request)), options_(options) {
    request_.builtin_kernels = options.kernels == LiteKernels::builtin;
    request_.threads = options.threads;
    request_.flex_operators = options.flex_operators;
    if (!options.flex_operators.empty())
      request_.tensorflow_libraries = tensorflow_libraries(options.tensorflow_library);
    libraries_ = libraries(options.library);
    start();
  }
  const LiteVersion& version() const { return helper_->version(); }
  const std::vector<LiteSignature>& signatures() const { return signatures_; }

  std::vector<TensorPtr> run(std::size_t signature, const std::vector<TensorPtr>& inputs, bool keep_state) {
    if (helper_->is_dead()) start();  // other inputs may do
    lite::RunRequest request{static_cast<std::uint32_t>(signature), keep_state, {}};
    for (const TensorPtr& t : inputs) request.inputs.push_back(to_wire(*t));
    try {
      auto reply = helper_->ask<lite::RunReply>(Kind::run, request);
      std::vector<TensorPtr> outputs;
      for (lite::TensorValue& v : reply.outputs) outputs.push_back(from_wire(v));
      return outputs;
    } catch (const lite::Failure& f) {
      helper_->refuse(f);
    }
  }

 private:
  // A library that has no code for an operator of the model gives way to the next one.
  void start() {
    std::optional<LiteLacks> first;
    while (true) {
      try {
        return load();
      } catch (const LiteLacks& e) {
        if (!first) first = e;
        const auto used = std::find(libraries_.begin(), libraries_.end(), helper_->version().path);
        if (used == libraries_.end() || used + 1 == libraries_.end()) throw *first;
        libraries_.erase(libraries_.begin(), used + 1);
      } catch (const ConversionError&) {
        if (!first) throw;
        throw *first;
      }
    }
  }

  void load() {
    helper_ = std::make_unique<Helper>(options_, libraries_);
    try {
      const auto reply = helper_->ask<lite::LoadReply>(Kind::load, request_);
      signatures_.clear();
      for (const lite::Signature& s : reply.signatures) {
        LiteSignature& to = signatures_.emplace_back();
        to.key = s.key;
        for (const lite::TensorInfo& t : s.inputs) to.inputs.push_back(tensor_info(t));
        for (const lite::TensorInfo& t : s.outputs) to.outputs.push_back(tensor_info(t));
      }
    } catch (const lite::Failure& f) {
      helper_->refuse(f);
    }
  }

  lite::LoadRequest request_;
  LiteOptions options_;
  Strings libraries_;  // those that may run the model
  std::unique_ptr<Helper> helper_;
  std::vector<LiteSignature> signatures_;
};

LiteModel LiteModel::from_file(const std::string& path, const LiteOptions& options) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) fail(Code::bad_file, "there is no file " + path);
  lite::LoadRequest request;
  request.path = fs::absolute(path, error).string();
  return LiteModel(std::make_unique<Impl>(std::move(request), options));
}

LiteModel LiteModel::from_bytes(Bytes model, const LiteOptions& options) {
  lite::LoadRequest request;
  request.bytes.assign(reinterpret_cast<const char*>(model.data()), model.size());
  return LiteModel(std::make_unique<Impl>(std::move(request), options));
}

LiteModel::LiteModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiteModel::LiteModel(LiteModel&&) noexcept = default;
LiteModel& LiteModel::operator=(LiteModel&&) noexcept = default;
LiteModel::~LiteModel() = default;

const LiteVersion& LiteModel::version() const { return impl_->version(); }
const std::vector<LiteSignature>& LiteModel::signatures() const { return impl_->signatures(); }
std::vector<TensorPtr> LiteModel::run(std::size_t signature, const std::vector<TensorPtr>& inputs,
                                      bool keep_state) {
  return impl_->run(signature, inputs, keep_state);
}

}  // namespace t2o::engines
