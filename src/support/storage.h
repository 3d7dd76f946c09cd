#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace t2o {

using Bytes = std::span<const std::byte>;
using Sink = std::function<void(Bytes)>;

// Keeps the bytes alive that others view, and gives their memory back where it can (a mapped file can).
class Owner {
 public:
  Owner() = default;
  template <class T> Owner(std::shared_ptr<T> kept) : kept_(std::move(kept)) {
    if constexpr (requires(const T& t, Bytes b) { t.give_back(b); })
      give_back_ = [](const void* t, Bytes b) { static_cast<const T*>(t)->give_back(b); };
  }
  void give_back(Bytes part) const {
    if (give_back_) give_back_(kept_.get(), part);
  }

 private:
  std::shared_ptr<const void> kept_;
  void (*give_back_)(const void*, Bytes) = nullptr;
};

// Bytes that stay valid as long as their owner lives.
struct OwnedBytes {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

// Makes parts of a storage's bytes, in several threads if need be. A part begins at a multiple of the granule and ends at one or
// at the end.
struct PartReader {
  std::size_t granule = 1;
  std::size_t piece = std::size_t{256} << 10;  // the size that is quickest: a multiple of the granule
  using Read = std::function<void(std::size_t at, std::span<std::byte> out)>;
  Read read;
  bool computes = false;  // each part for itself; otherwise the whole is in memory
  // Where that is quicker than a second way through them: reads granules times a factor each, the first one again after the
  // last.
  std::function<Read(const std::vector<double>& factors)> with_factors;
};
void read_all(const PartReader&, std::span<std::byte> out);

// Where the bytes of a tensor live. Weights are big and many: a storage maps or computes them when they are asked for
// and can give the memory back, so that a converter never holds all of them. A storage belongs to one conversion and its thread;
// PartReader::read and what take() gave may go to others.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  virtual ~Storage() = default;
  virtual std::size_t size() const = 0;
  virtual Bytes bytes() = 0;                              // stays valid until release(); may throw ConversionError
  virtual void stream(const Sink& sink) { sink(bytes()); }  // in order, possibly in pieces; gives memory back behind it
  virtual PartReader parts();                             // reads until release()
  virtual void release() {}                               // bytes() makes them again
  virtual void trim() {}                                  // the same where that costs nothing: what is computed stays
  // Two living storages of one size with the same text have the same bytes. Reads no bytes.
  virtual std::string identity() const { return place_text(this); }
  virtual OwnedBytes take() { return {bytes(), shared_from_this()}; }  // for another thread; then as after release()

 protected:
  static std::string place_text(const void*);
};
using StoragePtr = std::shared_ptr<Storage>;

// Bytes that are made when they are asked for, and dropped by release().
class MadeStorage : public Storage {
 public:
  explicit MadeStorage(std::size_t size) : size_(size) {}
  std::size_t size() const final { return size_; }
  Bytes bytes() final;
  void stream(const Sink& sink) override;
  void release() override { made_.reset(); }
  OwnedBytes take() final;

 private:
  virtual void make(std::span<std::byte> out) = 0;

  const std::size_t size_;
  std::unique_ptr<std::byte[]> made_;
};

StoragePtr heap_storage(std::vector<std::byte> bytes);
StoragePtr borrowed_storage(Bytes bytes, Owner owner);                                   // a view that keeps owner alive
StoragePtr computed_storage(std::size_t size, std::function<void(std::span<std::byte>)> fill);
StoragePtr repeated_storage(std::size_t size, std::vector<std::byte> element);

}  // namespace t2o
