#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "engines/litert/model.h"

// LiteRT by its own C interface: libLiteRt.so of ai-edge-litert 2.2 and newer.
namespace t2o::engines::lite {
namespace {

struct Environment;
struct Model;
struct Options;
struct OpaqueOptions;
struct CompiledModel;
struct SignatureOf;
struct Tensor;
struct Buffer;
struct Requirements;

constexpr int kMostDims = 8;
struct Layout {
  unsigned rank : 7;
  bool has_strides : 1;
  std::int32_t dims[kMostDims];
  std::uint32_t strides[kMostDims];
};
struct RankedType {
  std::int32_t type;
  Layout layout;
};
static_assert(sizeof(RankedType) == 72);
struct PerTensor {
  float scale;
  std::int64_t zero_point;
};
struct PerChannel {
  std::int32_t axis;
  std::uint64_t count;
  const float* scales;
  const std::int64_t* zero_points;
};

constexpr int kOk = 0, kCpu = 1, kRead = 0, kPerTensor = 1, kPerChannel = 2;
constexpr std::size_t kAlignment = 64;

struct Api {
  int (*environment)(int, const void*, Environment**);
  int (*model_from_file)(Environment*, const char*, Model**);
  int (*model_from_buffer)(Environment*, const void*, std::size_t, Model**);
  int (*options)(Options**);
  void (*delete_options)(Options*);
  int (*set_accelerators)(Options*, int);
  int (*opaque_options)(const char*, void*, void (*)(void*), OpaqueOptions**);
  int (*add_opaque)(Options*, OpaqueOptions*);
  int (*compile)(Environment*, Model*, Options*, CompiledModel**);
  void (*delete_compiled)(CompiledModel*);
  int (*run)(CompiledModel*, std::size_t, std::size_t, Buffer**, std::size_t, Buffer**);
  int (*resize)(CompiledModel*, std::size_t, std::size_t, const int*, std::size_t);
  int (*input_layout)(CompiledModel*, std::size_t, std::size_t, Layout*);
  int (*output_layouts)(CompiledModel*, std::size_t, std::size_t, Layout*, bool);
  int (*input_requirements)(CompiledModel*, std::size_t, std::size_t, Requirements**);
  int (*output_requirements)(CompiledModel*, std::size_t, std::size_t, Requirements**);
  int (*required_size)(Requirements*, std::size_t*);
  int (*host_buffer)(const RankedType*, void*, std::size_t, void (*)(void*), Buffer**);
  void (*delete_buffer)(Buffer*);
  int (*lock)(Buffer*, void**, int);
  int (*unlock)(Buffer*);
  int (*signature_count)(Model*, std::size_t*);
  int (*signature)(Model*, std::size_t, SignatureOf**);
  int (*key)(SignatureOf*, const char**);
  int (*input_count)(SignatureOf*, std::size_t*);
  int (*input_name)(SignatureOf*, std::size_t, const char**);
  int (*input)(SignatureOf*, std::size_t, Tensor**);
  int (*output_count)(SignatureOf*, std::size_t*);
  int (*output_name)(SignatureOf*, std::size_t, const char**);
  int (*output)(SignatureOf*, std::size_t, Tensor**);
  int (*tensor_name)(Tensor*, const char**);
  int (*ranked_type)(Tensor*, RankedType*);
  int (*quantization)(Tensor*, int*);
  int (*per_tensor)(Tensor*, PerTensor*);
  int (*per_channel)(Tensor*, PerChannel*);
};

// Older versions have functions of the same names with other arguments.
void check_interface(const Library& l) {
  if (l.has("LiteRtCreateModelFromFd") && l.has("LiteRtRunCompiledModelWithOptions")) return;
  throw Failed(
      {l.path() + " has the C interface of a LiteRT before 2.2, which is not supported", true, false});
}

void bind_model(Api& a, const Library& l) {
  l.bind(a.environment, "LiteRtCreateEnvironment");
  l.bind(a.model_from_file, "LiteRtCreateModelFromFile");
  l.bind(a.model_from_buffer, "LiteRtCreateModelFromBuffer");
  l.bind(a.options, "LiteRtCreateOptions");
  l.bind(a.delete_options, "LiteRtDestroyOptions");
  l.bind(a.set_accelerators, "LiteRtSetOptionsHardwareAccelerators");
  l.bind(a.opaque_options, "LiteRtCreateOpaqueOptions");
  l.bind(a.add_opaque, "LiteRtAddOpaqueOptions");
  l.bind(a.compile, "LiteRtCreateCompiledModel");
  l.bind(a.delete_compiled, "LiteRtDestroyCompiledModel");
  l.bind(a.run, "LiteRtRunCompiledModel");
  l.bind(a.resize, "LiteRtCompiledModelResizeInputTensorNonStrict");
  l.bind(a.input_layout, "LiteRtGetCompiledModelInputTensorLayout");
  l.bind(a.output_layouts, "LiteRtGetCompiledModelOutputTensorLayouts");
  l.bind(a.input_requirements, "LiteRtGetCompiledModelInputBufferRequirements");
  l.bind(a.output_requirements, "LiteRtGetCompiledModelOutputBufferRequirements");
}

void bind_tensors(Api& a, const Library& l) {
  l.bind(a.required_size, "LiteRtGetTensorBufferRequirementsBufferSize");
  l.bind(a.host_buffer, "LiteRtCreateTensorBufferFromHostMemory");
  l.bind(a.delete_buffer, "LiteRtDestroyTensorBuffer");
  l.bind(a.lock, "LiteRtLockTensorBuffer");
  l.bind(a.unlock, "LiteRtUnlockTensorBuffer");
  l.bind(a.tensor_name, "LiteRtGetTensorName");
  l.bind(a.ranked_type, "LiteRtGetRankedTensorType");
  l.bind(a.quantization, "LiteRtGetQuantizationTypeId");
  l.bind(a.per_tensor, "LiteRtGetPerTensorQuantization");
  l.bind(a.per_channel, "LiteRtGetPerChannelQuantization");
}

void bind_signatures(Api& a, const Library& l) {
  l.bind(a.signature_count, "LiteRtGetNumModelSignatures");
  l.bind(a.signature, "LiteRtGetModelSignature");
  l.bind(a.key, "LiteRtGetSignatureKey");
  l.bind(a.input_count, "LiteRtGetNumSignatureInputs");
  l.bind(a.input_name, "LiteRtGetSignatureInputName");
  l.bind(a.input, "LiteRtGetSignatureInputTensorByIndex");
  l.bind(a.output_count, "LiteRtGetNumSignatureOutputs");
  l.bind(a.output_name, "LiteRtGetSignatureOutputName");
  l.bind(a.output, "LiteRtGetSignatureOutputTensorByIndex");
}

void check(int status, const std::string& what, bool blames_values = false) {
  if (status != kOk) fail(what + " (status " + std::to_string(status) + ")", blames_values);
}

std::vector<std::int64_t> dims_of(const Layout& layout) {
  if (layout.rank > kMostDims) fail("a tensor has more than 8 dimensions");
  return {layout.dims, layout.dims + layout.rank};
}

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

// A tensor in memory of our own, aligned as LiteRT wants it.
class HostTensor {
 public:
  HostTensor(const Api& api, const TensorValue& value, Requirements* requirements)
      : api_(api), size_(byte_size(value)) {
    std::size_t required = 0;
    check(api.required_size(requirements, &required), "it does not state the size of a tensor");
    const std::size_t capacity =
        (std::max({size_, required, kAlignment}) + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(std::aligned_alloc(kAlignment, capacity));
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0, capacity);
    if (!value.bytes.empty()) std::memcpy(memory_.get(), value.bytes.data(), value.bytes.size());
    RankedType type{value.type, {}};
    type.layout.rank = static_cast<unsigned>(value.dims.size()) & 0x7fU;
    for (std::size_t i = 0; i < value.dims.size(); ++i)
      type.layout.dims[i] = static_cast<std::int32_t>(value.dims[i]);
    check(api.host_buffer(&type, memory_.get(), std::max(size_, required), nullptr, &buffer_),
          "it does not take the memory of a tensor");
  }
  HostTensor(const HostTensor&) = delete;
  HostTensor& operator=(const HostTensor&) = delete;
  ~HostTensor() { api_.delete_buffer(buffer_); }
  Buffer* buffer() const { return buffer_; }
  std::string bytes() const {
    void* data = nullptr;
    check(api_.lock(buffer_, &data, kRead), "it does not give an output");
    std::string copy(static_cast<const char*>(data), size_);
    api_.unlock(buffer_);
    return copy;
  }

