#include <cstdio>
#include <cstring>
#include <utility>

#include "engines/litert/flex.h"
#include "engines/litert/model.h"

// LiteRT by the C interface that it has had as TensorFlow Lite: libtensorflowlite_c.so.
namespace t2o::engines::lite {
namespace {

struct TfLiteModel;
struct TfLiteInterpreter;
struct TfLiteRunner;
struct TfLiteTensor;
struct TfLiteDelegate;
struct FloatArray {
  int size;
  float data[1];
};
struct IntArray {
  int size;
  int data[1];
};
// How a tensor begins in all versions.
struct TensorHead {
  int type;
  void* data;
  IntArray* dims;
};
struct AffineQuantization {
  const FloatArray* scale;
  const IntArray* zero_point;
  std::int32_t axis;
};
struct Quantization {
  int type;  // 1: affine
  const AffineQuantization* params;
};
// The library fills as much of it as its version has. More than 16 bytes: it is returned in memory.
struct XnnpackOptions {
  std::int32_t threads;
  char rest[2044];
};

constexpr int kOk = 0, kError = 1;

struct Api {
  const char* (*version)();
  TfLiteModel* (*model)(const void*, std::size_t);
  TfLiteModel* (*model_from_file)(const char*);
  void (*delete_model)(TfLiteModel*);
  TfLiteOptions* (*options)();
  void (*delete_options)(TfLiteOptions*);
  void (*set_threads)(TfLiteOptions*, std::int32_t);
  TfLiteInterpreter* (*interpreter)(const TfLiteModel*, const TfLiteOptions*);
  void (*delete_interpreter)(TfLiteInterpreter*);
  std::int32_t (*input_count)(const TfLiteInterpreter*);
  TfLiteTensor* (*input)(const TfLiteInterpreter*, std::int32_t);
  std::int32_t (*output_count)(const TfLiteInterpreter*);
  const TfLiteTensor* (*output)(const TfLiteInterpreter*, std::int32_t);
  int (*resize)(TfLiteInterpreter*, std::int32_t, const int*, std::int32_t);
  int (*allocate)(TfLiteInterpreter*);
  int (*invoke)(TfLiteInterpreter*);
  int (*apply)(TfLiteInterpreter*, TfLiteDelegate*);
  std::int32_t (*signature_count)(const TfLiteInterpreter*);
  const char* (*signature_key)(const TfLiteInterpreter*, std::int32_t);
  TfLiteRunner* (*runner)(const TfLiteInterpreter*, const char*);
  void (*delete_runner)(TfLiteRunner*);
  std::size_t (*runner_input_count)(const TfLiteRunner*);
  const char* (*runner_input_name)(const TfLiteRunner*, std::int32_t);
  TfLiteTensor* (*runner_input)(TfLiteRunner*, const char*);
  std::size_t (*runner_output_count)(const TfLiteRunner*);
  const char* (*runner_output_name)(const TfLiteRunner*, std::int32_t);
  const TfLiteTensor* (*runner_output)(const TfLiteRunner*, const char*);
  int (*runner_resize)(TfLiteRunner*, const char*, const int*, std::int32_t);
  int (*runner_allocate)(TfLiteRunner*);
  int (*runner_invoke)(TfLiteRunner*);
  int (*type)(const TfLiteTensor*);
  std::int32_t (*rank)(const TfLiteTensor*);
  std::int32_t (*dim)(const TfLiteTensor*, std::int32_t);
  int (*open_rank)(const TfLiteTensor*, std::int32_t*);
  int (*open_dim)(const TfLiteTensor*, std::int32_t, std::int32_t*);
  std::size_t (*byte_size)(const TfLiteTensor*);
  void* (*data)(const TfLiteTensor*);
  const char* (*name)(const TfLiteTensor*);
  Quantization (*quantization)(const TfLiteTensor*);
  int (*write_strings)(TfLiteTensor*, const char* const*, int, const int*);
  IntArray* (*new_array)(int);
  void (*free_array)(IntArray*);
  XnnpackOptions (*xnnpack_options)();
  TfLiteDelegate* (*xnnpack)(const XnnpackOptions*);
  void (*delete_xnnpack)(TfLiteDelegate*);
};

void bind_model(Api& a, const Library& l) {
  l.bind(a.version, "TfLiteVersion");
  l.bind(a.model, "TfLiteModelCreate");
  l.bind(a.model_from_file, "TfLiteModelCreateFromFile");
  l.bind(a.delete_model, "TfLiteModelDelete");
  l.bind(a.options, "TfLiteInterpreterOptionsCreate");
  l.bind(a.delete_options, "TfLiteInterpreterOptionsDelete");
  l.bind(a.set_threads, "TfLiteInterpreterOptionsSetNumThreads");
  l.bind(a.interpreter, "TfLiteInterpreterCreate");
  l.bind(a.delete_interpreter, "TfLiteInterpreterDelete");
  l.bind(a.input_count, "TfLiteInterpreterGetInputTensorCount");
  l.bind(a.input, "TfLiteInterpreterGetInputTensor");
  l.bind(a.output_count, "TfLiteInterpreterGetOutputTensorCount");
  l.bind(a.output, "TfLiteInterpreterGetOutputTensor");
  l.bind(a.resize, "TfLiteInterpreterResizeInputTensor");
  l.bind(a.allocate, "TfLiteInterpreterAllocateTensors");
  l.bind(a.invoke, "TfLiteInterpreterInvoke");
  l.bind(a.apply, "TfLiteInterpreterModifyGraphWithDelegate");
  l.bind(a.xnnpack_options, "TfLiteXNNPackDelegateOptionsDefault");
  l.bind(a.xnnpack, "TfLiteXNNPackDelegateCreate");
  l.bind(a.delete_xnnpack, "TfLiteXNNPackDelegateDelete");
}

void bind_runner(Api& a, const Library& l) {
  l.bind(a.signature_count, "TfLiteInterpreterGetSignatureCount");
  l.bind(a.signature_key, "TfLiteInterpreterGetSignatureKey");
  l.bind(a.runner, "TfLiteInterpreterGetSignatureRunner");
  l.bind(a.delete_runner, "TfLiteSignatureRunnerDelete");
  l.bind(a.runner_input_count, "TfLiteSignatureRunnerGetInputCount");
  l.bind(a.runner_input_name, "TfLiteSignatureRunnerGetInputName");
  l.bind(a.runner_input, "TfLiteSignatureRunnerGetInputTensor");
  l.bind(a.runner_output_count, "TfLiteSignatureRunnerGetOutputCount");
  l.bind(a.runner_output_name, "TfLiteSignatureRunnerGetOutputName");
  l.bind(a.runner_output, "TfLiteSignatureRunnerGetOutputTensor");
  l.bind(a.runner_resize, "TfLiteSignatureRunnerResizeInputTensor");
  l.bind(a.runner_allocate, "TfLiteSignatureRunnerAllocateTensors");
  l.bind(a.runner_invoke, "TfLiteSignatureRunnerInvoke");
}

void bind_tensor(Api& a, const Library& l) {
  l.bind(a.type, "TfLiteTensorType");
  l.bind(a.rank, "TfLiteTensorNumDims");
  l.bind(a.dim, "TfLiteTensorDim");
  l.bind(a.open_rank, "TfLiteOpaqueTensorGetNumDimsSignature");
  l.bind(a.open_dim, "TfLiteOpaqueTensorGetDimSignature");
  l.bind(a.byte_size, "TfLiteTensorByteSize");
  l.bind(a.data, "TfLiteTensorData");
  l.bind(a.name, "TfLiteTensorName");
  l.bind(a.quantization, "TfLiteOpaqueTensorGetQuantization");
  l.bind(a.write_strings, "TfLiteOpaqueTensorWriteStrings");
  l.bind(a.new_array, "TfLiteIntArrayCreate");
  l.bind(a.free_array, "TfLiteIntArrayFree");
}

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

std::string text(const char* s) { return s ? s : ""; }

// A signature of an interpreter, or its main graph; the same calls for both.
class Run {
 public:
  Run(const Api& api, TfLiteInterpreter* interpreter, const std::string& key)
      : api_(api), interpreter_(interpreter), runner_(nullptr, api.delete_runner) {
    if (key.empty()) return;
    runner_.reset(api.runner(interpreter, key.c_str()));
    if (!runner_) fail("it has no signature '" + key + "'");
  }
  std::int32_t input_count() const {
    return runner_ ? static_cast<std::int32_t>(api_.runner_input_count(runner_.get()))
                   : api_.input_count(interpreter_);
  }
  std::int32_t output_count() const {
    return runner_ ? static_cast<std::int32_t>(api_.runner_output_count(runner_.get()))
                   : api_.output_count(interpreter_);
  }
  const char* input_key(std::int32_t i) const {
    return runner_ ? api_.runner_input_name(runner_.get(), i) : nullptr;
  }
  const char* output_key(std::int32_t i) const {
    return runner_ ? api_.runner_output_name(runner_.get(), i) : nullptr;
  }
  TfLiteTensor* input(std::int32_t i) const {
    return there(runner_ ? api_.runner_input(runner_.get(), input_key(i)) : api_.input(interpreter_, i));
  }
  const TfLiteTensor* output(std::int32_t i) const {
    return there(runner_ ? api_.runner_output(runner_.get(), output_key(i)) : api_.output(interpreter_, i));
  }
  // A signature changes the sizes alone that the file leaves open; the main graph changes all of them.
  int resize(std::int32_t i, const std::vector<int>& dims) const {
    const auto rank = static_cast<std::int32_t>(dims.size());
    const TfLiteTensor* t = input(i);
    for (std::int32_t k = 0; k < api_.input_count(interpreter_); ++k)
      if (api_.input(interpreter_, k) == t) return api_.resize(interpreter_, k, dims.data(), rank);
    return api_.runner_resize(runner_.get(), input_key(i), dims.data(), rank);
  }
  int allocate() const { return runner_ ? api_.runner_allocate(runner_.get()) : api_.allocate(interpreter_); }
  int invoke() const { return runner_ ? api_.runner_invoke(runner_.get()) : api_.invoke(interpreter_); }

