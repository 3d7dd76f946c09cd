#pragma once
#include <cstdint>
#include <string_view>

#include "ir/dtype.h"

// Definitions that the printer and the parser of the text form share.
namespace t2o::ir {

constexpr std::uint16_t kHalfNan = 0x7e00, kBfloatNan = 0x7fc0;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
inline bool is_name_char(char c) { return is_word_char(c) || c == '/' || c == '-'; }

// A word begins with a letter. A name may have a colon before a letter or digit: %x:0. An op may have "::": a::B.
inline std::size_t word_length(std::string_view s) {
  if (s.empty() || !is_letter(s[0])) return 0;
  std::size_t n = 1;
  while (n < s.size() && is_word_char(s[n])) ++n;
  return n;
}

inline std::size_t value_name_length(std::string_view s) {
  std::size_t n = 0;
  while (n < s.size()) {
    const bool inner_colon = s[n] == ':' && n > 0 && n + 1 < s.size() && (is_letter(s[n + 1]) || is_digit(s[n + 1]));
    if (!is_name_char(s[n]) && !inner_colon) break;
    ++n;
  }
  return n;
}

inline std::size_t op_name_length(std::string_view s) {
  std::size_t n = word_length(s);
  while (n != 0 && s.substr(n).starts_with("::")) {
    const std::size_t more = word_length(s.substr(n + 2));
    if (more == 0) break;
    n += 2 + more;
  }
  return n;
}

inline bool is_keyword(std::string_view s) {
  return s == "input" || s == "const" || s == "output" || s == "graph" || s == "_" || s == "in";
}

inline bool is_word(std::string_view s) { return !s.empty() && word_length(s) == s.size(); }
inline bool is_value_name(std::string_view s) { return !s.empty() && value_name_length(s) == s.size(); }
inline bool is_op_name(std::string_view s) { return !s.empty() && op_name_length(s) == s.size() && !is_keyword(s); }

// Types whose elements print as numbers; the others print their bytes.
inline bool is_spelled(DType t) {
  switch (t) {
    case DType::boolean: case DType::f16: case DType::bf16: case DType::f32: case DType::f64:
    case DType::qi8: case DType::qu8: case DType::qi16: case DType::qu16: case DType::qi32: return true;
    default: return is_int(t);
  }
}

}  // namespace t2o::ir
