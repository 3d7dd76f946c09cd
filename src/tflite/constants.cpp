#include <algorithm>
#include <cmath>
#include <cstring>

#include "diagnostics.h"
#include "tflite/model.h"

// The contents of constant tensors.
namespace t2o::tflite {
namespace {

using schema::TensorType;

[[noreturn]] void refuse(const schema::Tensor& t, const std::string& why) {
  fail(Code::bad_model, "the constant '" + text(t.name()) + "' " + why);
}

// The number of strings, for each and for the end its offset, the characters: 32-bit numbers.
std::vector<std::string> strings_of(const schema::Tensor& t, Bytes data) {
  const auto number = [&](std::size_t i) {
    std::int32_t n = 0;
    if (4 * (i + 1) > data.size()) refuse(t, "ends within its strings");
    std::memcpy(&n, data.data() + 4 * i, 4);
    if (n < 0) refuse(t, "has a negative size in its strings");
    return static_cast<std::size_t>(n);
  };
  const std::size_t n = number(0);
  if (n > data.size() / 4) refuse(t, "ends within its strings");
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = number(i + 1), to = number(i + 2);
    if (from > to || to > data.size()) refuse(t, "has a string outside of its data");
    strings.emplace_back(reinterpret_cast<const char*>(data.data()) + from, to - from);
  }
  return strings;
}

Ints dims_of(const schema::Tensor& t) {
  Ints dims;
  for (const std::int32_t d : items(t.shape())) {
    if (d < 0) refuse(t, "has an unknown size");
    dims.push_back(d);
  }
  return dims;
}

}  // namespace

DType dtype_of(TensorType t) {
  static constexpr DType kTypes[] = {
      DType::f32,     DType::f16, DType::i32, DType::u8,  DType::i64,  DType::string, DType::boolean,
      DType::i16,     DType::c64, DType::i8,  DType::f64, DType::c128, DType::u64,    DType::resource,
      DType::variant, DType::u32, DType::u16, DType::i4,  DType::bf16, DType::i2,     DType::u4};
  const auto i = static_cast<std::size_t>(t);
  return i < std::size(kTypes) ? kTypes[i] : DType::undefined;
}

TensorPtr Model::constant(const schema::Tensor& t) const {
  if (t.is_variable()) return nullptr;
  Data stored = data(t);
  Bytes& bytes = stored.bytes;
  const auto storage = [&](Bytes part) { return borrowed_storage(part, stored.owner); };
  const DType type = dtype(t);
  const Ints dims = dims_of(t);
  if (bytes.empty()) {
    const bool is_empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
    if (!is_empty || type == DType::undefined) return nullptr;
    return type == DType::string ? std::make_shared<Tensor>(dims, std::vector<std::string>())
                                 : std::make_shared<Tensor>(type, dims, heap_storage({}));
  }
  const std::int64_t elements = element_count(dims);
  if (type == DType::string) {
    std::vector<std::string> strings = strings_of(t, bytes);
    if (static_cast<std::int64_t>(strings.size()) != elements)
      refuse(t, "has " + std::to_string(strings.size()) + " strings instead of " + std::to_string(elements));
    return std::make_shared<Tensor>(dims, std::move(strings));
  }
  if (bit_width(type) == 0)
    fail(Code::unsupported_type, "the constant '" + text(t.name()) + "' is of type " +
                                     std::string(schema::EnumNameTensorType(t.type())));
  if (const schema::SparsityParameters* s = t.sparsity())
    return std::make_shared<Tensor>(type, dims, densified(*s, dims, type, storage(bytes)));
  const std::size_t size = byte_size(type, elements);
  if (t.external_buffer() != 0 && bytes.size() > size) bytes = bytes.first(size);  // the file may pad them
  if (bytes.size() != size)
    refuse(t, "has " + std::to_string(bytes.size()) + " bytes instead of " +
                  std::to_string(byte_size(type, elements)));
  return std::make_shared<Tensor>(type, dims, storage(bytes));
}

std::optional<Quantization> Model::quantization(const schema::Tensor& t) const {
  const schema::QuantizationParameters* q = t.quantization();
  const DType type = dtype(t);
  if (!q || !is_int(type)) return {};
  if (q->details_type() == schema::QuantizationDetails::BlockwiseQuantization)
    fail(Code::not_yet,
         "'" + text(t.name()) + "' is quantized in blocks, which this program does not read yet");
  if (q->details_type() != schema::QuantizationDetails::NONE)
    fail(Code::unsupported_attr, "'" + text(t.name()) + "' has a quantization of an unknown kind");
  const auto scales = items(q->scale());
  const auto zero_points = items(q->zero_point());
  if (scales.empty()) return {};
  if (!std::all_of(scales.begin(), scales.end(), [](float s) { return std::isfinite(s) && s >= 0; }))
    fail(Code::bad_model, "'" + text(t.name()) + "' has a scale that is negative or not finite");
  Quantization result{Floats(scales.begin(), scales.end()), Ints(scales.size(), 0), q->quantized_dimension()};
  if (zero_points.size() == scales.size())
    result.zero_points.assign(zero_points.begin(), zero_points.end());
  else if (zero_points.size() == 1)
    std::fill(result.zero_points.begin(), result.zero_points.end(), zero_points[0]);
  else if (!zero_points.empty())
    fail(Code::bad_model, "'" + text(t.name()) + "' has " + std::to_string(scales.size()) + " scales and " +
                              std::to_string(zero_points.size()) + " zero points");
  const int bits = static_cast<int>(std::min<std::size_t>(bit_width(type), 32));
  const std::int64_t lowest = is_signed_int(type) ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t highest = lowest + (std::int64_t{1} << bits) - 1;
  for (const std::int64_t z : result.zero_points)
    if (z < lowest || z > highest)
      fail(Code::bad_model,
           "'" + text(t.name()) + "' has the zero point " + std::to_string(z) + ", which is no code of it");
  const auto rank = static_cast<std::int64_t>(count(t.shape()));
  if (scales.size() > 1 &&
      (result.axis < 0 || result.axis >= rank ||
       items(t.shape())[static_cast<std::size_t>(result.axis)] != static_cast<std::int64_t>(scales.size())))
    fail(Code::bad_model, "'" + text(t.name()) + "' has " + std::to_string(scales.size()) +
                              " scales, which do not fit its axis " + std::to_string(result.axis));
  if (scales.size() == 1) result.axis = 0;
  return result;
}

}  // namespace t2o::tflite
