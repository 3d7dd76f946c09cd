#include "verify/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "diagnostics.h"
#include "ir/attr.h"

namespace t2o::verify {
namespace {

template <class T>
std::vector<T> converted(const std::vector<double>& values) {
  std::vector<T> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      out[i] = static_cast<T>(values[i]);
    } else {
      constexpr auto low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
      const double v = std::isnan(values[i]) ? 0 : std::nearbyint(values[i]);
      out[i] = v <= static_cast<double>(low)    ? low
               : v >= static_cast<double>(high) ? high
                                                : static_cast<T>(v);
    }
  }
  return out;
}

template <class Narrow>
TensorPtr tensor_of_bits(DType dtype, Ints dims, const std::vector<double>& values, Narrow narrow) {
  std::vector<std::uint16_t> bits;
  for (const double v : values) bits.push_back(narrow(static_cast<float>(v)));
  return Tensor::of<std::uint16_t>(std::move(dims), bits)->with_dtype(dtype);
}

TensorPtr tensor_of_nibbles(DType dtype, Ints dims, const std::vector<double>& values) {
  const double low = dtype == DType::i4 ? -8 : 0, high = dtype == DType::i4 ? 7 : 15;
  std::vector<std::byte> bytes(byte_size(dtype, static_cast<std::int64_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto nibble =
        static_cast<unsigned>(static_cast<int>(std::clamp(std::nearbyint(values[i]), low, high))) & 0xfU;
    bytes[i / 2] |= static_cast<std::byte>(nibble << (4 * (i % 2)));
  }
  return std::make_shared<Tensor>(dtype, std::move(dims), heap_storage(std::move(bytes)));
}

Range default_range(DType dtype) {
  if (dtype == DType::boolean) return {0, 1};
  if (dtype == DType::i4) return {-8, 7};
  return is_signed_int(dtype) || contains({DType::qi8, DType::qi16, DType::qi32}, dtype) ? Range{-10, 10}
                                                                                         : Range{0, 15};
}

TensorPtr random_strings(const Ints& dims, Random& random) {
  static constexpr std::array<std::string_view, 8> words = {"",    "a",           "cat", "Dog",
                                                            "3.5", "hello world", "-42", "\xc3\xa9t\xc3\xa9"};
  Strings strings(static_cast<std::size_t>(element_count(dims)));
  for (std::string& s : strings) s = nth(words, random.integer(0, words.size() - 1));
  return std::make_shared<Tensor>(dims, std::move(strings));
}

}  // namespace

std::uint64_t Random::bits() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::normal() {  // Box-Muller
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  const auto count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (count == 0 ? bits() : bits() % count));
}

std::uint64_t mix(std::uint64_t seed, std::string_view name) {
  for (const char c : name) seed = Random(seed ^ static_cast<unsigned char>(c)).bits();
  return seed;
}

TensorPtr tensor_of(DType dtype, const Ints& dims, const std::vector<double>& values) {
  switch (dtype) {
    case DType::f32:
      return Tensor::of(dims, converted<float>(values));
    case DType::f64:
      return Tensor::of(dims, values);
    case DType::f16:
      return tensor_of_bits(dtype, dims, values, float_to_half);
    case DType::bf16:
      return tensor_of_bits(dtype, dims, values, float_to_bfloat);
    case DType::i8:
      return Tensor::of(dims, converted<std::int8_t>(values));
    case DType::u8:
      return Tensor::of(dims, converted<std::uint8_t>(values));
    case DType::i16:
      return Tensor::of(dims, converted<std::int16_t>(values));
    case DType::u16:
      return Tensor::of(dims, converted<std::uint16_t>(values));
    case DType::i32:
      return Tensor::of(dims, converted<std::int32_t>(values));
    case DType::u32:
      return Tensor::of(dims, converted<std::uint32_t>(values));
    case DType::i64:
      return Tensor::of(dims, converted<std::int64_t>(values));
    case DType::u64:
      return Tensor::of(dims, converted<std::uint64_t>(values));
    case DType::qi8:
      return Tensor::of(dims, converted<std::int8_t>(values))->with_dtype(dtype);
    case DType::qu8:
      return Tensor::of(dims, converted<std::uint8_t>(values))->with_dtype(dtype);
    case DType::qi16:
      return Tensor::of(dims, converted<std::int16_t>(values))->with_dtype(dtype);
    case DType::qu16:
      return Tensor::of(dims, converted<std::uint16_t>(values))->with_dtype(dtype);
    case DType::qi32:
      return Tensor::of(dims, converted<std::int32_t>(values))->with_dtype(dtype);
    case DType::boolean: {
      std::vector<bool> v;
      for (const double x : values) v.push_back(x != 0);
      return Tensor::of(dims, v);
    }
    case DType::i4:
    case DType::u4:
      return tensor_of_nibbles(dtype, dims, values);
    default:
      fail(Code::unsupported_type, "no values can be made for tensors of " + std::string(name(dtype)));
  }
}

TensorPtr random_tensor(DType dtype, const Ints& dims, Random& random, std::optional<Range> range) {
  if (dtype == DType::string) return random_strings(dims, random);
  const auto count = static_cast<std::size_t>(element_count(dims));
  std::vector<double> values(is_complex(dtype) ? 2 * count : count);
  const bool real = is_float(dtype) || is_complex(dtype);
  for (double& v : values) {
    if (!real) {
      const Range r = range.value_or(default_range(dtype));
      v = static_cast<double>(
          random.integer(static_cast<std::int64_t>(r.low), static_cast<std::int64_t>(r.high)));
    } else {
      v = range ? range->low + (range->high - range->low) * random.uniform() : random.normal();
    }
  }
  if (!is_complex(dtype)) return tensor_of(dtype, dims, values);
  Ints pairs = dims;
  pairs.push_back(2);
  const TensorPtr parts = tensor_of(dtype == DType::c64 ? DType::f32 : DType::f64, pairs, values);
  return std::make_shared<Tensor>(dtype, dims, parts->storage());
}

}  // namespace t2o::verify