 private:
  const Api& api_;
  std::size_t size_;
  Owned<void> memory_{nullptr, std::free};
  Buffer* buffer_ = nullptr;
};
using HostTensors = std::vector<std::unique_ptr<HostTensor>>;

std::vector<Buffer*> buffers(const HostTensors& tensors) {
  std::vector<Buffer*> list;
  for (const auto& t : tensors) list.push_back(t->buffer());
  return list;
}

// The library does not state it; the folders around it do: .../ai_edge_litert-2.3.0.dist-info,
// .../litert-2.3.0-1a2b3c/lib.
std::string version_beside(const std::string& path) {
  namespace fs = std::filesystem;
  const auto number_after = [](const std::string& name, std::string_view prefix) -> std::string {
    if (!name.starts_with(prefix)) return "";
    const std::string rest = name.substr(prefix.size());
    std::string number = rest.substr(0, rest.find_first_not_of("0123456789."));
    while (number.ends_with('.')) number.pop_back();
    return number;
  };
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(path, error).parent_path();
  if (const std::string v = number_after(folder.parent_path().filename().string(), "litert-"); !v.empty())
    return v;
  for (fs::directory_iterator it(folder.parent_path(), error), end; !error && it != end; it.increment(error))
    if (const std::string v = number_after(it->path().filename().string(), "ai_edge_litert-"); !v.empty())
      return v;
  return "2";
}

class LiteRtEngine : public Engine {
 public:
  LiteRtEngine(const Library& library, Doing doing) : path_(library.path()), doing_(std::move(doing)) {
    check_interface(library);
    bind_model(api_, library);
    bind_tensors(api_, library);
    bind_signatures(api_, library);
    compiled_ = {nullptr, api_.delete_compiled};
  }
  OpenReply about() const override { return {path_, version_beside(path_), false}; }

