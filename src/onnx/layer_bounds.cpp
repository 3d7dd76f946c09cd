#include "onnx/layer_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "onnx/facts.h"

namespace t2o::onnx {
namespace {

constexpr double kInfinity = Numbers::kInfinity;
constexpr double kMost = 1e30;  // far from the largest f32, whatever rounding adds
constexpr double kMostSquared = 1e15;
constexpr std::int64_t kMostWeights = std::int64_t{1} << 24, kMostOthers = 1 << 20, kFew = 1 << 16;

bool are_weights(const Value* v) {
  return v && v->constant() && v->dtype() == DType::f32 && can_read(*v->constant(), true);
}

// Calls f with the place of each element and the element.
template <class F>
void for_each_element(const Tensor& t, F&& f) {
  if (t.dtype() == DType::f32) {
    const Bytes bytes = t.bytes();
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      float x;
      std::memcpy(&x, bytes.data() + static_cast<std::size_t>(i) * sizeof x, sizeof x);
      f(i, static_cast<double>(x));
    }
  } else {
    for (std::int64_t i = 0; i < t.elements(); ++i) f(i, t.float_at(i));
  }
  if (t.elements() > kFew) t.storage()->release();
}

// What a sum of products with one row or column of the weights may be at most, for factors up to 1.
double largest_sum(const Tensor& t) {
  if (t.rank() < 2 || t.elements() == 0) return kInfinity;
  std::vector<double> of_column(static_cast<std::size_t>(t.dims().back()), 0);
  const std::int64_t row_size = t.elements() / t.dims()[0];
  double most = 0, row = 0;
  bool moderate = true;
  for_each_element(t, [&](std::int64_t i, double x) {
    moderate = moderate && std::abs(x) <= kMost;
    of_column[static_cast<std::size_t>(i) % of_column.size()] += std::abs(x);
    row = i % row_size == 0 ? std::abs(x) : row + std::abs(x);
    most = std::max(most, row);
  });
  for (const double c : of_column) most = std::max(most, c);
  return moderate ? most : kInfinity;
}

class Layer {
 public:
  Layer(const ir::Node& n, const AskNumbers& ask, bool reads_weights)
      : n_(&n), ask_(&ask), reads_weights_(reads_weights) {}

  double product() const {
    if (n_->op() == "Gemm" && !has_no({"alpha", "beta", "transA"})) return kInfinity;
    const double x = input(0);
    if (!(x <= kMost)) return kInfinity;
    return 2 * x * sums(1) + offset(2);  // sums are rounded
  }

  double norm() const {
    const double least = n_->attr_or<float>("epsilon", 1e-5F), x = input(0);
    if (n_->outputs().size() != 1 || !(least > 0) || !(x <= kMostSquared)) return kInfinity;
    const double room = 1.001, scale = onnx::largest(n_->input(1)) * room;
    if (n_->op() == "LayerNormalization") return 2 * x / std::sqrt(least) * scale + offset(2);
    if (!are_weights(n_->input(4)) || n_->attr("training_mode")) return kInfinity;
    if (!(of_constant(*n_->input(4)->constant()).low >= 0)) return kInfinity;
    return (x + onnx::largest(n_->input(3))) / std::sqrt(least) * scale + offset(2);
  }

  // The outputs of cells with the usual activations are up to 1, or the state that they began with.
  double recurrent(std::size_t output) const {
    if (output > 1 || !has_no({"activations", "activation_alpha", "activation_beta", "clip"}))
      return kInfinity;
    if (n_->op() == "LSTM" && n_->input(7)) return kInfinity;  // peepholes
    const double x = input(0), begin = std::max(n_->input(5) ? input(5) : 0, n_->input(6) ? input(6) : 0);
    if (!(x <= kMost) || !(begin <= kMost)) return kInfinity;
    // What goes into a gate, whose terms must not be infinities of both signs.
    const double gate = x * sums(1) + (begin + 1) * sums(2) + 2 * offset(3);
    constexpr double kRoom = 1e-3;  // for rounding
    return gate <= kMost ? begin + 1 + kRoom : kInfinity;
  }

 private:
  double input(std::size_t i) const {
    const Numbers x = (*ask_)(n_->input(i));
    return x.none() || x.nan ? kInfinity : x.magnitude();
  }

  double sums(std::size_t i) const {
    const Value* w = n_->input(i);
    if (w->constant())
      return are_weights(w) && can_read(*w->constant(), reads_weights_) ? largest_sum(*w->constant())
                                                                        : kInfinity;
    const Shape& x = n_->input(0)->shape();
    const bool counts = n_->op() == "MatMul" && x.ranked() && x.rank() > 0 && x[-1] > 0;
    return counts ? static_cast<double>(x[-1]) * input(i) : kInfinity;
  }

  double offset(std::size_t i) const { return n_->input(i) ? onnx::largest(n_->input(i)) : 0; }

  bool has_no(std::initializer_list<std::string_view> attrs) const {
    return std::ranges::all_of(attrs, [&](std::string_view a) { return !n_->attr(a); });
  }

  const ir::Node* n_;
  const AskNumbers* ask_;
  bool reads_weights_;
};

}  // namespace

bool can_read(const Tensor& t, bool reads_weights) {
  const std::int64_t most = t.dtype() == DType::f32 ? kMostWeights : kMostOthers;
  return t.elements() <= (reads_weights ? most : kFew);
}

Numbers of_constant(const Tensor& t) {
  Numbers all = kNoNumber;
  for_each_element(t, [&](std::int64_t, double x) {
    if (x < all.low) all.low = x;
    if (x > all.high) all.high = x;
    if (std::isnan(x)) all.nan = true;
    if (all.whole) all.whole = std::isnan(x) || x == std::trunc(x);
  });
  return all;
}

double largest(const Value* weights) {
  if (!are_weights(weights)) return kInfinity;
  double most = 0;
  for_each_element(*weights->constant(), [&](std::int64_t, double x) {
    if (!(std::abs(x) <= most)) most = std::isnan(x) ? kInfinity : std::abs(x);
  });
  return most <= kMost ? most : kInfinity;
}

double largest_of_layer(const ir::Node& n, std::size_t output, const AskNumbers& ask, bool reads_weights) {
  const Layer layer(n, ask, reads_weights);
  const double most = contains({"Conv", "MatMul", "Gemm"}, n.op()) ? layer.product()
                      : contains({"BatchNormalization", "LayerNormalization"}, n.op())
                          ? layer.norm()
                          : layer.recurrent(output);
  return most <= kMost ? most : kInfinity;
}

}  // namespace t2o::onnx
