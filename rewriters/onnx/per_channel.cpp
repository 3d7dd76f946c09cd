#include "rewriters/onnx/per_channel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace t2o::rewriters {
namespace {

// Rows of `row` elements from the first_row-th on, in place.
template <class T>
void scale(std::span<std::byte> rows, std::size_t row, std::size_t first_row, const Doubles& factors) {
  for (std::size_t at = 0, r = first_row; at < rows.size(); ++r) {
    const T factor = static_cast<T>(factors[r % factors.size()]);
    for (const std::size_t end = at + row * sizeof(T); at < end; at += sizeof(T)) {
      T v;
      std::memcpy(&v, rows.data() + at, sizeof(T));
      v *= factor;
      std::memcpy(rows.data() + at, &v, sizeof(T));
    }
  }
}

// Of two lists that repeat.
Doubles products(const Doubles& a, const Doubles& b) {
  Doubles all(std::lcm(a.size(), b.size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = a[i % a.size()] * b[i % b.size()];
  return all;
}

// Rows of `row` bytes of another tensor, each with a factor of its own.
class ScaledStorage final : public MadeStorage {
 public:
  ScaledStorage(TensorPtr in, std::size_t row, Doubles factors)
      : MadeStorage(in->byte_size()), in_(std::move(in)), row_(row), factors_(std::move(factors)) {}

  void release() override {
    MadeStorage::release();
    in_->storage()->release();
  }

  std::string identity() const override {
    std::string text = "scaled " + std::string(name(in_->dtype())) + " " + std::to_string(row_);
    for (const double f : factors_) text += " " + std::to_string(std::bit_cast<std::uint64_t>(f));
    return text + " " + in_->storage()->identity();
  }

  PartReader parts() override {
    PartReader parts = in_->storage()->parts();
    if (parts.with_factors && parts.granule == row_) {
      const auto of_input = parts.with_factors;
      parts.read = of_input(factors_);
      parts.with_factors = [this, of_input](const Doubles& more) {
        return of_input(products(factors_, more));
      };
      return parts;
    }
    parts.with_factors = nullptr;
    parts.granule = std::min(std::lcm(parts.granule, row_), std::max<std::size_t>(size(), 1));
    parts.piece = (parts.piece + parts.granule - 1) / parts.granule * parts.granule;
    parts.read = [this, read = std::move(parts.read)](std::size_t at, std::span<std::byte> out) {
      read(at, out);
      if (in_->dtype() == DType::f64)
        scale<double>(out, row_ / sizeof(double), at / row_, factors_);
      else
        scale<float>(out, row_ / sizeof(float), at / row_, factors_);
    };
    parts.computes = true;
    return parts;
  }

 private:
  void make(std::span<std::byte> out) override {
    read_all(parts(), out);
    in_->storage()->release();
  }

  const TensorPtr in_;
  const std::size_t row_;
  const Doubles factors_;
};

}  // namespace

std::optional<Doubles> per_channel(const Value* v, int rank, int axis, std::int64_t size) {
  if (!v->constant() || !is_known(size) || !can_scale(v->dtype())) return std::nullopt;
  const Tensor& t = *v->constant();
  if (t.rank() > rank || (t.elements() != 1 && t.elements() != size)) return std::nullopt;
  for (int i = 0; i < t.rank(); ++i)
    if (nth(t.dims(), i) != 1 && i + rank - t.rank() != axis) return std::nullopt;
  if (t.elements() == 1) return Doubles(static_cast<std::size_t>(size), t.float_at(0));
  return t.to_floats();
}

namespace {

std::optional<Affine> normalization(const ir::Node& n, std::int64_t channels) {
  if (n.outputs().size() != 1 || n.attr("training_mode")) return std::nullopt;
  std::array<Doubles, 4> p;  // scale, offset, mean, variance
  for (std::size_t i = 0; i < 4; ++i) {
    auto c = per_channel(n.input(i + 1), 1, 0, channels);
    if (!c) return std::nullopt;
    p[i] = std::move(*c);
  }
  const auto* epsilon = n.attr_if<float>("epsilon");
  Affine a;
  for (std::size_t i = 0; i < p[0].size(); ++i) {
    a.factor.push_back(p[0][i] / std::sqrt(p[3][i] + static_cast<double>(epsilon ? *epsilon : 1e-5F)));
    a.offset.push_back(p[1][i] - p[2][i] * a.factor[i]);
  }
  return a;
}

}  // namespace

std::optional<Affine> affine_of(const ir::Node& n, const Value* y, int rank, int axis,
                                std::int64_t channels) {
  if (n.op() == "BatchNormalization")
    return axis == 1 && n.input(0) == y ? normalization(n, channels) : std::nullopt;
  if (!contains({"Mul", "Add", "Sub", "Div"}, n.op())) return std::nullopt;
  const bool second = n.input(1) == y;
  if (n.input(0) == n.input(1) || (second && n.op() == "Div")) return std::nullopt;
  const Value* constant = n.input(second ? 0 : 1);
  auto c = per_channel(constant, rank, axis, channels);
  if (!c || !merge(y->shape(), n.output()->shape())) return std::nullopt;
  if (n.op() == "Mul") return Affine{std::move(*c), {}};
  if (n.op() == "Add") return Affine{{}, std::move(*c), constant};
  if (n.op() == "Sub" && second) return Affine{Doubles(c->size(), -1), std::move(*c)};
  const bool is_division = n.op() == "Div";
  for (double& v : *c) v = is_division ? 1 / v : -v;
  return is_division ? Affine{std::move(*c), {}} : Affine{{}, std::move(*c)};
}

TensorPtr channel_tensor(DType t, const Doubles& values) {
  const Ints dims{static_cast<std::int64_t>(values.size())};
  if (t == DType::f64) return Tensor::of<double>(dims, values);
  return Tensor::of<float>(dims, std::vector<float>(values.begin(), values.end()));
}

TensorPtr scaled(const TensorPtr& w, int axis, Doubles factors) {
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < w->dims().size(); ++i) inner *= w->dims()[i];
  const std::size_t row = static_cast<std::size_t>(inner) * byte_size(w->dtype(), 1);
  if (w->byte_size() == 0) return w;
  return std::make_shared<Tensor>(w->dtype(), w->dims(),
                                  std::make_shared<ScaledStorage>(w, row, std::move(factors)));
}

TensorPtr ScaledWeights::get(const TensorPtr& w, int axis, const Doubles& factors) {
  const std::string bits(reinterpret_cast<const char*>(factors.data()),
                         factors.size() * sizeof(double));  // a NaN has no order
  TensorPtr& made = made_[{w->storage().get(), w->dims(), axis, bits}];
  if (!made) made = scaled(w, axis, factors);
  return made;
}

bool is_moderate(const Doubles& values) {
  return std::ranges::all_of(values, [](double v) { return std::abs(v) <= 1e15; });
}

bool can_scale(DType t) { return t == DType::f32 || t == DType::f64; }

}  // namespace t2o::rewriters
