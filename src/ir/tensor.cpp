#include "ir/tensor.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "diagnostics.h"
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
  void trim() override { release(); }
  OwnedBytes take() override {
    return {bytes_, std::shared_ptr<const void>(bytes_.data(),
                                                [b = bytes_, o = owner_](const void*) { o.give_back(b); })};
  }

 private:
  Bytes bytes_;
  Owner owner_;
};

class ComputedStorage : public Storage {
 public:
  ComputedStorage(std::size_t size, std::function<void(std::span<std::byte>)> fill)
      : size_(size), fill_(std::move(fill)) {}
  std::size_t size() const override { return size_; }
  Bytes bytes() override {
    if (!cache_) {
      auto fresh = std::make_unique_for_overwrite<std::byte[]>(size_);
      fill_({fresh.get(), size_});
      cache_ = std::move(fresh);
    }
    return {cache_.get(), size_};
  }
  void stream(const Sink& sink) override {
    sink(bytes());
    release();
  }
  void release() override { cache_.reset(); }
  OwnedBytes take() override {
    const Bytes made = bytes();
    return {made, std::shared_ptr<const std::byte[]>(std::move(cache_))};
  }

 private:
  std::size_t size_;
  std::function<void(std::span<std::byte>)> fill_;
  std::unique_ptr<std::byte[]> cache_;
};

// One element, repeated: a few bytes in a file may stand for many gigabytes.
class FilledStorage final : public ComputedStorage {
 public:
  FilledStorage(std::size_t size, std::vector<std::byte> element)
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

std::int64_t element_count(const Ints& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(n, d, &n))
      throw std::length_error("a tensor's dims are negative or overflow");
  return n;
}

Tensor::Tensor(DType dtype, Ints dims, StoragePtr storage)
    : dtype_(dtype), dims_(std::move(dims)), elements_(element_count(dims_)), storage_(std::move(storage)) {
  if (storage_->size() != t2o::byte_size(dtype_, elements_))
    throw std::length_error("a tensor's bytes do not fit its shape");
}

Tensor::Tensor(Ints dims, std::vector<std::string> strings)
    : dtype_(DType::string),
      dims_(std::move(dims)),
      elements_(element_count(dims_)),
      strings_(std::move(strings)) {
  if (static_cast<std::int64_t>(strings_.size()) != elements_)
    throw std::length_error("a tensor's strings do not fit its shape");
}

TensorPtr Tensor::filled(DType dtype, Ints dims, Bytes element) {
  const std::size_t size = t2o::byte_size(dtype, element_count(dims));
  return std::make_shared<Tensor>(
      dtype, std::move(dims),
      std::make_shared<FilledStorage>(size, std::vector<std::byte>(element.begin(), element.end())));
}

namespace {
void check_element(const Tensor& t, std::int64_t i) {
  if (i < 0 || i >= t.elements())
    fail(Code::bad_model,
         "a tensor of " + std::to_string(t.elements()) + " elements has no element " + std::to_string(i));
}

// Lists of numbers are sizes, axes, indices. A file of few bytes can claim a constant of any size.
constexpr std::int64_t kLongestList = std::int64_t{1} << 24;
std::size_t list_size(const Tensor& t) {
  if (t.elements() > kLongestList)
    fail(Code::bad_model, "a constant of " + std::to_string(t.elements()) +
                              " elements stands where a list of numbers is wanted");
  return static_cast<std::size_t>(t.elements());
}
}  // namespace

std::int64_t Tensor::int_at(std::int64_t i) const {
  check_element(*this, i);
  switch (dtype_) {
    case DType::i8:
    case DType::qi8:
      return at<std::int8_t>(i);
    case DType::u8:
    case DType::qu8:
    case DType::boolean:
      return at<std::uint8_t>(i);
    case DType::i16:
    case DType::qi16:
      return at<std::int16_t>(i);
    case DType::u16:
    case DType::qu16:
      return at<std::uint16_t>(i);
    case DType::i32:
    case DType::qi32:
      return at<std::int32_t>(i);
    case DType::u32:
      return at<std::uint32_t>(i);
    case DType::i64:
    case DType::u64:
      return at<std::int64_t>(i);
    case DType::i4:
    case DType::u4: {
      const auto nibble = static_cast<int>((at<std::uint8_t>(i / 2) >> (4 * (i % 2))) & 0xf);
      return dtype_ == DType::i4 && nibble > 7 ? nibble - 16 : nibble;
    }
    default:
      fail(Code::bad_model,
           "whole numbers are wanted, and the tensor is of type " + std::string(name(dtype_)));
  }
}

double Tensor::float_at(std::int64_t i) const {
  check_element(*this, i);
  switch (dtype_) {
    case DType::f32:
      return static_cast<double>(at<float>(i));
    case DType::f64:
      return at<double>(i);
    case DType::f16:
      return static_cast<double>(half_to_float(at<std::uint16_t>(i)));
    case DType::bf16:
      return static_cast<double>(bfloat_to_float(at<std::uint16_t>(i)));
    case DType::u64:
      return static_cast<double>(at<std::uint64_t>(i));
    default:
      return static_cast<double>(int_at(i));
  }
}

Ints Tensor::to_ints() const {
  Ints v(list_size(*this));
  for (std::int64_t i = 0; i < elements_; ++i) v[static_cast<std::size_t>(i)] = int_at(i);
  return v;
}

std::vector<double> Tensor::to_floats() const {
  std::vector<double> v(list_size(*this));
  if (dtype_ == DType::f32) {  // weights
    const std::byte* from = bytes().data();
    for (std::size_t i = 0; i < v.size(); ++i) {
      float f;
      std::memcpy(&f, from + i * sizeof f, sizeof f);
      v[i] = static_cast<double>(f);
    }
    return v;
  }
  for (std::int64_t i = 0; i < elements_; ++i) v[static_cast<std::size_t>(i)] = float_at(i);
  return v;
}

TensorPtr Tensor::with_dims(Ints dims) const {
  if (dtype_ == DType::string) return std::make_shared<Tensor>(std::move(dims), strings_);
  return std::make_shared<Tensor>(dtype_, std::move(dims), storage_);
}

TensorPtr Tensor::with_dtype(DType dtype) const { return std::make_shared<Tensor>(dtype, dims_, storage_); }

bool same_content(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.dtype() == DType::string) return a.strings() == b.strings();
  if (a.storage() == b.storage()) return true;
  const Bytes x = a.bytes(), y = b.bytes();
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

}  // namespace t2o
