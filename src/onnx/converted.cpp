#include "onnx/converted.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace t2o::onnx {
namespace {

template <class T>
void put(std::byte* out, std::int64_t i, T v) {
  std::memcpy(out + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof(T));
}

// Out of range is undefined in ONNX and TensorFlow both; here it saturates, so that it is no undefined
// behaviour of ours.
std::int64_t to_integer(double d) {
  if (std::isnan(d)) return 0;
  if (d >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (d < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(d);
}

void store(std::byte* out, DType t, std::int64_t i, double d, std::int64_t n, bool integral) {
  const std::int64_t v = integral ? n
                         : t == DType::u64 && d >= 0x1p63 && d < 0x1p64
                             ? static_cast<std::int64_t>(static_cast<std::uint64_t>(d))
                             : to_integer(d);
  switch (t) {
    case DType::f32:
      return put(out, i, static_cast<float>(d));
    case DType::f64:
      return put(out, i, d);
    case DType::f16:
      return put(out, i, float_to_half(static_cast<float>(d)));
    case DType::bf16:
      return put(out, i, float_to_bfloat(static_cast<float>(d)));
    case DType::boolean:
      return put(out, i, static_cast<std::uint8_t>(integral ? n != 0 : d != 0));
    case DType::i8:
    case DType::u8:
      return put(out, i, static_cast<std::uint8_t>(v));
    case DType::i16:
    case DType::u16:
      return put(out, i, static_cast<std::uint16_t>(v));
    case DType::i32:
    case DType::u32:
      return put(out, i, static_cast<std::uint32_t>(v));
    default:
      return put(out, i, v);
  }
}

// Elements one by one: integers by way of int64, the rest by way of double.
void convert_elements(const Tensor& in, DType to, std::span<std::byte> out) {
  const bool integral = is_int(in.dtype()) || in.dtype() == DType::boolean;
  for (std::int64_t i = 0; i < in.elements(); ++i)
    store(out.data(), to, i, in.float_at(i), integral ? in.int_at(i) : 0, integral);
}

bool plain(DType t) {
  return t == DType::boolean || ((is_float(t) || is_int(t)) && bit_width(t) >= 8 && t != DType::f8e4m3fn &&
                                 t != DType::f8e4m3fnuz && t != DType::f8e5m2 && t != DType::f8e5m2fnuz);
}

constexpr std::size_t kKept = 4096;  // bytes; what is bigger is computed when it is written

// Converts n elements, for the types that weights have.
using Convert = void (*)(const std::byte* in, std::byte* out, std::size_t n);

template <class From, class To, To (*convert)(From)>
void each(const std::byte* in, std::byte* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    From from;
    std::memcpy(&from, in + i * sizeof(From), sizeof(From));
    const To to = convert(from);
    std::memcpy(out + i * sizeof(To), &to, sizeof(To));
  }
}

Convert quick_conversion(DType from, DType to) {
  if (from == DType::f16 && to == DType::f32) return each<std::uint16_t, float, half_to_float>;
  if (from == DType::bf16 && to == DType::f32) return each<std::uint16_t, float, bfloat_to_float>;
  if (from == DType::f32 && to == DType::f16) return each<float, std::uint16_t, float_to_half>;
  if (from == DType::f32 && to == DType::bf16) return each<float, std::uint16_t, float_to_bfloat>;
  return nullptr;
}

// The converted elements are never in memory as a whole, nor are those that it converts if they are made in
// parts.
class ConvertedStorage final : public MadeStorage {
 public:
  ConvertedStorage(TensorPtr in, DType to, Convert convert)
      : MadeStorage(byte_size(to, in->elements())), in_(std::move(in)), to_(to), convert_(convert) {}

  const TensorPtr& before() const { return in_; }
  DType type() const { return to_; }

  void release() override {
    MadeStorage::release();
    in_->storage()->release();
  }

  std::string identity() const override {
    return "converted " + std::string(name(in_->dtype())) + " " + std::string(name(to_)) + " " +
           in_->storage()->identity();
  }

  PartReader parts() override {
    PartReader parts;
    PartReader narrow = in_->storage()->parts();
    parts.granule = std::max<std::size_t>(1, narrow.granule / from_width()) * to_width();
    parts.piece = std::max<std::size_t>(1, parts.piece / parts.granule) * parts.granule;
    parts.computes = true;
    parts.read = [this, read = std::move(narrow.read)](std::size_t at, std::span<std::byte> out) {
      const std::size_t n = out.size() / to_width();
      std::vector<std::byte> in(n * from_width());
      read(at / to_width() * from_width(), in);
      convert_(in.data(), out.data(), n);
    };
    return parts;
  }

  void stream(const Sink& sink) override {
    const PartReader all = parts();
    std::vector<std::byte> piece(
        std::min(size(), std::max<std::size_t>(1, kStreamed / all.granule) * all.granule));
    for (std::size_t at = 0; at < size(); at += piece.size()) {
      const std::span<std::byte> part = std::span(piece).first(std::min(piece.size(), size() - at));
      all.read(at, part);
      sink(part);
    }
    release();
  }

 private:
  static constexpr std::size_t kStreamed = std::size_t{4} << 20;

  std::size_t from_width() const { return bit_width(in_->dtype()) / 8; }
  std::size_t to_width() const { return bit_width(to_) / 8; }

  void make(std::span<std::byte> out) override {
    read_all(parts(), out);
    in_->storage()->release();
  }

  const TensorPtr in_;
  const DType to_;
  const Convert convert_;
};

}  // namespace

TensorPtr converted(const TensorPtr& t, DType to) {
  if (t->dtype() == to) return t;
  if (!plain(t->dtype()) || !plain(to)) return nullptr;
  const std::size_t size = byte_size(to, t->elements());
  if (size > kKept) {
    if (const Convert quick = quick_conversion(t->dtype(), to))
      return std::make_shared<Tensor>(to, t->dims(), std::make_shared<ConvertedStorage>(t, to, quick));
    return std::make_shared<Tensor>(to, t->dims(), computed_storage(size, [t, to](std::span<std::byte> out) {
                                      convert_elements(*t, to, out);
                                      if (t->byte_size() > kKept) t->storage()->release();
                                    }));
  }
  std::vector<std::byte> bytes(size);
  convert_elements(*t, to, bytes);
  return std::make_shared<Tensor>(to, t->dims(), heap_storage(std::move(bytes)));
}

TensorPtr before_conversion(const TensorPtr& t) {
  const auto* made = dynamic_cast<const ConvertedStorage*>(t->storage().get());
  return made && made->type() == t->dtype() ? made->before()->with_dims(t->dims()) : nullptr;
}

}  // namespace t2o::onnx
