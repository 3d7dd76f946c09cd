#include "tf/checkpoint_slices.h"

#include <bit>

namespace t2o::tf {
namespace {

constexpr std::size_t kMaxSlices = 4096;

void put_number(std::string& out,
                std::uint64_t v) {  // the count of significant bytes, then those, big-endian
  const int bytes = (static_cast<int>(std::bit_width(v)) + 7) / 8;
  out += static_cast<char>(bytes);
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(v >> (8 * i) & 0xff);
}

void put_string(std::string& out, std::string_view s) {
  for (const char c : s) {
    out += c;
    if (c == '\0') out += '\xff';
    if (c == '\xff') out += '\0';
  }
  out.append("\0\1", 2);
}

// The first `length` bits of the result are ones (zeros when v < 0), then comes the sign-extended number: 7
// bits a byte.
void put_signed(std::string& out, std::int64_t v) {
  const auto bits = static_cast<std::uint64_t>(v);
  const std::size_t length = static_cast<std::size_t>(std::bit_width(v < 0 ? ~bits : bits)) / 7 + 1;
  char buffer[10] = {};
  buffer[0] = buffer[1] = static_cast<char>(v < 0 ? 0xff : 0);
  for (std::size_t i = 0; i < 8; ++i) buffer[2 + i] = static_cast<char>(bits >> (56 - 8 * i) & 0xff);
  char* const begin = buffer + sizeof buffer - length;
  const unsigned header = 0xffffu << (16 - length) & 0xffffu;
  begin[0] = static_cast<char>(begin[0] ^ static_cast<char>(header >> 8));
  if (length > 1) begin[1] = static_cast<char>(begin[1] ^ static_cast<char>(header & 0xff));
  out.append(begin, length);
}

bool overlap(const Extents& a, const Extents& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].start + a[i].length <= b[i].start || b[i].start + b[i].length <= a[i].start) return false;
  return true;
}

// Calls f(offset in the slice, offset in the whole, bytes) for each run that is contiguous in both.
template <class F>
void each_run(const Extents& slice, const Ints& dims, std::size_t element, F&& f) {
  const std::size_t rank = dims.size();
  std::size_t axis = rank, run = element;  // the axes from here on are in the run
  while (axis > 0 && (axis == rank || slice[axis].length == dims[axis]))
    run *= static_cast<std::size_t>(slice[--axis].length);
  const std::size_t total = static_cast<std::size_t>(element_count(lengths(slice))) * element;
  Ints at(axis, 0);
  for (std::size_t from = 0; from < total; from += run) {
    std::size_t to = 0;
    for (std::size_t i = 0; i < rank; ++i)
      to = to * static_cast<std::size_t>(dims[i]) +
           static_cast<std::size_t>(slice[i].start + (i < axis ? at[i] : 0));
    f(from, to * element, run);
    for (std::size_t i = axis; i-- > 0 && ++at[i] == slice[i].length;) at[i] = 0;
  }
}

}  // namespace

Extents resolve(const Extents& slice, const Ints& dims) {
  Extents out = slice;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].length < 0) out[i] = {0, dims[i]};
  return out;
}

Ints lengths(const Extents& slice) {
  Ints out;
  for (const Extent& x : slice) out.push_back(x.length);
  return out;
}

bool lies_inside(const Extents& slice, const Ints& dims) {
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (slice[i].start < 0 || slice[i].length < 0 || slice[i].start > dims[i] - slice[i].length) return false;
  return true;
}

bool tile_exactly(const Ints& dims, const std::vector<SliceData>& parts) {
  if (parts.size() > kMaxSlices) return false;
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!lies_inside(parts[i].extents, dims)) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(parts[i].extents, parts[j].extents)) return false;
    covered += element_count(lengths(parts[i].extents));
  }
  return covered == element_count(dims);
}

StoragePtr joined_storage(DType dtype, const Ints& dims, std::vector<SliceData> parts) {
  const std::size_t element = bit_width(dtype) / 8;
  return computed_storage(byte_size(dtype, element_count(dims)), [=](std::span<std::byte> out) {
    for (const SliceData& part : parts) {
      const Bytes in = part.data->bytes();
      each_run(part.extents, dims, element, [&](std::size_t from, std::size_t to, std::size_t n) {
        std::memcpy(out.data() + to, in.data() + from, n);
      });
      part.data->release();
    }
  });
}

StoragePtr cut_storage(const TensorPtr& whole, const Extents& slice) {
  const std::size_t element = bit_width(whole->dtype()) / 8;
  return computed_storage(
      byte_size(whole->dtype(), element_count(lengths(slice))), [=](std::span<std::byte> out) {
        const Bytes in = whole->bytes();
        each_run(slice, whole->dims(), element, [&](std::size_t to, std::size_t from, std::size_t n) {
          std::memcpy(out.data() + to, in.data() + from, n);
        });
        whole->storage()->release();
      });
}

std::string tensor_slice_key(std::string_view name, const Extents& extents) {
  std::string key;
  put_number(key, 0);
  put_string(key, name);
  put_number(key, extents.size());
  for (const Extent& x : extents) {
    put_signed(key, x.start);
    put_signed(key, x.length);
  }
  return key;
}

}  // namespace t2o::tf
