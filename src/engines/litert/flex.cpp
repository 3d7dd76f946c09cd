#include "engines/litert/flex.h"

#include <flatbuffers/flexbuffers.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "engines/litert/eager.h"

namespace t2o::engines::lite {
namespace {

struct Operator;
struct OpContext;
struct Node;
struct Tensor;
struct IntArray {
  int size;
  int data[1];
};

constexpr int kCustom = 32, kOk = 0, kError = 1;
constexpr int kResource = 14, kVariant = 15;  // such values stay with TensorFlow

// What LiteRT has in their place: it copies the number into loops and branches. Its own handles have fewer
// bytes.
using HandleNumber = std::uint64_t;

bool is_handle(int type) { return type == kResource || type == kVariant; }

// What an operator holds between its calls.
struct State {
  EagerNode node;
  std::string error;
};

}  // namespace

class Flex::Impl {
 public:
  Impl(const Library& l, std::vector<std::string> operators, const std::vector<std::string>& tensorflow);

  void add_to(TfLiteOptions* options) {
    if (!eager_) return;
    handles_.clear();
    for (Operator* op : operators_) add_operator_(options, op);
  }
  const std::string& missing() const { return missing_; }
  int prepare(OpContext*, Node* node);
  int invoke(OpContext* context, Node* node);

 private:
  EagerTensorPtr given(const Tensor* t);
  void take(OpContext* context, Tensor* t, const EagerTensorPtr& result);
  void bind(const Library& l);

  Operator* (*create_)(int, const char*, int, void*) = nullptr;
  void (*set_init_)(Operator*, void* (*)(OpContext*, const char*, std::size_t)) = nullptr;
  void (*set_free_)(Operator*, void (*)(OpContext*, void*)) = nullptr;
  void (*set_prepare_)(Operator*, int (*)(OpContext*, Node*)) = nullptr;
  void (*set_invoke_)(Operator*, int (*)(OpContext*, Node*)) = nullptr;
  void (*add_operator_)(TfLiteOptions*, Operator*) = nullptr;
  void* (*user_data_)(const Node*) = nullptr;
  int (*input_count_)(const Node*) = nullptr;
  int (*output_count_)(const Node*) = nullptr;
  const Tensor* (*input_)(const OpContext*, const Node*, int) = nullptr;
  Tensor* (*output_)(OpContext*, const Node*, int) = nullptr;
  int (*type_)(const Tensor*) = nullptr;
  std::int32_t (*rank_)(const Tensor*) = nullptr;
  std::int32_t (*dim_)(const Tensor*, std::int32_t) = nullptr;
  void* (*data_)(const Tensor*) = nullptr;
  std::size_t (*byte_size_)(const Tensor*) = nullptr;
  int (*string_count_)(const Tensor*) = nullptr;
  int (*string_)(const Tensor*, int, const char**, int*) = nullptr;
  int (*write_strings_)(Tensor*, const char* const*, int, const int*) = nullptr;
  void (*make_dynamic_)(Tensor*) = nullptr;
  int (*resize_)(OpContext*, Tensor*, IntArray*) = nullptr;
  void (*realloc_)(std::size_t, Tensor*) = nullptr;
  IntArray* (*new_array_)(int) = nullptr;

