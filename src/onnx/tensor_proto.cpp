#include "onnx/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include <limits>
#include <stdexcept>

#include "diagnostics.h"
#include "onnx/elem_type.h"

namespace t2o::onnx {
namespace {

template <class T, class Field>
std::vector<std::byte> narrowed(const Field& field) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(field.size()) * sizeof(T));
  for (int i = 0; i < field.size(); ++i) {
    const T value = static_cast<T>(field.Get(i));
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof value);
  }
  return bytes;
}

std::vector<std::byte> raw_bytes(const std::string& raw) {
  const auto* data = reinterpret_cast<const std::byte*>(raw.data());
  return {data, data + raw.size()};
}

// The typed fields: what fits a field in 32 or 64 bits is widened there.
std::vector<std::byte> typed_bytes(const ::onnx::TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      return narrowed<float>(proto.float_data());
    case DType::f64:
    case DType::c128:
      return narrowed<double>(proto.double_data());
    case DType::i64:
      return narrowed<std::int64_t>(proto.int64_data());
    case DType::u32:
      return narrowed<std::uint32_t>(proto.uint64_data());
    case DType::u64:
      return narrowed<std::uint64_t>(proto.uint64_data());
    default:
      break;
  }
  switch (bit_width(dtype)) {
    case 32:
      return narrowed<std::int32_t>(proto.int32_data());
    case 16:
      return narrowed<std::uint16_t>(proto.int32_data());
    default:
      return narrowed<std::uint8_t>(proto.int32_data());
  }
}

}  // namespace

NamedTensor parse_tensor(Bytes bytes, const std::string& source) {
  ::onnx::TensorProto proto;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(Code::bad_file, source + " is not an ONNX tensor: it cannot be parsed");
  const DType dtype = dtype_of_elem_type(proto.data_type());
  if (dtype == DType::undefined)
    fail(Code::bad_file, source + ": element type " + std::to_string(proto.data_type()) + " is not known");
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL || proto.has_segment())
    fail(Code::bad_file, source + ": tensors with external data or segments cannot be read");
  Ints dims(proto.dims().begin(), proto.dims().end());
  try {
    if (dtype == DType::string)
      return {proto.name(),
              std::make_shared<Tensor>(std::move(dims), std::vector<std::string>(proto.string_data().begin(),
                                                                                 proto.string_data().end()))};
    std::vector<std::byte> content =
        proto.has_raw_data() ? raw_bytes(proto.raw_data()) : typed_bytes(proto, dtype);
    if (static_cast<std::uint64_t>(element_count(dims)) / 4 >
        content.size())  // so that the size in bytes cannot overflow
      fail(Code::bad_file, source + ": the tensor's bytes do not fit its shape");
    return {proto.name(), std::make_shared<Tensor>(dtype, std::move(dims), heap_storage(std::move(content)))};
  } catch (const std::length_error& e) {
    fail(Code::bad_file, source + ": " + e.what());
  }
}

}  // namespace t2o::onnx
