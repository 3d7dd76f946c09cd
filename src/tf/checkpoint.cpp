#include "tf/checkpoint.h"

#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "diagnostics.h"
#include "support/crc32c.h"
#include "support/wire.h"
#include "tf/attr_value.h"
#include "tf/checkpoint_path.h"
#include "tf/checkpoint_slices.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kMaxRank = 254;
constexpr std::int64_t kMaxShards = 1'000'000;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;
constexpr std::string_view kExportAgain = "save or copy the checkpoint again";

class TableFile final : public leveldb::RandomAccessFile {
 public:
  explicit TableFile(MappedFilePtr file) : file_(std::move(file)) {}

  leveldb::Status Read(std::uint64_t offset, std::size_t n, leveldb::Slice* result, char*) const override {
    // LevelDB adds a trailer of 5 bytes to a size from the file: a smaller n is a sum that has wrapped
    // around.
    if (n < 5 || offset > file_->size() || n > file_->size() - offset)
      return leveldb::Status::Corruption("a block lies outside of the file");
    *result = {reinterpret_cast<const char*>(file_->bytes().data()) + offset, n};
    return leveldb::Status::OK();
  }

 private:
  MappedFilePtr file_;
};

Bytes view(const leveldb::Slice& s) { return {reinterpret_cast<const std::byte*>(s.data()), s.size()}; }

// The readable part of a key, which may be binary.
std::string printable(std::string_view key) {
  std::string out;
  for (const char c : key) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::uint64_t read_varint(Bytes bytes, std::size_t& at) {
  std::uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at >= bytes.size()) break;
    const auto b = std::to_integer<std::uint64_t>(bytes[at++]);
    v |= (b & 0x7f) << shift;
    if (b < 0x80) return v;
  }
  throw std::out_of_range("varint");
}

std::uint32_t bits_of(float fixed32) { return std::bit_cast<std::uint32_t>(fixed32); }

bool is_packed(DType t) { return bit_width(t) != 0 && bit_width(t) < 8; }

// TensorFlow keeps one small integer in each byte.
StoragePtr packed(StoragePtr wide, DType dtype, std::size_t elements) {
  const std::size_t bits = bit_width(dtype), per_byte = 8 / bits;
  return computed_storage(byte_size(dtype, static_cast<std::int64_t>(elements)),
                          [=](std::span<std::byte> out) {
                            const Bytes in = wide->bytes();
                            std::ranges::fill(out, std::byte{0});
                            const auto mask = static_cast<std::byte>((1u << bits) - 1);
                            for (std::size_t i = 0; i < elements; ++i)
                              out[i / per_byte] |= (in[i] & mask) << static_cast<int>(bits * (i % per_byte));
                            wide->release();
                          });
}

Ints decode_dims(WireReader shape) {
  Ints dims;
  while (shape.next()) {
    if (shape.field() != 2) continue;
    dims.push_back(0);
    for (WireReader dim = shape.message(); dim.next();)
      if (dim.field() == 1) dims.back() = dim.integer();
  }
  return dims;
}

Extents decode_slice(WireReader slice) {
  Extents extents;
  while (slice.next()) {
    if (slice.field() != 1) continue;
    Extent& x = extents.emplace_back();
    for (WireReader r = slice.message(); r.next();) {
      if (r.field() == 1) x.start = r.integer();
      if (r.field() == 2) x.length = r.integer();
    }
  }
  return extents;
}

}  // namespace

Checkpoint::Entry Checkpoint::decode_entry(Bytes bundle_entry) {
  Entry e;
  for (WireReader r(bundle_entry); r.next();) {
    switch (r.field()) {
      case 1:
        e.dtype = r.varint();
        break;
      case 2:
        e.dims = decode_dims(r.message());
        break;
      case 3:
        e.shard = r.integer();
        break;
      case 4:
        e.offset = r.integer();
        break;
      case 5:
        e.size = r.integer();
        break;
      case 6:
        e.crc = bits_of(r.real());
        break;
      case 7:
        e.slices.push_back(decode_slice(r.message()));
        break;
      default:
        break;
    }
  }
  e.crc = crc32c_unmask(e.crc);
  return e;
}

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& path) {
  std::shared_ptr<Checkpoint> c(new Checkpoint(find_checkpoint_prefix(path)));
  c->read_index();
  return c;
}

void Checkpoint::fail_index(const std::string& why) const {
  fail(Code::bad_file, "the checkpoint index " + prefix_ + ".index cannot be read: " + why,
       std::string(kExportAgain));
}

void Checkpoint::fail_missing(std::string_view key, const std::string& part) const {
  fail(Code::bad_file,
       "the checkpoint " + prefix_ + " has not " + part + "the entry '" + printable(key) + "'",
       "give the checkpoint that belongs to the graph");
}