  std::optional<Eager> eager_;
  std::string missing_;
  std::vector<std::string> names_;
  std::vector<Operator*> operators_;     // these live as long as the process
  std::vector<EagerTensorPtr> handles_;  // by their numbers; loops and branches copy these
};

namespace {

Flex::Impl* the_flex = nullptr;  // LiteRT's callbacks find it here: a helper has one model

// custom options: a flexbuffer with the operator's name and a NodeDef
void* init(OpContext*, const char* buffer, std::size_t size) {
  auto* state = new State;
  try {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(buffer);
    if (size == 0 || !flexbuffers::VerifyBuffer(bytes, size)) fail("its options are no flexbuffer");
    const auto fields = flexbuffers::GetRoot(bytes, size).AsVector();
    const auto node = fields.size() == 2 ? fields[1].AsString() : flexbuffers::String::EmptyString();
    state->node = eager_node({node.c_str(), node.length()});
  } catch (const std::exception& e) {
    state->error = e.what();
  }
  return state;
}

void release(OpContext*, void* state) { delete static_cast<State*>(state); }
int prepare(OpContext* context, Node* node) { return the_flex->prepare(context, node); }
int invoke(OpContext* context, Node* node) { return the_flex->invoke(context, node); }

}  // namespace

Flex::Impl::Impl(const Library& l, std::vector<std::string> operators,
                 const std::vector<std::string>& tensorflow)
    : names_(std::move(operators)) {
  if (names_.empty()) return;
  bind(l);
  for (const std::string& path : tensorflow) {
    try {
      eager_.emplace(path);
      missing_.clear();
      break;
    } catch (const Failed& e) {
      missing_ += std::string(missing_.empty() ? "" : "; ") + e.what();
    }
  }
  if (!eager_) return;
  the_flex = this;
  for (const std::string& name : names_) {
    Operator* op = create_(kCustom, name.c_str(), 1, nullptr);
    set_init_(op, init);
    set_free_(op, release);
    set_prepare_(op, lite::prepare);
    set_invoke_(op, lite::invoke);
    operators_.push_back(op);
  }
}

void Flex::Impl::bind(const Library& l) {
  l.bind(create_, "TfLiteOperatorCreate");
  l.bind(set_init_, "TfLiteOperatorSetInit");
  l.bind(set_free_, "TfLiteOperatorSetFree");
  l.bind(set_prepare_, "TfLiteOperatorSetPrepare");
  l.bind(set_invoke_, "TfLiteOperatorSetInvoke");
  l.bind(add_operator_, "TfLiteInterpreterOptionsAddOperator");
  l.bind(user_data_, "TfLiteOpaqueNodeGetUserData");
  l.bind(input_count_, "TfLiteOpaqueNodeNumberOfInputs");
  l.bind(output_count_, "TfLiteOpaqueNodeNumberOfOutputs");
  l.bind(input_, "TfLiteOpaqueNodeGetInput");
  l.bind(output_, "TfLiteOpaqueNodeGetOutput");
  l.bind(type_, "TfLiteOpaqueTensorType");
  l.bind(rank_, "TfLiteOpaqueTensorNumDims");
  l.bind(dim_, "TfLiteOpaqueTensorDim");
  l.bind(data_, "TfLiteOpaqueTensorData");
  l.bind(byte_size_, "TfLiteOpaqueTensorByteSize");
  l.bind(string_count_, "TfLiteOpaqueTensorGetStringCount");
  l.bind(string_, "TfLiteOpaqueTensorGetString");
  l.bind(write_strings_, "TfLiteOpaqueTensorWriteStrings");
  l.bind(make_dynamic_, "TfLiteOpaqueTensorSetAllocationTypeToDynamic");
  l.bind(resize_, "TfLiteOpaqueContextResizeTensor");
  l.bind(realloc_, "TfLiteTensorRealloc");
  l.bind(new_array_, "TfLiteIntArrayCreate");
}

// No shape is known before the operator has run.
int Flex::Impl::prepare(OpContext* context, Node* node) {
  for (int i = 0; i < output_count_(node); ++i)
    if (Tensor* t = output_(context, node, i)) make_dynamic_(t);
  return kOk;
}

int Flex::Impl::invoke(OpContext* context, Node* node) {
  const auto* state = static_cast<const State*>(user_data_(node));
  try {
    if (!state->error.empty()) fail(state->error);
    std::vector<EagerTensorPtr> inputs;
    for (int i = 0; i < input_count_(node); ++i) inputs.push_back(given(input_(context, node, i)));
    const auto outputs = static_cast<std::size_t>(output_count_(node));
    const std::vector<EagerTensorPtr> results = eager_->run(state->node, inputs, outputs);
    for (std::size_t i = 0; i < outputs; ++i)
      take(context, output_(context, node, static_cast<int>(i)), results[i]);
    return kOk;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "TensorFlow's %s: %s\n", state->node.op.c_str(), e.what());
    return kError;
  }
}

EagerTensorPtr Flex::Impl::given(const Tensor* t) {
  if (!t) fail("an input is missing");
  TensorValue v{type_(t), {}, "", {}};
  if (is_handle(v.type)) {
    HandleNumber number = handles_.size();
    if (byte_size_(t) == sizeof number && data_(t)) std::memcpy(&number, data_(t), sizeof number);
    if (number >= handles_.size()) fail("an input is a resource that LiteRT has made");
    return handles_[number];
  }
  for (std::int32_t i = 0; i < rank_(t); ++i) v.dims.push_back(dim_(t, i));
  if (v.type == kStringType) {
    for (int i = 0; i < string_count_(t); ++i) {
      const char* data = nullptr;
      int size = 0;
      if (string_(t, i, &data, &size) != kOk) fail("an input of strings is damaged");
      v.strings.emplace_back(data, static_cast<std::size_t>(size));
    }
  } else if (byte_size(v) != byte_size_(t) || (byte_size(v) != 0 && !data_(t))) {
    fail("an input has no value");
  }
  return eager_->tensor(v, v.type == kStringType ? nullptr : data_(t));
}

void Flex::Impl::take(OpContext* context, Tensor* t, const EagerTensorPtr& result) {
  if (!t) return;
  if (is_handle(type_(t))) {
    const HandleNumber number = handles_.size();
    handles_.push_back(result);
    realloc_(sizeof number, t);
    if (!data_(t)) fail("LiteRT takes no handle");
    std::memcpy(data_(t), &number, sizeof number);
    return;
  }
  const TensorValue v = eager_->value(*result);
  if (v.type != type_(t)) fail("a result has another type than the model states");
  if (v.type == kStringType) {
    std::vector<const char*> data;
    std::vector<int> sizes;
    for (const std::string& s : v.strings) {
      data.push_back(s.data());
      sizes.push_back(static_cast<int>(s.size()));
    }
    if (write_strings_(t, data.data(), static_cast<int>(data.size()), sizes.data()) != kOk)
      fail("LiteRT takes no strings");
  }
  IntArray* dims = new_array_(static_cast<int>(v.dims.size()));
  for (std::size_t i = 0; i < v.dims.size(); ++i) dims->data[i] = static_cast<int>(v.dims[i]);
  if (resize_(context, t, dims) != kOk) fail("LiteRT does not give a result its shape " + shape_text(v.dims));
  if (!v.bytes.empty()) std::copy(v.bytes.begin(), v.bytes.end(), static_cast<char*>(data_(t)));
}

Flex::Flex(const Library& lite, std::vector<std::string> operators,
           const std::vector<std::string>& tensorflow)
    : impl_(std::make_unique<Impl>(lite, std::move(operators), tensorflow)) {}
Flex::~Flex() = default;
void Flex::add_to(TfLiteOptions* options) { impl_->add_to(options); }
std::string Flex::missing() const { return impl_->missing(); }

}  // namespace t2o::engines::lite
