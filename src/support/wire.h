#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "diagnostics.h"
#include "support/storage.h"

namespace t2o {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// The file that this thread reads, while it lives: what is wrong with its bytes is told with its name. Attributes are decoded
// late and far from where the file was opened.
class Reading {
 public:
  explicit Reading(std::string file);  // empty: bytes in memory
  ~Reading();
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  std::string outer_;
};
[[noreturn]] void fail_reading(const std::string& why, const std::string& remedy = "", SourceLoc at = SourceLoc::here());

// Walks the fields of one serialized protobuf message, without copies. next() has read the value too, so that
// a field nobody asks for is skipped. Offsets in errors count from the start of the outermost message.
class WireReader {
 public:
  explicit WireReader(Bytes message) : WireReader(message, message.data()) {}
  WireReader(Bytes message, const std::byte* origin)
      : at_(message.data()), end_(message.data() + message.size()), origin_(origin) {}

  bool next() {  // to the next field; false at the end
    if (at_ == end_) return false;
    start_ = at_;
    const std::uint64_t tag = read_varint();
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) corrupt("an invalid field number");
    field_ = static_cast<std::uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        value_ = read_varint();
        break;
      case 1:
        value_ = read_fixed<std::uint64_t>();
        break;
      case 2:
        bytes_ = read_bytes();
        break;
      case 5:
        value_ = read_fixed<std::uint32_t>();
        break;
      default:
        corrupt("an unknown wire type");
    }
    type_ = static_cast<WireType>(tag & 7);
    return true;
  }

  std::uint32_t field() const { return field_; }
  std::uint64_t varint() const { return expect(WireType::varint), value_; }
  std::int64_t integer() const { return static_cast<std::int64_t>(varint()); }
  float real() const { return expect(WireType::fixed32), from_bits<float>(); }
  Bytes bytes() const { return expect(WireType::bytes), bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes().data()), bytes_.size()}; }
  WireReader message() const { return {bytes(), origin_}; }
  std::pair<std::string_view, Bytes> map_entry() const;  // its key and its value

  // The elements of a repeated number, whether packed or not.
  template <class F>
  void each_varint(F&& f) const {
    if (type_ == WireType::varint) return f(value_);
    for (WireReader list = message(); list.at_ != list.end_;) f(list.read_varint());
  }
  template <class T, class F>
  void each_fixed(F&& f) const {  // T: float or double
    if (type_ != WireType::bytes) {
      expect(sizeof(T) == 4 ? WireType::fixed32 : WireType::fixed64);
      return f(from_bits<T>());
    }
    for (WireReader list = message(); list.at_ != list.end_;) f(list.read_fixed<T>());
  }

  WireType type() const { return type_; }
  [[noreturn]] void corrupt(const char* what) const {
    fail_reading("the file is corrupt: " + std::string(what) + " at byte " + std::to_string(start_ - origin_),
                 "Check that the file is a TensorFlow model and was copied completely.");
  }

 private:
  std::uint64_t read_varint() {
    if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) return static_cast<std::uint64_t>(*at_++);
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) corrupt("a truncated number");
      const auto b = static_cast<std::uint64_t>(*at_++);
      v |= (b & 0x7f) << shift;
      if (b < 0x80) return v;
      if (shift == 63) break;
    }
    corrupt("an overlong number");
  }
  template <class T>
  T read_fixed() {
    if (static_cast<std::size_t>(end_ - at_) < sizeof(T)) corrupt("a truncated number");
    T v;
    std::memcpy(&v, at_, sizeof(T));
    at_ += sizeof(T);
    return v;
  }
  Bytes read_bytes() {
    const std::uint64_t size = read_varint();
    if (size > static_cast<std::uint64_t>(end_ - at_)) corrupt("a field that is longer than its message");
    const Bytes b(at_, static_cast<std::size_t>(size));
    at_ += size;
    return b;
  }
  template <class T>
  T from_bits() const {
    T v;
    std::memcpy(&v, &value_, sizeof(T));
    return v;
  }
  void expect(WireType t) const {
    if (type_ != t) corrupt("a field of an unexpected type");
  }

  const std::byte *at_, *end_, *origin_, *start_ = at_;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::varint;
  std::uint64_t value_ = 0;
  Bytes bytes_;
};

inline std::pair<std::string_view, Bytes> WireReader::map_entry() const {
  std::pair<std::string_view, Bytes> all;
  for (WireReader entry = message(); entry.next();) {
    if (entry.field() == 1) all.first = entry.text();
    if (entry.field() == 2) all.second = entry.bytes();
  }
  return all;
}

inline std::string_view as_text(Bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

}  // namespace t2o