 private:
  template <class T>
  static T* there(T* tensor) {
    if (!tensor) fail("it does not give a tensor of its interface");
    return tensor;
  }
  const Api& api_;
  TfLiteInterpreter* interpreter_;
  Owned<TfLiteRunner> runner_;
};

std::vector<std::int64_t> dims_of(const Api& api, const TfLiteTensor* t) {
  std::vector<std::int64_t> dims;
  for (std::int32_t i = 0; i < api.rank(t); ++i) dims.push_back(api.dim(t, i));
  return dims;
}

TensorInfo describe(const Api& api, const TfLiteTensor* t, const char* key) {
  TensorInfo info{text(key), text(api.name(t)), api.type(t), dims_of(api, t), {}, {}, 0};
  std::int32_t rank = -1;
  if (api.open_rank(t, &rank) == kOk && rank == static_cast<std::int32_t>(info.dims.size()))
    for (std::int32_t i = 0, d = 0; i < rank; ++i)
      if (api.open_dim(t, i, &d) == kOk && d < 0) info.dims[static_cast<std::size_t>(i)] = -1;
  const Quantization q = api.quantization(t);
  if (q.type != 1 || !q.params || !q.params->scale) return info;
  info.axis = q.params->axis;
  info.scales.assign(q.params->scale->data, q.params->scale->data + q.params->scale->size);
  if (const IntArray* z = q.params->zero_point) info.zero_points.assign(z->data, z->data + z->size);
  return info;
}

// All strings of a tensor: their number, where each begins and the last ends, the characters.
std::vector<std::string> strings_of(const Api& api, const TfLiteTensor* t) {
  const char* data = static_cast<const char*>(api.data(t));
  const std::size_t size = api.byte_size(t);
  std::int32_t count = 0;
  if (!data || size < sizeof count) return {};
  std::memcpy(&count, data, sizeof count);
  if (count < 0 || size < (static_cast<std::size_t>(count) + 2) * sizeof count)
    fail("a tensor of strings is damaged");
  std::vector<std::int32_t> ends(static_cast<std::size_t>(count) + 1);
  std::memcpy(ends.data(), data + sizeof count, ends.size() * sizeof count);
  std::vector<std::string> strings;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    if (ends[i] < 0 || ends[i + 1] < ends[i] || static_cast<std::size_t>(ends[i + 1]) > size)
      fail("a tensor of strings is damaged");
    strings.emplace_back(data + ends[i], data + ends[i + 1]);
  }
  return strings;
}

class TfLiteEngine : public Engine {
 public:
  TfLiteEngine(const Library& library, Doing doing)
      : library_(library), path_(library.path()), doing_(std::move(doing)) {
    bind_model(api_, library);
    bind_runner(api_, library);
    bind_tensor(api_, library);
    model_ = {nullptr, api_.delete_model};
    delegate_ = {nullptr, api_.delete_xnnpack};
    interpreter_ = {nullptr, api_.delete_interpreter};
  }
  OpenReply about() const override { return {path_, text(api_.version()), true}; }

