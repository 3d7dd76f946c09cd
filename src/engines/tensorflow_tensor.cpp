#include "engines/tensorflow_tensor.h"

#include <array>

#include "engines/tensorflow.h"

namespace t2o::engines::tf_api {
namespace {

// TF_DataType is the place in this table. 27 (f8e4m3b11fnuz) and 33 (f4e2m1fn) have no type of ours.
constexpr std::array<DType, 33> kTypes = {
    DType::undefined, DType::f32,      DType::f64,        DType::i32,       DType::u8,         DType::i16,
    DType::i8,        DType::string,   DType::c64,        DType::i64,       DType::boolean,    DType::qi8,
    DType::qu8,       DType::qi32,     DType::bf16,       DType::qi16,      DType::qu16,       DType::u16,
    DType::c128,      DType::f16,      DType::resource,   DType::variant,   DType::u32,        DType::u64,
    DType::f8e5m2,    DType::f8e4m3fn, DType::f8e4m3fnuz, DType::undefined, DType::f8e5m2fnuz, DType::i4,
    DType::u4,        DType::i2,       DType::u2};
constexpr int kRefTypes = 100;

bool is_packed_here(DType t) { return bit_width(t) < 8; }  // TensorFlow gives i4 ... a byte each

std::vector<std::byte> unpack(const Tensor& t) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.elements()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto per_byte = 8 / bit_width(t.dtype());
    const auto shift = bit_width(t.dtype()) * (i % per_byte);
    const auto mask = static_cast<std::uint8_t>((1u << bit_width(t.dtype())) - 1);
    auto value =
        static_cast<std::uint8_t>((std::to_integer<unsigned>(t.bytes()[i / per_byte]) >> shift) & mask);
    if (is_signed_int(t.dtype()) && value > mask / 2) value = static_cast<std::uint8_t>(value | ~mask);
    bytes[i] = std::byte{value};
  }
  return bytes;
}

std::vector<std::byte> pack(DType dtype, const std::byte* data, std::size_t elements) {
  std::vector<std::byte> bytes(byte_size(dtype, static_cast<std::int64_t>(elements)));
  const auto per_byte = 8 / bit_width(dtype);
  const auto mask = (1u << bit_width(dtype)) - 1;
  for (std::size_t i = 0; i < elements; ++i)
    bytes[i / per_byte] |= static_cast<std::byte>((std::to_integer<unsigned>(data[i]) & mask)
                                                  << (bit_width(dtype) * (i % per_byte)));
  return bytes;
}

}  // namespace

void check(const Api& api, const StatusPtr& status, const std::string& what) {
  constexpr int kInvalidArgument = 3, kNotFound = 5, kFailedPrecondition = 9, kOutOfRange = 11,
                kUnimplemented = 12;
  const int code = api.get_code(status.get());
  if (code == 0) return;
  const bool is_unknown =
      code == kNotFound || code == kUnimplemented;  // here: an op of a library, a kernel of a device
  const std::string message = api.message(status.get());
  // Of values that do not fit each other, or of a variable or table without a value: its text alone tells
  // which.
  const bool is_of_values = code == kFailedPrecondition && message.find("nitialized") == std::string::npos;
  throw TfError({.code = is_unknown ? Code::unsupported_op : Code::bad_model,
                 .message = "TensorFlow: " + what + ": " + message},
                code == kInvalidArgument || code == kOutOfRange || is_of_values);
}

int type_code(DType dtype) {
  for (std::size_t i = 1; i < kTypes.size(); ++i)
    if (kTypes[i] == dtype && dtype != DType::undefined) return static_cast<int>(i);
  fail(Code::unsupported_type, "TensorFlow has no type " + std::string(name(dtype)));
}

DType type_of_code(int code) {
  if (code > kRefTypes) code -= kRefTypes;
  return code >= 0 && static_cast<std::size_t>(code) < kTypes.size() ? kTypes[static_cast<std::size_t>(code)]
                                                                     : DType::undefined;
}

OwnedTensor::OwnedTensor(const Api& api, const Tensor& t) : api_(&api), handle_(nullptr) {
  const int code = type_code(t.dtype());
  if (t.dtype() == DType::resource || t.dtype() == DType::variant)
    fail(Code::unsupported_type, "TensorFlow: tensors of " + std::string(name(t.dtype())) + " cannot be fed");
  const bool is_string = t.dtype() == DType::string;
  const auto elements = static_cast<std::size_t>(t.elements());
  const std::size_t size = is_string                   ? elements * sizeof(String)
                           : is_packed_here(t.dtype()) ? elements
                                                       : t.byte_size();
  handle_ = api.allocate_tensor(code, t.dims().data(), t.rank(), size);
  if (is_string) {
    strings_ = elements;
    auto* strings = static_cast<String*>(api.tensor_data(handle_));
    for (std::size_t i = 0; i < elements; ++i) {
      api.string_init(&strings[i]);
      api.string_copy(&strings[i], t.strings()[i].data(), t.strings()[i].size());
    }
  } else if (size != 0) {
    if (is_packed_here(t.dtype()))
      std::memcpy(api.tensor_data(handle_), unpack(t).data(), size);
    else
      std::memcpy(api.tensor_data(handle_), t.bytes().data(), size);
  }
}

OwnedTensor::OwnedTensor(OwnedTensor&& o) noexcept : api_(o.api_), handle_(o.handle_), strings_(o.strings_) {
  o.handle_ = nullptr;
  o.strings_ = 0;
}

OwnedTensor::~OwnedTensor() {
  if (!handle_) return;
  auto* strings = static_cast<String*>(api_->tensor_data(handle_));
  for (std::size_t i = 0; i < strings_; ++i) api_->string_dealloc(&strings[i]);
  api_->delete_tensor(handle_);
}

TensorPtr read_tensor(const Api& api, const TensorHandle* handle, const std::string& tensor) {
  const DType dtype = type_of_code(api.tensor_type(handle));
  if (contains({DType::undefined, DType::resource, DType::variant}, dtype))
    fail(Code::unsupported_type,
         "TensorFlow: tensor " + tensor + " of " + std::string(name(dtype)) + " cannot be read");
  Ints dims;
  for (int i = 0; i < api.num_dims(handle); ++i) dims.push_back(api.dim(handle, i));
  const auto elements = static_cast<std::size_t>(element_count(dims));
  if (dtype == DType::string) {
    Strings strings;
    const auto* data = static_cast<const String*>(api.tensor_data(handle));
    for (std::size_t i = 0; i < elements; ++i)
      strings.emplace_back(api.string_data(&data[i]), api.string_size(&data[i]));
    return std::make_shared<Tensor>(std::move(dims), std::move(strings));
  }
  const auto* data = static_cast<const std::byte*>(api.tensor_data(handle));
  std::vector<std::byte> bytes;
  if (is_packed_here(dtype))
    bytes = pack(dtype, data, elements);
  else if (elements != 0)
    bytes.assign(data, data + api.tensor_byte_size(handle));
  return std::make_shared<Tensor>(dtype, std::move(dims), heap_storage(std::move(bytes)));
}

}  // namespace t2o::engines::tf_api