  LoadReply load(LoadRequest request) override {
    request_ = std::move(request);
    doing_("loading the model");
    check(api_.environment(0, nullptr, &environment_), "it does not start");
    check(request_.path.empty()
              ? api_.model_from_buffer(environment_, request_.bytes.data(), request_.bytes.size(), &model_)
              : api_.model_from_file(environment_, request_.path.c_str(), &model_),
          "it does not load the model");
    std::size_t count = 0;
    check(api_.signature_count(model_, &count), "it does not list the signatures");
    for (std::size_t i = 0; i < count; ++i) signatures_.push_back(describe_signature(i));
    compile();
    return {signatures_};
  }

  RunReply run(const RunRequest& request) override {
    if (!model_ || request.signature >= signatures_.size()) fail("there is no such model or signature");
    const Signature& s = signatures_[request.signature];
    for (const auto* tensors : {&s.inputs, &s.outputs})
      for (const TensorInfo& t : *tensors)
        if (t.type == kStringType)
          fail("libLiteRt.so cannot pass strings: '" + t.name + "'; libtensorflowlite_c.so can");
    if (request.inputs.size() != s.inputs.size())
      fail("the model has " + std::to_string(s.inputs.size()) + " inputs");
    if (!request.keep_state || !compiled_) compile();
    try {
      return run_compiled(request, s);
    } catch (const Failed&) {
      compiled_.reset();
      throw;
    }
  }

 private:
  TensorInfo describe(Tensor* t, const char* key) const {
    const char* name = nullptr;
    RankedType type{};
    check(api_.tensor_name(t, &name), "it does not name a tensor");
    check(api_.ranked_type(t, &type), "it does not give the type of a tensor");
    TensorInfo info{key ? key : "", name ? name : "", type.type, dims_of(type.layout), {}, {}, 0};
    int kind = 0;
    PerTensor one{};
    PerChannel many{};
    if (api_.quantization(t, &kind) != kOk) return info;
    if (kind == kPerTensor && api_.per_tensor(t, &one) == kOk) {
      info.scales = {one.scale};
      info.zero_points = {one.zero_point};
    } else if (kind == kPerChannel && api_.per_channel(t, &many) == kOk) {
      info.axis = many.axis;
      info.scales.assign(many.scales, many.scales + many.count);
      if (many.zero_points) info.zero_points.assign(many.zero_points, many.zero_points + many.count);
    }
    return info;
  }

  Signature describe_signature(std::size_t index) const {
    SignatureOf* s = nullptr;
    const char* key = nullptr;
    std::size_t inputs = 0, outputs = 0;
    check(api_.signature(model_, index, &s), "it does not give a signature");
    check(api_.key(s, &key), "it does not name a signature");
    check(api_.input_count(s, &inputs) | api_.output_count(s, &outputs), "it does not count the tensors");
    Signature signature{key ? key : "", {}, {}};
    const auto add = [&](auto name_of, auto tensor_of, std::size_t i, std::vector<TensorInfo>& to) {
      const char* name = nullptr;
      Tensor* tensor = nullptr;
      check(name_of(s, i, &name), "it does not name a tensor");
      check(tensor_of(s, i, &tensor), "it does not give a tensor");
      to.push_back(describe(tensor, name));
    };
    for (std::size_t i = 0; i < inputs; ++i) add(api_.input_name, api_.input, i, signature.inputs);
    for (std::size_t i = 0; i < outputs; ++i) add(api_.output_name, api_.output, i, signature.outputs);
    return signature;
  }

