#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Serialized protobuf messages, field by field.
namespace t2o {

inline void append_varint(std::string& out, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}

// A field that is a message, bytes or a string, without its content.
inline void append_field_head(std::string& out, std::uint32_t field, std::uint64_t length) {
  append_varint(out, std::uint64_t{field} << 3 | 2);
  append_varint(out, length);
}

inline void append_field(std::string& out, std::uint32_t field, std::string_view content) {
  append_field_head(out, field, content.size());
  out += content;
}

inline void append_number(std::string& out, std::uint32_t field, std::uint64_t v) {
  append_varint(out, std::uint64_t{field} << 3);
  append_varint(out, v);
}

}  // namespace t2o
