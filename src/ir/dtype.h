#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace t2o {

// Element types of every dialect. The quantized ones (qi8 ...) and resource/variant occur in TensorFlow graphs only.
enum class DType : std::uint8_t {
  undefined, f32, f64, f16, bf16, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, i2, u2, i4, u4, i8, u8, i16, u16,
  i32, u32, i64, u64, boolean, string, c64, c128, qi8, qu8, qi16, qu16, qi32, resource, variant,
};

// The type of an ONNX sequence whose tensors have this element type. A sequence is no tensor: it has no shape, and all
// functions below take it for a type that they do not know.
constexpr std::uint8_t kSequenceBit = 0x80;
constexpr DType sequence_of(DType t) { return static_cast<DType>(static_cast<std::uint8_t>(t) | kSequenceBit); }
constexpr bool is_sequence(DType t) { return (static_cast<std::uint8_t>(t) & kSequenceBit) != 0; }
constexpr DType element_of(DType t) { return static_cast<DType>(static_cast<std::uint8_t>(t) & ~kSequenceBit); }

std::string_view name(DType);                         // "f32", "bool", "seq_f32" ...: as the text format prints it
std::optional<DType> dtype_from_name(std::string_view);  // also TensorFlow's and numpy's: "float32", "int64" ...

std::size_t bit_width(DType);                         // 0 for undefined, string, resource, variant
std::size_t byte_size(DType, std::int64_t elements);  // packed: two i4, four i2 share a byte

bool is_float(DType);     // f8 ... f64, bf16
bool is_signed_int(DType);
bool is_unsigned_int(DType);
inline bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }
inline bool is_complex(DType t) { return t == DType::c64 || t == DType::c128; }
inline bool is_number(DType t) { return is_int(t) || is_float(t) || is_complex(t); }

// The C++ type of an element type; f16 and bf16 are their bits.
template <class T> constexpr DType dtype_of() = delete;
template <> constexpr DType dtype_of<float>() { return DType::f32; }
template <> constexpr DType dtype_of<double>() { return DType::f64; }
template <> constexpr DType dtype_of<std::int8_t>() { return DType::i8; }
template <> constexpr DType dtype_of<std::uint8_t>() { return DType::u8; }
template <> constexpr DType dtype_of<std::int16_t>() { return DType::i16; }
template <> constexpr DType dtype_of<std::uint16_t>() { return DType::u16; }
template <> constexpr DType dtype_of<std::int32_t>() { return DType::i32; }
template <> constexpr DType dtype_of<std::uint32_t>() { return DType::u32; }
template <> constexpr DType dtype_of<std::int64_t>() { return DType::i64; }
template <> constexpr DType dtype_of<std::uint64_t>() { return DType::u64; }
template <> constexpr DType dtype_of<bool>() { return DType::boolean; }

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float);
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float);  // round to nearest even

}  // namespace t2o