  LoadReply load(LoadRequest request) override {
    request_ = std::move(request);
    if (!request_.flex_operators.empty()) doing_("loading TensorFlow for its operators");
    flex_ = std::make_unique<Flex>(library_, request_.flex_operators, request_.tensorflow_libraries);
    if (!flex_->missing().empty())
      std::fprintf(stderr, "TensorFlow is not there: %s\n", flex_->missing().c_str());
    doing_("loading the model");
    model_.reset(request_.path.empty() ? api_.model(request_.bytes.data(), request_.bytes.size())
                                       : api_.model_from_file(request_.path.c_str()));
    if (!model_) fail("it does not load the model");
    make_interpreter();
    LoadReply reply;
    reply.signatures.push_back(describe_signature(""));
    for (std::int32_t i = 0; i < api_.signature_count(interpreter_.get()); ++i)
      reply.signatures.push_back(describe_signature(text(api_.signature_key(interpreter_.get(), i))));
    for (const Signature& s : reply.signatures) keys_.push_back(s.key);
    return reply;
  }

  RunReply run(const RunRequest& request) override {
    if (!model_ || request.signature >= keys_.size()) fail("there is no such model or signature");
    if (!request.keep_state || !run_ || signature_ != request.signature) prepare(request);
    try {
      feed(request);
      doing_("running the model");
      if (run_->invoke() != kOk) fail("it does not run the model with these inputs", true);
      return results();
    } catch (const Failed&) {  // an interpreter that has failed may crash when it is used again
      run_.reset();
      throw;
    }
  }

