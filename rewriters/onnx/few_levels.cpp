#include "rewriters/onnx/few_levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

namespace t2o::rewriters {
namespace {

constexpr std::size_t kMostMagnitudes = 16;
constexpr double kMostWhole = 255;  // whole numbers times a power of two: their sums are exact
constexpr int kMostMultiple = 7;    // whole numbers times another constant: few of 3 bits and a sign
constexpr double kSame = 1e-6;      // relative: what rounding leaves of one number times several factors
constexpr std::size_t kSample = 1 << 14, kSmall = 1 << 16;  // bytes

// The power of two that the last bit of a number stands for.
double last_bit(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  auto bits = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  int zeros = 0;
  for (; (bits & 1) == 0; bits >>= 1) ++zeros;
  return std::ldexp(1.0, exponent - 53 + zeros);
}

// The magnitudes of the numbers of a channel, without 0.
class Magnitudes {
 public:
  bool add(double x) {  // false: these are too many
    const double m = std::abs(x);
    if (m == 0) return true;
    if (!std::isfinite(m)) return false;
    ++numbers_;
    for (std::size_t i = 0; i < count_; ++i)
      if (std::abs(all_[i] - m) <= kSame * m) return true;
    if (count_ == all_.size()) return false;
    all_[count_++] = m;
    return true;
  }

  std::int64_t numbers() const { return numbers_; }

  bool are_multiples() const {
    if (count_ <= 1) return true;
    const double most = *std::max_element(all_.begin(), all_.begin() + count_);
    double unit = most;
    for (std::size_t i = 0; i < count_; ++i) unit = std::min(unit, last_bit(all_[i]));
    if (most / unit <= kMostWhole) return true;
    for (int k = 2; k <= kMostMultiple; ++k)
      if (std::all_of(all_.begin(), all_.begin() + count_, [&](double m) {
            const double level = m / most * k;
            return level > 0.5 && std::abs(level - std::round(level)) <= k * kSame;
          }))
        return true;
    return false;
  }

 private:
  std::array<double, kMostMagnitudes> all_{};
  std::size_t count_ = 0;
  std::int64_t numbers_ = 0;
};

double number_at(DType t, const std::byte* at) {
  if (t == DType::f64) {
    double x = 0;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  float x = 0;
  std::memcpy(&x, at, sizeof x);
  return static_cast<double>(x);
}

using TakeNumber = std::function<bool(std::int64_t i, double x)>;

bool take_all(DType t, Bytes bytes, const TakeNumber& take) {
  const std::size_t width = byte_size(t, 1);
  for (std::size_t i = 0; (i + 1) * width <= bytes.size(); ++i)
    if (!take(static_cast<std::int64_t>(i), number_at(t, bytes.data() + i * width))) return false;
  return true;
}

// The first numbers alone, of weights that are not in memory yet.
bool take_sample(const Tensor& t, const TakeNumber& take) {
  const PartReader parts = t.storage()->parts();
  const std::size_t size = std::max(kSample / parts.granule, std::size_t{1}) * parts.granule;
  std::vector<std::byte> bytes(std::min(size, t.byte_size()));
  parts.read(0, bytes);
  return take_all(t.dtype(), bytes, take);
}

// Channel 0 is all there is where the axis is negative.
bool has_few(const Tensor& t, int axis, std::int64_t least) {
  if ((t.dtype() != DType::f32 && t.dtype() != DType::f64) || t.elements() == 0) return false;
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis + 1); axis >= 0 && i < t.dims().size(); ++i)
    inner *= t.dims()[i];
  const std::int64_t count = axis < 0 ? 1 : nth(t.dims(), axis);
  std::vector<Magnitudes> channels(static_cast<std::size_t>(count));
  const TakeNumber take = [&](std::int64_t i, double x) { return nth(channels, i / inner % count).add(x); };
  if (t.byte_size() > kSmall) {
    if (!take_sample(t, take)) return false;
    channels.assign(channels.size(), {});
  }
  const bool few = take_all(t.dtype(), t.bytes(), take);
  if (t.byte_size() > kSmall) t.storage()->release();
  return few && std::ranges::all_of(channels, [](const Magnitudes& m) { return m.are_multiples(); }) &&
         std::ranges::any_of(channels, [&](const Magnitudes& m) { return m.numbers() >= least; });
}

}  // namespace

bool has_few_levels(const Tensor& weights, int axis) { return has_few(weights, axis, 2); }

bool has_few_numbers(const Tensor& t) { return has_few(t, -1, 0); }

}  // namespace t2o::rewriters
