#include "support/storage.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "support/parallel.h"

namespace t2o {
namespace {

constexpr std::size_t kStreamedAtOnce = std::size_t{8} << 20;

class HeapStorage final : public Storage {
 public:
  explicit HeapStorage(std::vector<std::byte> b) : bytes_(std::move(b)) {}
  std::size_t size() const override { return bytes_.size(); }
  Bytes bytes() override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class BorrowedStorage final : public Storage {
 public:
  BorrowedStorage(Bytes b, Owner owner) : bytes_(b), owner_(std::move(owner)) {}
  std::size_t size() const override { return bytes_.size(); }
  Bytes bytes() override { return bytes_; }
  void stream(const Sink& sink) override {
    for (std::size_t at = 0; at < bytes_.size(); at += kStreamedAtOnce) {
      const Bytes part = bytes_.subspan(at, std::min(kStreamedAtOnce, bytes_.size() - at));
      sink(part);
      owner_.give_back(part);
    }
  }
  void release() override { owner_.give_back(bytes_); }
  std::string identity() const override { return place_text(bytes_.data()); }
  void trim() override { release(); }
  OwnedBytes take() override {
    return {bytes_, std::shared_ptr<const void>(bytes_.data(),
                                                [b = bytes_, o = owner_](const void*) { o.give_back(b); })};
  }

 private:
  Bytes bytes_;
  Owner owner_;
};

class ComputedStorage : public MadeStorage {
 public:
  ComputedStorage(std::size_t size, std::function<void(std::span<std::byte>)> fill)
      : MadeStorage(size), fill_(std::move(fill)) {}

 private:
  void make(std::span<std::byte> out) override { fill_(out); }

  const std::function<void(std::span<std::byte>)> fill_;
};

// One element, repeated: a few bytes in a file may stand for many gigabytes.
class RepeatedStorage final : public ComputedStorage {
 public:
  RepeatedStorage(std::size_t size, std::vector<std::byte> element)
      : ComputedStorage(size, [element](std::span<std::byte> out) { fill(element, out); }),
        element_(std::move(element)) {}
  void stream(const Sink& sink) override {
    std::vector<std::byte> piece(
        std::min(size(), std::max(kStreamedAtOnce / element_.size(), std::size_t{1}) * element_.size()));
    fill(element_, piece);
    for (std::size_t at = 0; at < size(); at += piece.size())
      sink(Bytes(piece).first(std::min(piece.size(), size() - at)));
  }

 private:
  static void fill(const std::vector<std::byte>& element, std::span<std::byte> out) {
    for (std::size_t i = 0; i < out.size(); i += element.size())
      std::memcpy(out.data() + i, element.data(), element.size());
  }
  const std::vector<std::byte> element_;
};

}  // namespace

std::string Storage::place_text(const void* at) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(at));
}

PartReader Storage::parts() {
  PartReader parts;
  parts.read = [b = bytes()](std::size_t at, std::span<std::byte> out) {
    if (!out.empty()) std::memcpy(out.data(), b.data() + at, out.size());
  };
  return parts;
}

void read_all(const PartReader& parts, std::span<std::byte> out) {
  const std::size_t pieces = (out.size() + parts.piece - 1) / parts.piece;
  in_parallel(static_cast<std::int64_t>(pieces), out.size(), [&](std::int64_t from, std::int64_t to) {
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i)
      parts.read(i * parts.piece,
                 out.subspan(i * parts.piece, std::min(parts.piece, out.size() - i * parts.piece)));
  });
}

StoragePtr heap_storage(std::vector<std::byte> bytes) {
  return std::make_shared<HeapStorage>(std::move(bytes));
}

StoragePtr borrowed_storage(Bytes bytes, Owner owner) {
  return std::make_shared<BorrowedStorage>(bytes, std::move(owner));
}

StoragePtr computed_storage(std::size_t size, std::function<void(std::span<std::byte>)> fill) {
  return std::make_shared<ComputedStorage>(size, std::move(fill));
}

StoragePtr repeated_storage(std::size_t size, std::vector<std::byte> element) {
  return std::make_shared<RepeatedStorage>(size, std::move(element));
}

Bytes MadeStorage::bytes() {
  if (!made_) {
    auto fresh = std::make_unique_for_overwrite<std::byte[]>(size_);
    make({fresh.get(), size_});
    made_ = std::move(fresh);
  }
  return {made_.get(), size_};
}

void MadeStorage::stream(const Sink& sink) {
  sink(bytes());
  release();
}

OwnedBytes MadeStorage::take() {
  const Bytes made = bytes();
  return {made, std::shared_ptr<const std::byte[]>(std::move(made_))};
}

}  // namespace t2o
