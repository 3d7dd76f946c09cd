#include "engines/litert/eager.h"

#include <cstdlib>
#include <cstring>

namespace t2o::engines::lite {
namespace {

struct Status;
struct Context;
struct ContextOptions;
struct Op;
struct Handle;
struct Tensor;
struct String {  // only its size matters here
  alignas(8) unsigned char raw[24];
};

constexpr int kStringInTf = 7;
// TensorFlow's numbers of the types of .tflite files, by these.
constexpr int kTypes[] = {0, 1, 3, 4, 9, kStringInTf, 10, 5, 8, 6, 19, 2, 18, 23, 20, 21, 22, 17, 0, 14};
constexpr int kTypeCount = static_cast<int>(std::size(kTypes));

int tf_type(int type) {
  const int t = type >= 0 && type < kTypeCount ? kTypes[type] : 0;
  if (t == 0) fail("TensorFlow has no type like number " + std::to_string(type));
  return t;
}

int lite_type(int type) {
  for (int i = 1; i < kTypeCount; ++i)
    if (kTypes[i] == type) return i;
  fail("LiteRT has no type like TensorFlow's number " + std::to_string(type));
}

// A field of a protobuf message: its number, and its bytes if it has any.
struct Field {
  std::uint64_t number = 0;
  std::string_view bytes = {};
};

std::uint64_t varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !rest.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  fail("the operator's NodeDef is damaged");
}

Field next_field(std::string_view& rest) {
  const std::uint64_t tag = varint(rest);
  Field field{tag >> 3, {}};
  std::uint64_t size = 0;
  if ((tag & 7) == 0) varint(rest);
  if ((tag & 7) == 1) size = 8;
  if ((tag & 7) == 5) size = 4;
  if ((tag & 7) == 2) size = varint(rest);
  if (size > rest.size()) fail("the operator's NodeDef is damaged");
  field.bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  return field;
}

}  // namespace

EagerNode eager_node(std::string_view rest) {
  constexpr std::uint64_t kOp = 2, kAttr = 5;
  EagerNode node;
  while (!rest.empty()) {
    const Field field = next_field(rest);
    if (field.number == kOp) node.op = field.bytes;
    if (field.number != kAttr) continue;
    std::string_view entry = field.bytes, name, value;
    while (!entry.empty()) {
      const Field part = next_field(entry);
      (part.number == 1 ? name : value) = part.bytes;
    }
    if (!name.starts_with('_')) node.attrs.emplace_back(name, value);
  }
  return node;
}

struct Eager::Api {
  Status* (*new_status)();
  void (*delete_status)(Status*);
  int (*code)(const Status*);
  const char* (*message)(const Status*);
  ContextOptions* (*new_options)();
  void (*delete_options)(ContextOptions*);
  void (*set_config)(ContextOptions*, const void*, std::size_t, Status*);
  Context* (*new_context)(const ContextOptions*, Status*);
  Op* (*new_op)(Context*, const char*, Status*);
  void (*delete_op)(Op*);
  void (*add_input)(Op*, Handle*, Status*);
  void (*set_attr)(const Op*, const char*, const void*, std::size_t, Status*);
  void (*execute)(Op*, Handle**, int*, Status*);
  Handle* (*new_handle)(const Tensor*, Status*);
  void (*delete_handle)(Handle*);
  int (*handle_type)(Handle*);
  Tensor* (*resolve)(Handle*, Status*);
  Tensor* (*allocate)(int, const std::int64_t*, int, std::size_t);
  void (*delete_tensor)(Tensor*);
  int (*rank)(const Tensor*);
  std::int64_t (*dim)(const Tensor*, int);
  std::size_t (*byte_size)(const Tensor*);
  void* (*data)(const Tensor*);
  void (*string_init)(String*);
  void (*string_copy)(String*, const char*, std::size_t);
  const char* (*string_data)(const String*);
  std::size_t (*string_size)(const String*);
  void (*string_dealloc)(String*);

  Status* status = nullptr;
  Context* context = nullptr;  // lives as long as the process

  explicit Api(const Library& l);
  void check() const {
    if (code(status) != 0) fail(message(status), true);
  }
};

Eager::Api::Api(const Library& l) {
  l.bind(new_status, "TF_NewStatus");
  l.bind(delete_status, "TF_DeleteStatus");
  l.bind(code, "TF_GetCode");
  l.bind(message, "TF_Message");
  l.bind(new_options, "TFE_NewContextOptions");
  l.bind(delete_options, "TFE_DeleteContextOptions");
  l.bind(set_config, "TFE_ContextOptionsSetConfig");
  l.bind(new_context, "TFE_NewContext");
  l.bind(new_op, "TFE_NewOp");
  l.bind(delete_op, "TFE_DeleteOp");
  l.bind(add_input, "TFE_OpAddInput");
  l.bind(set_attr, "TFE_OpSetAttrValueProto");
  l.bind(execute, "TFE_Execute");
  l.bind(new_handle, "TFE_NewTensorHandle");
  l.bind(delete_handle, "TFE_DeleteTensorHandle");
  l.bind(handle_type, "TFE_TensorHandleDataType");
  l.bind(resolve, "TFE_TensorHandleResolve");
  l.bind(allocate, "TF_AllocateTensor");
  l.bind(delete_tensor, "TF_DeleteTensor");
  l.bind(rank, "TF_NumDims");
  l.bind(dim, "TF_Dim");
  l.bind(byte_size, "TF_TensorByteSize");
  l.bind(data, "TF_TensorData");
  l.bind(string_init, "TF_StringInit");
  l.bind(string_copy, "TF_StringCopy");
  l.bind(string_data, "TF_StringGetDataPointer");
  l.bind(string_size, "TF_StringGetSize");
  l.bind(string_dealloc, "TF_StringDealloc");
  status = new_status();
}

