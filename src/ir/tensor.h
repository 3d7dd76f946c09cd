#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ir/dtype.h"
#include "ir/shape.h"
#include "support/storage.h"

namespace t2o {

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
