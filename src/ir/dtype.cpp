#include "ir/dtype.h"

#include <array>
#include <bit>
#include <string>

namespace t2o {
namespace {

enum Kind : std::uint8_t { other, floating, signed_int, unsigned_int, complex };
struct Info {
  std::string_view name, tf_name;
  std::uint8_t bits;
  Kind kind;
};

constexpr std::array<Info, 32> kInfo = {{
    {"undefined", "", 0, other},
    {"f32", "float32", 32, floating},
    {"f64", "float64", 64, floating},
    {"f16", "float16", 16, floating},
    {"bf16", "bfloat16", 16, floating},
    {"f8e4m3fn", "float8_e4m3fn", 8, floating},
    {"f8e4m3fnuz", "float8_e4m3fnuz", 8, floating},
    {"f8e5m2", "float8_e5m2", 8, floating},
    {"f8e5m2fnuz", "float8_e5m2fnuz", 8, floating},
    {"i2", "int2", 2, signed_int},
    {"u2", "uint2", 2, unsigned_int},
    {"i4", "int4", 4, signed_int},
    {"u4", "uint4", 4, unsigned_int},
    {"i8", "int8", 8, signed_int},
    {"u8", "uint8", 8, unsigned_int},
    {"i16", "int16", 16, signed_int},
    {"u16", "uint16", 16, unsigned_int},
    {"i32", "int32", 32, signed_int},
    {"u32", "uint32", 32, unsigned_int},
    {"i64", "int64", 64, signed_int},
    {"u64", "uint64", 64, unsigned_int},
    {"bool", "bool", 8, other},
    {"string", "string", 0, other},
    {"c64", "complex64", 64, complex},
    {"c128", "complex128", 128, complex},
    {"qi8", "qint8", 8, other},
    {"qu8", "quint8", 8, other},
    {"qi16", "qint16", 16, other},
    {"qu16", "quint16", 16, other},
    {"qi32", "qint32", 32, other},
    {"resource", "resource", 0, other},
    {"variant", "variant", 0, other},
}};

const Info& info(DType t) { return kInfo[is_sequence(t) ? 0 : static_cast<std::size_t>(t)]; }

std::array<std::string, kInfo.size()> names_of_sequences() {
  std::array<std::string, kInfo.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "seq_" + std::string(kInfo[i].name);
  return names;
}

}  // namespace

std::string_view name(DType t) {
  if (!is_sequence(t)) return info(t).name;
  static const auto kNames = names_of_sequences();
  return kNames[static_cast<std::size_t>(element_of(t))];
}

std::optional<DType> dtype_from_name(std::string_view n) {
  if (n.empty()) return std::nullopt;
  for (std::size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == n || kInfo[i].tf_name == n) return static_cast<DType>(i);
  if (n == "float") return DType::f32;
  if (n == "double") return DType::f64;
  if (n == "half") return DType::f16;
  return std::nullopt;
}

std::size_t bit_width(DType t) { return info(t).bits; }

std::size_t byte_size(DType t, std::int64_t elements) {
  return (static_cast<std::size_t>(elements) * info(t).bits + 7) / 8;
}

bool is_float(DType t) { return info(t).kind == floating; }
bool is_signed_int(DType t) { return info(t).kind == signed_int; }
bool is_unsigned_int(DType t) { return info(t).kind == unsigned_int; }

float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat(float f) {
  const auto u = std::bit_cast<std::uint32_t>(f);
  if ((u & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((u >> 16) | 0x40U);  // NaN stays NaN
  return static_cast<std::uint16_t>((u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
}

float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fU, mantissa = h & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float tiny = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal, or zero
  return sign ? -tiny : tiny;
}

std::uint16_t float_to_half(float f) {
  const auto u = std::bit_cast<std::uint32_t>(f);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000U);
  const std::uint32_t a = u & 0x7fffffffU;
  if (a > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (a >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds beyond 65504
  if (a < 0x38800000U) {                                                    // subnormal: let the FPU round
    const float scaled = std::bit_cast<float>(a) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(scaled) - 0x3f000000U));
  }
  const std::uint32_t r = a + 0xfffU + ((a >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((r - 0x38000000U) >> 13));
}

}  // namespace t2o
