#include <algorithm>

#include "support/wire.h"
#include "tf/attr_value.h"

namespace t2o::tf {
namespace {

constexpr std::int64_t kMaxRepeatedStrings = 1 << 20;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 56;

struct Content {
  DType dtype = DType::undefined;
  Ints dims;
  std::int64_t elements = 1;
  Bytes raw;  // tensor_content
  std::vector<std::byte>
      values;    // the *_val list in the layout of the dtype; 4- and 2-bit types one byte each
  Bytes packed;  // the same list where the file has it in that layout already
  Strings strings;
};

std::size_t unpacked_size(DType t) { return std::max<std::size_t>(bit_width(t) / 8, 1); }
bool is_sub_byte(DType t) { return bit_width(t) == 4 || bit_width(t) == 2; }

[[noreturn]] void mismatch(const Content& c, const std::string& what) {
  std::string dims;
  for (const std::int64_t d : c.dims) dims += (dims.empty() ? "" : ",") + std::to_string(d);
  fail(Code::bad_model, "a constant of type " + std::string(name(c.dtype)) + "[" + dims + "] " + what);
}

void count_elements(Content& c) {
  for (const std::int64_t d : c.dims) {
    if (d < 0) mismatch(c, "has a negative dimension");
    if (__builtin_mul_overflow(c.elements, d, &c.elements)) mismatch(c, "is too large");
  }
  if (c.elements > kMaxBytes / 16) mismatch(c, "is too large");
}

void append(Content& c, const void* value, std::size_t size) {
  const auto* b = static_cast<const std::byte*>(value);
  c.values.insert(c.values.end(), b, b + size);
}

void append_integers(Content& c, const WireReader& r) {  // little-endian: the low bytes come first
  r.each_varint([&](std::uint64_t v) { append(c, &v, unpacked_size(c.dtype)); });
}

template <class T>
void append_reals(Content& c, const WireReader& r) {
  const bool first = c.values.empty() && c.packed.empty();
  if (first && r.type() == WireType::bytes && r.bytes().size() % sizeof(T) == 0) {
    c.packed = r.bytes();
    return;
  }
  append(c, c.packed.data(), c.packed.size());
  c.packed = {};
  r.each_fixed<T>([&](T v) { append(c, &v, sizeof v); });
}

// Which *_val field holds the elements of a dtype.
std::uint32_t value_field(DType t) {
  using enum DType;
  switch (t) {
    case f16:
    case bf16:
      return 13;
    case f32:
      return 5;
    case f64:
      return 6;
    case i64:
      return 10;
    case boolean:
      return 11;
    case c64:
      return 9;
    case c128:
      return 12;
    case u32:
      return 16;
    case u64:
      return 17;
    case string:
      return 8;
    case f8e5m2:
    case f8e4m3fn:
    case f8e4m3fnuz:
    case f8e5m2fnuz:
      return 18;
    case undefined:
    case resource:
    case variant:
      return 0;
    default:
      return 7;
  }
}

void read_values(Content& c, const WireReader& r) {
  switch (r.field()) {
    case 5:
    case 9:
      return append_reals<float>(c, r);
    case 6:
    case 12:
      return append_reals<double>(c, r);
    case 8:
      c.strings.emplace_back(r.text());
      return;
    case 18:
      c.packed = r.bytes();
      return;
    default:
      append_integers(c, r);
  }
}

Ints read_dims(WireReader r) {
  Ints dims;
  while (r.next()) {
    if (r.field() == 3 && r.varint() != 0) fail(Code::bad_model, "a constant has an unknown shape");
    if (r.field() != 2) continue;
    std::int64_t& size = dims.emplace_back(0);
    for (WireReader dim = r.message(); dim.next();)
      if (dim.field() == 1) size = dim.integer();
  }
  return dims;
}

Content read_content(Bytes tensor_proto) {
  Content c;
  for (WireReader r(tensor_proto); r.next();) {
    if (r.field() == 1) c.dtype = dtype_from_number(r.varint());
    if (r.field() == 2) c.dims = read_dims(r.message());
    if (r.field() == 4) c.raw = r.bytes();
  }
  const std::uint32_t field = value_field(c.dtype);
  if (field == 0) fail(Code::unsupported_type, "a constant has the type " + std::string(name(c.dtype)));
  count_elements(c);
  for (WireReader r(tensor_proto); r.next();)
    if (r.field() == field) read_values(c, r);
  return c;
}

// As TensorFlow encodes strings in tensor_content: all lengths as varints, then the texts.
void read_raw_strings(Content& c) {
  std::vector<std::uint64_t> lengths;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < c.elements; ++i) {
    std::uint64_t length = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == c.raw.size() || shift > 56) mismatch(c, "has corrupt string lengths");
      const auto b = static_cast<std::uint64_t>(c.raw[at++]);
      length |= (b & 0x7f) << shift;
      if (b < 0x80) break;
    }
    lengths.push_back(length);
  }
  const std::string_view texts = as_text(c.raw.subspan(at));
  std::size_t from = 0;
  for (const std::uint64_t length : lengths) {
    if (length > texts.size() - from) mismatch(c, "has truncated strings");
    c.strings.emplace_back(texts.substr(from, static_cast<std::size_t>(length)));
    from += static_cast<std::size_t>(length);
  }
}

