#include "onnx/data_file.h"

#include <array>

#include "diagnostics.h"

namespace t2o::onnx {
namespace {

constexpr std::uint64_t kPage = 4096, kCacheLine = 64, kPagedTensor = 64 * 1024;
constexpr std::size_t kStreamed = std::size_t{16} << 20;  // bigger tensors are never in memory as a whole
constexpr std::size_t kMadeInParts = std::size_t{512} << 10;

}  // namespace

void stream_weight(const Value& v, const Sink& sink) {
  const Tensor& t = *v.constant();
  std::size_t seen = 0;
  t.storage()->stream([&](Bytes b) {
    seen += b.size();
    if (seen <= t.byte_size()) sink(b);
  });
  t.storage()->release();
  if (seen != t.byte_size())
    fail(Code::internal, "constant '" + v.name() + "' gave " + std::to_string(seen) + " bytes instead of " +
                             std::to_string(t.byte_size()));
}

void write_weight(const Value& v, WriteBehind& out) {
  Storage& data = *v.constant()->storage();
  if (data.size() <= kStreamed && data.size() >= kMadeInParts)
    if (const PartReader parts = data.parts(); parts.computes) {
      out.write(parts, data.size());
      return data.release();
    }
  if (data.size() <= kStreamed) return out.write(data.take());
  AtomicFile& file = out.finish();
  stream_weight(v, [&](Bytes b) { file.write(b); });
}

void DataFile::add(const Value& weight) {
  const std::uint64_t bytes = weight.constant()->byte_size();
  const std::uint64_t alignment = bytes >= kPagedTensor ? kPage : kCacheLine;
  const std::uint64_t offset = (size_ + alignment - 1) / alignment * alignment;
  offsets_[&weight] = offset;
  order_.push_back(&weight);
  size_ = offset + bytes;
}

std::optional<std::uint64_t> DataFile::offset(const Value& weight) const {
  const auto found = offsets_.find(&weight);
  return found == offsets_.end() ? std::nullopt : std::optional(found->second);
}

void DataFile::write(AtomicFile& file) const {
  static constexpr std::array<std::byte, kPage> kZeros = {};
  file.reserve(size_);
  WriteBehind out(file);
  std::uint64_t at = 0;
  for (const Value* v : order_) {
    out.write(Bytes(kZeros).first(offsets_.at(v) - at));
    write_weight(*v, out);
    at = offsets_.at(v) + v->constant()->byte_size();
  }
  out.finish();
}

}  // namespace t2o::onnx