void Checkpoint::read_index() {
  const Reading scope(prefix_ + ".index");
  const MappedFilePtr file = MappedFile::open(prefix_ + ".index");
  leveldb::Options options;
  options.paranoid_checks = true;
  TableFile table_file(file);
  leveldb::Table* opened = nullptr;
  leveldb::Status status;
  try {
    status = leveldb::Table::Open(options, &table_file, file->size(), &opened);
  } catch (const std::bad_alloc&) {
    fail_index("a block has an impossible size");
  }
  const std::unique_ptr<leveldb::Table> table(opened);
  if (!status.ok()) fail_index(status.ToString());
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(read));
  it->SeekToFirst();
  if (!it->status().ok()) fail_index(it->status().ToString());
  if (!it->Valid() || !it->key().empty()) fail_index("it has no header");
  read_header(view(it->value()));
  for (it->Next(); it->Valid(); it->Next()) read_entry(it->key().ToString(), view(it->value()));
  if (!it->status().ok()) fail_index(it->status().ToString());
}

void Checkpoint::read_header(Bytes bundle_header) {
  std::int64_t shards = 0, endianness = 0, min_consumer = 0;
  for (WireReader r(bundle_header); r.next();) {
    if (r.field() == 1) shards = r.integer();
    if (r.field() == 2) endianness = r.integer();
    if (r.field() != 3) continue;
    for (WireReader version = r.message(); version.next();)
      if (version.field() == 2) min_consumer = version.integer();
  }
  if (endianness != 0) fail_index("it was written on a big-endian machine, which is not supported");
  if (min_consumer > 1)
    fail_index("its format version " + std::to_string(min_consumer) + " is newer than 1, the last one known");
  if (shards < 1 || shards > kMaxShards) fail_index("it claims " + std::to_string(shards) + " data files");
  shard_count_ = static_cast<int>(shards);
}

void Checkpoint::read_entry(const std::string& key, Bytes bundle_entry) {
  Entry e = decode_entry(bundle_entry);
  std::int64_t elements = 1;
  bool sane =
      e.dims.size() <= kMaxRank && e.offset >= 0 && e.size >= 0 && e.shard >= 0 && e.shard < shard_count_;
  for (const std::int64_t d : e.dims)
    sane = sane && d >= 0 && !__builtin_mul_overflow(elements, d, &elements);
  if (!sane || elements > kMaxElements) fail_index("the entry '" + printable(key) + "' contradicts itself");
  entries_.emplace(key, std::move(e));
}

std::vector<CheckpointEntry> Checkpoint::entries() const {
  std::vector<CheckpointEntry> out;
  for (const auto& [key, e] : entries_)
    if (key.empty() || key[0] != '\0') out.push_back({key, dtype_from_number(e.dtype), e.dims});
  return out;
}

const MappedFilePtr& Checkpoint::shard(std::int64_t i) const {
  const auto [at, fresh] = shards_.try_emplace(i);
  if (fresh) {
    char suffix[40];
    std::snprintf(suffix, sizeof suffix, ".data-%05d-of-%05d", static_cast<int>(i), shard_count_);
    try {
      at->second = MappedFile::open(prefix_ + suffix);
    } catch (...) {
      shards_.erase(at);
      throw;
    }
  }
  return at->second;
}

StoragePtr Checkpoint::data_of(const std::string& key, const Entry& e) const {
  return mapped_storage(shard(e.shard), static_cast<std::uint64_t>(e.offset),
                        static_cast<std::uint64_t>(e.size), ExpectedCrc{e.crc, printable(key)});
}

TensorPtr Checkpoint::read(std::string_view key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) fail_missing(key, "");
  const auto& [name_, e] = *found;
  const DType dtype = dtype_from_number(e.dtype);
  if (dtype == DType::string && e.slices.empty()) return read_strings(name_, e);
  if (bit_width(dtype) == 0)
    fail(Code::unsupported_type, "the entry '" + printable(key) + "' of the checkpoint " + prefix_ +
                                     " has the type " + std::string(name(dtype)) +
                                     ", which is not supported there");
  return e.slices.empty() ? read_plain(name_, e) : read_slices(name_, e);
}

TensorPtr Checkpoint::read_plain(const std::string& key, const Entry& e) const {
  const DType dtype = dtype_from_number(e.dtype);
  const std::int64_t elements = element_count(e.dims);
  const std::size_t expected =
      is_packed(dtype) ? static_cast<std::size_t>(elements) : byte_size(dtype, elements);
  if (static_cast<std::size_t>(e.size) != expected)
    fail_index("the entry '" + printable(key) + "' has " + std::to_string(e.size) +
               " bytes, but its shape and type need " + std::to_string(expected));
  StoragePtr data = data_of(key, e);
  if (is_packed(dtype)) data = packed(std::move(data), dtype, expected);
  return std::make_shared<Tensor>(dtype, e.dims, std::move(data));
}