 private:
  void make_interpreter() {
    run_.reset();
    interpreter_.reset();
    delegate_.reset();
    doing_("preparing the model");
    const Owned<TfLiteOptions> options(api_.options(), api_.delete_options);
    api_.set_threads(options.get(), request_.threads);
    flex_->add_to(options.get());
    interpreter_.reset(api_.interpreter(model_.get(), options.get()));
    if (!interpreter_) fail("it does not prepare the model");
  }

  Signature describe_signature(const std::string& key) const {
    const Run run(api_, interpreter_.get(), key);
    Signature s{key, {}, {}};
    for (std::int32_t i = 0; i < run.input_count(); ++i)
      s.inputs.push_back(describe(api_, run.input(i), run.input_key(i)));
    for (std::int32_t i = 0; i < run.output_count(); ++i)
      s.outputs.push_back(describe(api_, run.output(i), run.output_key(i)));
    return s;
  }

  // A new interpreter has no state of an earlier run: neither in tensors nor in resources.
  void prepare(const RunRequest& request) {
    make_interpreter();
    signature_ = request.signature;
    auto run = std::make_unique<Run>(api_, interpreter_.get(), keys_[signature_]);
    if (request.inputs.size() != static_cast<std::size_t>(run->input_count()))
      fail("the model has " + std::to_string(run->input_count()) + " inputs");
    doing_("giving the inputs their shapes");
    bool has_other_shapes = false;  // than the file states
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const std::vector<std::int64_t>& dims = request.inputs[i].dims;
      const auto k = static_cast<std::int32_t>(i);
      if (dims == dims_of(api_, run->input(k))) continue;
      has_other_shapes = true;
      if (run->resize(k, std::vector<int>(dims.begin(), dims.end())) != kOk)
        fail("the input '" + text(api_.name(run->input(k))) + "' does not take the shape " + shape_text(dims),
             true);
    }
    doing_("preparing the model");
    if (!request_.builtin_kernels) apply_xnnpack(has_other_shapes);
    if (run->allocate() != kOk)
      fail(has_other_shapes ? "it does not prepare the model for inputs of these shapes"
                            : "it does not prepare the model",
           has_other_shapes);
    run_ = std::move(run);
  }