  // A new compiled model has no state of an earlier run.
  void compile() {
    compiled_.reset();
    doing_("preparing the model");
    Options* raw = nullptr;
    check(api_.options(&raw), "it does not start");
    const Owned<Options> options(raw, api_.delete_options);
    check(api_.set_accelerators(raw, kCpu), "it does not run on the processor");
    const std::string text = std::string("kernel_mode = \"") +
                             (request_.builtin_kernels ? "builtin" : "delegate") +
                             "\"\nnum_threads = " + std::to_string(request_.threads) + "\n";
    OpaqueOptions* opaque = nullptr;
    check(api_.opaque_options("xnnpack", strdup(text.c_str()), std::free, &opaque), "it takes no options");
    check(api_.add_opaque(raw, opaque), "it takes no options");
    CompiledModel* compiled = nullptr;
    check(api_.compile(environment_, model_, raw, &compiled), "it does not prepare the model");
    compiled_.reset(compiled);
  }

  RunReply run_compiled(const RunRequest& request, const Signature& s) {
    HostTensors inputs, outputs;
    doing_("giving the inputs their shapes");
    for (std::size_t i = 0; i < s.inputs.size(); ++i) size_input(request, s, i);
    doing_("preparing the model");
    std::vector<Layout> layouts(s.outputs.size());
    check(api_.output_layouts(compiled_.get(), request.signature, layouts.size(), layouts.data(), true),
          "it does not prepare the model for inputs of these shapes", true);
    Requirements* need = nullptr;
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
      check(api_.input_requirements(compiled_.get(), request.signature, i, &need), "it takes no input");
      inputs.push_back(std::make_unique<HostTensor>(api_, request.inputs[i], need));
    }
    RunReply reply;
    for (std::size_t i = 0; i < s.outputs.size(); ++i) {
      check(api_.output_requirements(compiled_.get(), request.signature, i, &need), "it gives no output");
      reply.outputs.push_back({s.outputs[i].type, dims_of(layouts[i]), "", {}});
      outputs.push_back(std::make_unique<HostTensor>(api_, reply.outputs.back(), need));
    }
    doing_("running the model");
    std::vector<Buffer*> in = buffers(inputs), out = buffers(outputs);
    check(api_.run(compiled_.get(), request.signature, in.size(), in.data(), out.size(), out.data()),
          "it does not run the model with these inputs; if the shapes of the outputs depend on values, use "
          "libtensorflowlite_c.so, since libLiteRt.so cannot return such outputs",
          true);
    doing_("reading the outputs");
    for (std::size_t i = 0; i < outputs.size(); ++i) reply.outputs[i].bytes = outputs[i]->bytes();
    return reply;
  }

  void size_input(const RunRequest& request, const Signature& s, std::size_t i) const {
    const TensorValue& v = request.inputs[i];
    if (v.type != s.inputs[i].type) fail("the input '" + s.inputs[i].name + "' has another type");
    if (v.bytes.size() != byte_size(v)) fail("the input '" + s.inputs[i].name + "' has another size");
    Layout now{};
    check(api_.input_layout(compiled_.get(), request.signature, i, &now), "it gives no shape of an input");
    if (dims_of(now) == v.dims) return;
    if (v.dims.size() > kMostDims) fail("the input '" + s.inputs[i].name + "' has more than 8 dimensions");
    const std::vector<int> dims(v.dims.begin(), v.dims.end());
    check(api_.resize(compiled_.get(), request.signature, i, dims.data(), dims.size()),
          "the input '" + s.inputs[i].name + "' does not take the shape " + shape_text(v.dims), true);
  }

  std::string path_;
  Doing doing_;
  Api api_{};
  LoadRequest request_;
  Environment* environment_ = nullptr;  // these live as long as the process
  Model* model_ = nullptr;
  std::vector<Signature> signatures_;
  Owned<CompiledModel> compiled_{nullptr, nullptr};
};

}  // namespace

std::unique_ptr<Engine> litert_engine(const Library& library, Doing doing) {
  return std::make_unique<LiteRtEngine>(library, std::move(doing));
}

}  // namespace t2o::engines::lite