// Varint lengths, a checksum of the lengths as fixed 32- or 64-bit numbers, the strings. The entry's own
// checksum is that of the fixed lengths, the first checksum and the strings.
TensorPtr Checkpoint::read_strings(const std::string& key, const Entry& e) const {
  const Bytes bytes =
      mapped_storage(shard(e.shard), static_cast<std::uint64_t>(e.offset), static_cast<std::uint64_t>(e.size))
          ->bytes();
  const std::string damaged =
      "the strings of '" + printable(key) + "' in the checkpoint " + prefix_ + " are damaged";
  const auto count = static_cast<std::size_t>(element_count(e.dims));
  if (count > bytes.size()) fail(Code::bad_file, damaged, std::string(kExportAgain));
  try {
    std::vector<std::uint64_t> lengths(count);
    std::size_t at = 0;
    std::uint32_t crc = 0;
    for (std::uint64_t& n : lengths) {
      n = read_varint(bytes, at);
      const auto n32 = static_cast<std::uint32_t>(n);
      crc =
          crc32c_extend(crc, n == n32 ? std::as_bytes(std::span(&n32, 1)) : std::as_bytes(std::span(&n, 1)));
    }
    std::uint32_t stored = 0;
    if (bytes.size() - at < sizeof stored) throw std::out_of_range("checksum");
    std::memcpy(&stored, bytes.data() + at, sizeof stored);
    if (stored != crc32c_mask(crc)) throw std::out_of_range("checksum");
    if (crc32c_extend(crc, bytes.subspan(at)) != e.crc) throw std::out_of_range("checksum");
    at += sizeof stored;
    std::vector<std::string> strings(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (lengths[i] > bytes.size() - at) throw std::out_of_range("length");
      strings[i].assign(reinterpret_cast<const char*>(bytes.data()) + at, lengths[i]);
      at += lengths[i];
    }
    return std::make_shared<Tensor>(e.dims, std::move(strings));
  } catch (const std::out_of_range&) {
    fail(Code::bad_file, damaged, std::string(kExportAgain));
  }
}

TensorPtr Checkpoint::read_slices(const std::string& key, const Entry& e) const {
  const DType dtype = dtype_from_number(e.dtype);
  const std::string what = "the partitioned variable '" + printable(key) + "' in the checkpoint " + prefix_;
  if (is_packed(dtype))
    fail(Code::unsupported_type,
         what + " has the type " + std::string(name(dtype)) + ", which is not supported");
  std::vector<SliceData> parts;
  for (const Extents& slice : e.slices) {
    if (slice.size() != e.dims.size()) fail_index("a slice of '" + printable(key) + "' has another rank");
    const auto found = entries_.find(tensor_slice_key(key, slice));
    if (found == entries_.end()) fail(Code::bad_file, what + " lacks a slice", std::string(kExportAgain));
    SliceData part{resolve(slice, e.dims), {}};
    const Entry& data = found->second;
    if (data.dims != lengths(part.extents) || data.dtype != e.dtype || !data.slices.empty())
      fail_index("a slice of '" + printable(key) + "' has another shape or type than its place");
    part.data = read_plain(found->first, data)->storage();
    parts.push_back(std::move(part));
  }
  if (!tile_exactly(e.dims, parts))
    fail(Code::bad_file, what + " has slices that do not tile its shape", std::string(kExportAgain));
  return std::make_shared<Tensor>(dtype, e.dims, joined_storage(dtype, e.dims, std::move(parts)));
}

TensorPtr Checkpoint::read_slice(std::string_view key, const Extents& slice) const {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.dims.size() != slice.size()) fail_missing(key, "a slice of ");
  const Entry& e = found->second;
  if (t2o::contains(e.slices, slice)) {
    const std::string slice_key = tensor_slice_key(key, slice);
    if (contains(slice_key)) return read(slice_key);
  }
  const TensorPtr whole = read(key);
  const Extents part = resolve(slice, e.dims);
  if (!lies_inside(part, e.dims)) fail_missing(key, "the wanted slice of ");
  if (bit_width(whole->dtype()) < 8)
    fail(Code::unsupported_type, "a slice of the variable '" + printable(key) + "' of type " +
                                     std::string(name(whole->dtype())) + " is not supported");
  return std::make_shared<Tensor>(whole->dtype(), lengths(part), cut_storage(whole, part));
}

}  // namespace t2o::tf
