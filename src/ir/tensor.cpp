#include "ir/tensor.h"

#include <stdexcept>

#include "diagnostics.h"

namespace t2o {
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
      dtype, std::move(dims), repeated_storage(size, std::vector<std::byte>(element.begin(), element.end())));
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
                              " elements is given where a list of numbers is needed");
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
      fail(Code::bad_model, "integers are needed, and the tensor is of type " + std::string(name(dtype_)));
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
  for (std::int64_t i = 0; i < elements_; ++i) nth(v, i) = int_at(i);
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
  for (std::int64_t i = 0; i < elements_; ++i) nth(v, i) = float_at(i);
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