TensorPtr string_tensor(Content& c) {
  if (!c.raw.empty()) read_raw_strings(c);
  const auto given = static_cast<std::int64_t>(c.strings.size());
  if (given > c.elements) mismatch(c, "has " + std::to_string(given) + " values");
  if (given < c.elements && c.elements > kMaxRepeatedStrings) mismatch(c, "repeats one string too often");
  const std::string last = c.strings.empty() ? std::string() : c.strings.back();
  c.strings.resize(static_cast<std::size_t>(c.elements), last);
  return std::make_shared<Tensor>(std::move(c.dims), std::move(c.strings));
}

void pack(std::span<const std::byte> one_each, std::span<std::byte> out, unsigned bits) {
  const unsigned per_byte = 8 / bits;
  const auto mask = static_cast<std::byte>((1U << bits) - 1);
  std::ranges::fill(out, std::byte{0});
  for (std::size_t i = 0; i < one_each.size(); ++i)
    out[i / per_byte] |= (one_each[i] & mask) << ((i % per_byte) * bits);
}

TensorPtr packed_tensor(Content& c, Bytes one_each, const Owner& owner) {
  auto fill = [one_each, owner, bits = static_cast<unsigned>(bit_width(c.dtype))](std::span<std::byte> out) {
    pack(one_each, out, bits);
  };
  auto storage = computed_storage(byte_size(c.dtype, c.elements), std::move(fill));
  return std::make_shared<Tensor>(c.dtype, std::move(c.dims), std::move(storage));
}

TensorPtr viewed_tensor(Content& c, Bytes bytes, const Owner& owner) {
  if (is_sub_byte(c.dtype)) return packed_tensor(c, bytes, owner);
  return std::make_shared<Tensor>(c.dtype, std::move(c.dims), borrowed_storage(bytes, owner));
}

// Fewer values than elements: the last one repeats, none means zeros.
TensorPtr repeated_tensor(Content& c, std::vector<std::byte> values) {
  const std::size_t width = unpacked_size(c.dtype);
  if (values.empty()) values.resize(width);
  if (values.size() == width && !is_sub_byte(c.dtype))
    return Tensor::filled(c.dtype, std::move(c.dims), values);
  auto fill = [values = std::move(values), width, type = c.dtype, n = c.elements](std::span<std::byte> out) {
    const std::span<const std::byte> last = std::span(values).last(width);
    if (is_sub_byte(type)) {
      std::vector<std::byte> all(values);
      all.resize(static_cast<std::size_t>(n), last[0]);
      return pack(all, out, static_cast<unsigned>(bit_width(type)));
    }
    std::ranges::copy(values, out.begin());
    for (std::size_t i = values.size(); i < out.size(); i += width) std::ranges::copy(last, &out[i]);
  };
  auto storage = computed_storage(byte_size(c.dtype, c.elements), std::move(fill));
  return std::make_shared<Tensor>(c.dtype, std::move(c.dims), std::move(storage));
}

TensorPtr value_tensor(Content& c, const Owner& owner) {
  const std::size_t width = unpacked_size(c.dtype);
  const std::size_t full = static_cast<std::size_t>(c.elements) * width;
  const std::size_t given = c.packed.empty() ? c.values.size() : c.packed.size();
  if (given % width != 0) mismatch(c, "has half a value");
  if (given > full && full != 0) mismatch(c, "has " + std::to_string(given / width) + " values");
  if (full == 0) return std::make_shared<Tensor>(c.dtype, std::move(c.dims), heap_storage({}));
  if (given == full && !c.packed.empty()) return viewed_tensor(c, c.packed, owner);
  if (!c.packed.empty()) c.values.assign(c.packed.begin(), c.packed.end());
  if (given == full && !is_sub_byte(c.dtype))
    return std::make_shared<Tensor>(c.dtype, std::move(c.dims), heap_storage(std::move(c.values)));
  return repeated_tensor(c, std::move(c.values));
}

}  // namespace

TensorPtr decode_tensor(Bytes tensor_proto, const Owner& owner) {
  Content c = read_content(tensor_proto);
  if (c.dtype == DType::string) return string_tensor(c);
  if (c.elements > kMaxElements) mismatch(c, "has more elements than any memory");
  if (c.raw.empty()) return value_tensor(c, owner);
  if (c.raw.size() != static_cast<std::size_t>(c.elements) * unpacked_size(c.dtype))
    mismatch(c, "has " + std::to_string(c.raw.size()) + " bytes");
  return viewed_tensor(c, c.raw, owner);
}

}  // namespace t2o::tf