class EagerTensor {
 public:
  EagerTensor(std::shared_ptr<Eager::Api> api, Handle* handle) : api_(std::move(api)), handle_(handle) {}
  ~EagerTensor() { api_->delete_handle(handle_); }
  EagerTensor(const EagerTensor&) = delete;
  EagerTensor& operator=(const EagerTensor&) = delete;
  Handle* handle() const { return handle_; }

 private:
  std::shared_ptr<Eager::Api> api_;
  Handle* handle_;
};

Eager::Eager(const std::string& library) {
  setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);  // what it prints is shown as the cause of errors
  setenv("TF_ENABLE_ONEDNN_OPTS", "0", 0);
  api_ = std::make_shared<Api>(Library(library));
  constexpr std::string_view kOneThread =
      "\x10\x01\x28\x01";  // a ConfigProto: inside of operators, and between
  ContextOptions* options = api_->new_options();
  api_->set_config(options, kOneThread.data(), kOneThread.size(), api_->status);
  api_->context = api_->new_context(options, api_->status);
  api_->delete_options(options);
  api_->check();
}

EagerTensorPtr Eager::tensor(const TensorValue& v, const void* data) {
  const bool is_string = v.type == kStringType;
  const std::size_t size = is_string ? v.strings.size() * sizeof(String) : byte_size(v);
  const std::unique_ptr<Tensor, void (*)(Tensor*)> t(
      api_->allocate(tf_type(v.type), v.dims.data(), static_cast<int>(v.dims.size()), size),
      api_->delete_tensor);
  if (!t || api_->byte_size(t.get()) < size) fail("TensorFlow has no memory for a tensor", true);
  if (is_string) {
    auto* strings = static_cast<String*>(api_->data(t.get()));
    for (std::size_t i = 0; i < v.strings.size(); ++i) {
      api_->string_init(&strings[i]);
      api_->string_copy(&strings[i], v.strings[i].data(), v.strings[i].size());
    }
  } else if (size != 0) {
    std::memcpy(api_->data(t.get()), data, size);
  }
  Handle* handle = api_->new_handle(t.get(), api_->status);
  api_->check();
  return std::make_shared<EagerTensor>(api_, handle);
}

TensorValue Eager::value(const EagerTensor& tensor) const {
  TensorValue v{lite_type(api_->handle_type(tensor.handle())), {}, "", {}};
  const std::unique_ptr<Tensor, void (*)(Tensor*)> t(api_->resolve(tensor.handle(), api_->status),
                                                     api_->delete_tensor);
  api_->check();
  std::size_t elements = 1;
  for (int i = 0; i < api_->rank(t.get()); ++i) {
    v.dims.push_back(api_->dim(t.get(), i));
    elements *= static_cast<std::size_t>(v.dims.back());
  }
  if (v.type == kStringType) {
    const auto* strings = static_cast<const String*>(api_->data(t.get()));
    for (std::size_t i = 0; i < elements; ++i)
      v.strings.emplace_back(api_->string_data(&strings[i]), api_->string_size(&strings[i]));
  } else if (elements != 0) {
    v.bytes.assign(static_cast<const char*>(api_->data(t.get())), byte_size(v));
  }
  return v;
}

std::vector<EagerTensorPtr> Eager::run(const EagerNode& node, const std::vector<EagerTensorPtr>& inputs,
                                       std::size_t outputs) {
  const std::unique_ptr<Op, void (*)(Op*)> op(api_->new_op(api_->context, node.op.c_str(), api_->status),
                                              api_->delete_op);
  api_->check();
  for (const auto& [name, value] : node.attrs) {
    api_->set_attr(op.get(), name.c_str(), value.data(), value.size(), api_->status);
    api_->check();
  }
  for (const EagerTensorPtr& t : inputs) {
    api_->add_input(op.get(), t->handle(), api_->status);
    api_->check();
  }
  constexpr std::size_t kMore = 64;  // than the model takes
  std::vector<Handle*> handles(outputs + kMore);
  int count = static_cast<int>(handles.size());
  api_->execute(op.get(), handles.data(), &count, api_->status);
  api_->check();
  std::vector<EagerTensorPtr> results;
  for (int i = 0; i < count; ++i)
    results.push_back(std::make_shared<EagerTensor>(api_, handles[static_cast<std::size_t>(i)]));
  if (results.size() < outputs) fail("TensorFlow gives fewer results than the model takes");
  return results;
}

}  // namespace t2o::engines::lite
