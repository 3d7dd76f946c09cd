#pragma once
#include <bit>
#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>

#include "ir/tensor.h"
#include "ir/text_cursor.h"

namespace t2o::ir {

TensorPtr parse_tensor(
    TextCursor&);  // f32[2] = [1, 2]   f32[64,3] = splat 0   i64 = [1, 2]   i64 = 1   u8[2] = dense<ff00>

template <std::integral T>
std::optional<T> parse_int(const Number& n) {
  T v = 0;
  const char* end = n.text.data() + n.text.size();
  const auto [stop, error] = std::from_chars(n.text.data(), end, v);
  return error == std::errc() && stop == end ? std::optional(v) : std::nullopt;
}

template <std::floating_point T>
std::optional<T> parse_real(const Number& n) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if (n.nan_bits) {
    if (*n.nan_bits > std::numeric_limits<Bits>::max()) return std::nullopt;
    return std::bit_cast<T>(static_cast<Bits>(*n.nan_bits));
  }
  if (n.text == "nan") return std::numeric_limits<T>::quiet_NaN();
  T v = 0;
  const char* end = n.text.data() + n.text.size();
  const auto [stop, error] = std::from_chars(n.text.data(), end, v);
  return error == std::errc() && stop == end ? std::optional(v) : std::nullopt;
}

}  // namespace t2o::ir
