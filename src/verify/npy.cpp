#include "verify/npy.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "diagnostics.h"
#include "ir/attr.h"

namespace t2o::verify {
namespace {

[[noreturn]] void fail_npy(const std::string& source, const std::string& why,
                           const std::string& remedy = "") {
  fail(Code::bad_file, source + " cannot be read as a numpy array: " + why, remedy);
}

template <class T>
T little_endian(Bytes file, std::size_t at, const std::string& source) {
  if (at > file.size() || file.size() - at < sizeof(T)) fail(Code::bad_file, source + " is truncated");
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

Bytes part(Bytes file, std::size_t at, std::size_t size, const std::string& source) {
  if (at > file.size() || file.size() - at < size) fail(Code::bad_file, source + " is truncated");
  return file.subspan(at, size);
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// ---- the header of a .npy: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }

std::string_view entry(std::string_view header, std::string_view key, const std::string& source) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) fail_npy(source, "its header has no " + quoted);
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

Ints parse_shape(std::string_view text, const std::string& source) {
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) fail_npy(source, "its shape is not a tuple");
  text = text.substr(1, close - 1);
  Ints dims;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return dims;
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc() || dim < 0 || dims.size() >= 64) fail_npy(source, "its shape is not understood");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    dims.push_back(dim);
  }
}

DType number_type(std::string_view kind) {
  static constexpr std::pair<std::string_view, DType> types[] = {
      {"f2", DType::f16}, {"f4", DType::f32},     {"f8", DType::f64}, {"i1", DType::i8},   {"i2", DType::i16},
      {"i4", DType::i32}, {"i8", DType::i64},     {"u1", DType::u8},  {"u2", DType::u16},  {"u4", DType::u32},
      {"u8", DType::u64}, {"b1", DType::boolean}, {"c8", DType::c64}, {"c16", DType::c128}};
  for (const auto& [name, dtype] : types)
    if (name == kind) return dtype;
  return DType::undefined;
}

void append_utf8(std::string& s, std::uint32_t c) {
  const auto byte = [&](std::uint32_t b) { s += static_cast<char>(static_cast<unsigned char>(b)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0 | (c >> 6));
  } else if (c < 0x10000) {
    byte(0xe0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3f));
  } else {
    byte(0xf0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3f));
    byte(0x80 | ((c >> 6) & 0x3f));
  }
  byte(0x80 | (c & 0x3f));
}

// Fixed-size strings, padded with zeros: one byte a character in S, four in U.
TensorPtr parse_strings(Bytes data, Ints dims, std::size_t length, bool unicode, const std::string& source) {
  const auto count = static_cast<std::size_t>(element_count(dims));
  const std::size_t size = unicode ? 4 * length : length;
  if (size != 0 && data.size() / size < count) fail_npy(source, "it is truncated");
  if (size == 0 && count > data.size() + 4096) fail_npy(source, "it claims too many empty strings");
  Strings strings(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes one = data.subspan(i * size, size);
    if (!unicode) {
      strings[i] = text_of(one);
      strings[i].resize(strings[i].find_last_not_of('\0') + 1);
      continue;
    }
    for (std::size_t k = 0; k < length; ++k)
      if (const auto c = little_endian<std::uint32_t>(one, 4 * k, source); c != 0) append_utf8(strings[i], c);
  }
  return std::make_shared<Tensor>(std::move(dims), std::move(strings));
}

TensorPtr parse_array(std::string_view descr, Ints dims, Bytes data, const std::string& source) {
  const std::size_t quote = descr.find('\'', 1);
  if (!descr.starts_with('\'') || quote == std::string_view::npos || quote < 3)
    fail_npy(source, "records are not supported");
  const char order = descr[1];
  const std::string_view kind = descr.substr(2, quote - 2);
  if (order == '>')
    fail_npy(source, "it is big-endian", "Save it with array.astype(array.dtype.newbyteorder('<')).");
  if (const DType dtype = number_type(kind); dtype != DType::undefined) {
    if (static_cast<std::uint64_t>(element_count(dims)) > data.size()) fail_npy(source, "it is truncated");
    const auto bytes = data.first(std::min(data.size(), byte_size(dtype, element_count(dims))));
    return std::make_shared<Tensor>(dtype, std::move(dims), heap_storage({bytes.begin(), bytes.end()}));
  }
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(kind.data() + 1, kind.data() + kind.size(), length);
  if ((kind[0] != 'S' && kind[0] != 'U') || error != std::errc() || length > (std::size_t{1} << 30))
    fail_npy(source, "its element type '" + std::string(kind) + "' is not supported",
             kind.starts_with('O') ? "Save strings with array.astype(str)." : "");
  return parse_strings(data, std::move(dims), length, kind[0] == 'U', source);
}

}  // namespace

TensorPtr parse_npy(Bytes file, const std::string& source) {
  if (!text_of(file).starts_with("\x93NUMPY")) fail_npy(source, "it does not begin with numpy's mark");
  const bool long_header = little_endian<std::uint8_t>(file, 6, source) >= 2;
  const std::size_t start = long_header ? 12 : 10;
  const std::size_t length = long_header ? little_endian<std::uint32_t>(file, 8, source)
                                         : little_endian<std::uint16_t>(file, 8, source);
  const std::string_view header = text_of(part(file, start, length, source));
  if (!entry(header, "fortran_order", source).starts_with("False"))
    fail_npy(source, "it is in Fortran order", "Save numpy.ascontiguousarray(array).");
  try {
    return parse_array(entry(header, "descr", source), parse_shape(entry(header, "shape", source), source),
                       file.subspan(start + length), source);
  } catch (const std::length_error& e) {
    fail_npy(source, e.what());
  }
}

std::vector<NamedTensor> parse_npz(Bytes file, const std::string& source) {
  constexpr std::size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
  const std::size_t end = text_of(file).rfind("PK\5\6");
  if (end == std::string_view::npos || file.size() - end < kEndSize)
    fail(Code::bad_file, source + " is not an .npz: it is not a zip archive");
  std::size_t at = little_endian<std::uint32_t>(file, end + 16, source);
  std::vector<NamedTensor> arrays;
  for (std::size_t left = little_endian<std::uint16_t>(file, end + 10, source); left > 0; --left) {
    if (text_of(part(file, at, kEntrySize, source)).substr(0, 4) != "PK\1\2")
      fail(Code::bad_file, source + ": its directory is damaged");
    const auto method = little_endian<std::uint16_t>(file, at + 10, source);
    const auto size = little_endian<std::uint32_t>(file, at + 24, source);
    const auto name_size = little_endian<std::uint16_t>(file, at + 28, source);
    const auto local = little_endian<std::uint32_t>(file, at + 42, source);
    std::string name(text_of(part(file, at + kEntrySize, name_size, source)));
    if (method != 0 || size == 0xffffffffU)
      fail(Code::bad_file, source + ": " + name + " is compressed or exceeds 4 GB",
           "Save it with numpy.savez, not savez_compressed.");
    const std::size_t data = local + kLocalSize +
                             little_endian<std::uint16_t>(file, std::size_t{local} + 26, source) +
                             little_endian<std::uint16_t>(file, std::size_t{local} + 28, source);
    const TensorPtr tensor = parse_npy(part(file, data, size, source), source + ":" + name);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.push_back({std::move(name), tensor});
    at += kEntrySize + name_size + little_endian<std::uint16_t>(file, at + 30, source) +
          little_endian<std::uint16_t>(file, at + 32, source);
  }
  return arrays;
}

}  // namespace t2o::verify