  void apply_xnnpack(bool blames_shapes) {
    XnnpackOptions options = api_.xnnpack_options();
    options.threads = request_.threads;
    delegate_.reset(api_.xnnpack(&options));
    if (!delegate_) fail("it has no XNNPACK kernels on this machine");
    if (api_.apply(interpreter_.get(), delegate_.get()) == kError)  // other codes leave the graph as it was
      fail("it does not prepare the model with XNNPACK kernels", blames_shapes);
  }

  // Strings make their tensor a vector of them; it gets its shape back.
  void feed_strings(TfLiteTensor* t, const TensorValue& v) const {
    feed_strings(t, v.strings);
    auto& dims = reinterpret_cast<TensorHead*>(t)->dims;
    if (dims_of(api_, t) == v.dims) return;
    if (api_.rank(t) != 1 || dims->size != 1 || dims->data[0] != static_cast<int>(v.strings.size()))
      fail("it does not take strings");
    IntArray* shape = api_.new_array(static_cast<int>(v.dims.size()));
    for (std::size_t i = 0; i < v.dims.size(); ++i) shape->data[i] = static_cast<int>(v.dims[i]);
    api_.free_array(std::exchange(dims, shape));
  }

  void feed(const RunRequest& request) {
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const TensorValue& v = request.inputs[i];
      TfLiteTensor* t = run_->input(static_cast<std::int32_t>(i));
      const std::string name = "the input '" + text(api_.name(t)) + "'";
      if (v.type != api_.type(t)) fail(name + " has another type");
      if (v.dims != dims_of(api_, t)) fail(name + " has another shape than in the first run");
      if (v.type == kStringType) {
        feed_strings(t, v);
        continue;
      }
      if (v.bytes.size() != api_.byte_size(t)) fail(name + " has another size");
      if (v.bytes.empty()) continue;
      void* data = api_.data(t);
      if (!data) fail(name + " has no memory");
      std::memcpy(data, v.bytes.data(), v.bytes.size());
    }
  }

  void feed_strings(TfLiteTensor* t, const std::vector<std::string>& strings) const {
    std::vector<const char*> data;
    std::vector<int> sizes;
    for (const std::string& s : strings) {
      data.push_back(s.data());
      sizes.push_back(static_cast<int>(s.size()));
    }
    if (api_.write_strings(t, data.data(), static_cast<int>(data.size()), sizes.data()) != kOk)
      fail("it does not take strings");
  }

  RunReply results() const {
    doing_("reading the outputs");
    RunReply reply;
    for (std::int32_t i = 0; i < run_->output_count(); ++i) {
      const TfLiteTensor* t = run_->output(i);
      TensorValue& v = reply.outputs.emplace_back(TensorValue{api_.type(t), dims_of(api_, t), "", {}});
      if (v.type == kStringType) {
        v.strings = strings_of(api_, t);
        continue;
      }
      const std::uint64_t size = byte_size(v);
      const void* data = api_.data(t);
      if (size != 0 && (!data || api_.byte_size(t) < size))
        fail("it gives no value for the output '" + text(api_.name(t)) + "'");
      if (size != 0) v.bytes.assign(static_cast<const char*>(data), size);
    }
    return reply;
  }

  Library library_;
  std::string path_;
  Doing doing_;
  Api api_{};
  LoadRequest request_;
  std::unique_ptr<Flex> flex_;
  std::vector<std::string> keys_;
  Owned<TfLiteModel> model_{nullptr, nullptr};
  Owned<TfLiteDelegate> delegate_{nullptr, nullptr};
  Owned<TfLiteInterpreter> interpreter_{nullptr, nullptr};  // goes before the delegate
  std::unique_ptr<Run> run_;
  std::uint32_t signature_ = 0;
};

}  // namespace

std::unique_ptr<Engine> tflite_engine(const Library& library, Doing doing) {
  return std::make_unique<TfLiteEngine>(library, std::move(doing));
}

}  // namespace t2o::engines::lite
