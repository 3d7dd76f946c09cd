#pragma once
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/shape.h"

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
// and can give the memory back, so that a converter never holds all of them.
class Storage : public std::enable_shared_from_this<Storage> {
 public:
  virtual ~Storage() = default;
  virtual std::size_t size() const = 0;
  virtual Bytes bytes() = 0;                              // stays valid until release(); may throw ConversionError
  virtual void stream(const Sink& sink) { sink(bytes()); }  // in order, possibly in pieces; gives memory back behind it
  virtual PartReader parts();                             // reads until release()
  virtual void release() {}                               // bytes() makes them again
  virtual void trim() {}                                  // the same where that costs nothing: what is computed stays
  virtual OwnedBytes take() { return {bytes(), shared_from_this()}; }  // for another thread; then as after release()
};
using StoragePtr = std::shared_ptr<Storage>;

StoragePtr heap_storage(std::vector<std::byte> bytes);
StoragePtr borrowed_storage(Bytes bytes, Owner owner);                                   // a view that keeps owner alive
StoragePtr computed_storage(std::size_t size, std::function<void(std::span<std::byte>)> fill);  // on demand, dropped by release()

class Tensor;
using TensorPtr = std::shared_ptr<const Tensor>;

class Tensor {  // immutable; little-endian, row-major, 4- and 2-bit types packed low bits first
 public:
  Tensor(DType dtype, Ints dims, StoragePtr storage);
  Tensor(Ints dims, std::vector<std::string> strings);  // dtype string

  template <class T> static TensorPtr of(Ints dims, const std::vector<T>& values);  // T: as in dtype_of
  template <class T> static TensorPtr scalar(T value) { return of<T>({}, std::vector<T>{value}); }
  static TensorPtr filled(DType dtype, Ints dims, Bytes element);                    // one element, repeated

  DType dtype() const { return dtype_; }
  const Ints& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  Shape shape() const { return Shape(dims_); }
  std::int64_t elements() const { return elements_; }
  std::size_t byte_size() const { return storage_ ? storage_->size() : 0; }
  const StoragePtr& storage() const { return storage_; }
  Bytes bytes() const { return storage_->bytes(); }
  const std::vector<std::string>& strings() const { return strings_; }

  template <class T> const T* data() const { return reinterpret_cast<const T*>(bytes().data()); }  // may be unaligned: prefer at()
  template <class T> T at(std::int64_t i) const {                                                   // T is the storage type
    T v;
    std::memcpy(&v, bytes().data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    return v;
  }
  std::int64_t int_at(std::int64_t i) const;   // any integer type or bool; u64 wraps
  double float_at(std::int64_t i) const;       // any real number type
  Ints to_ints() const;                        // all elements by int_at
  std::vector<double> to_floats() const;

  TensorPtr with_dims(Ints dims) const;        // the same bytes under another shape
  TensorPtr with_dtype(DType dtype) const;     // the same bytes under another type of the same width

 private:
  DType dtype_;
  Ints dims_;
  std::int64_t elements_;
  StoragePtr storage_;
  std::vector<std::string> strings_;
};

std::int64_t element_count(const Ints& dims);
bool same_content(const Tensor& a, const Tensor& b);  // dtype, dims and bytes

template <class T>
TensorPtr Tensor::of(Ints dims, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < values.size(); ++i) bytes[i] = std::byte{values[i]};
  } else if (!values.empty()) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  return std::make_shared<Tensor>(dtype_of<T>(), std::move(dims), heap_storage(std::move(bytes)));
}

}  // namespace t2o
