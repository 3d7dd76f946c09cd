#include "rewriters/onnx/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "onnx/op_traits.h"

namespace t2o::rewriters {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMost = 1e30;  // far from the largest f32, whatever rounding adds
constexpr int kDeepest = 256;
constexpr std::int64_t kMostElements = std::int64_t{1} << 24, kFew = std::int64_t{1} << 16;

using Names = std::unordered_set<std::string_view>;
using onnx::Trait;

bool can_read(const Value* v) {
  return v && v->constant() && v->dtype() == DType::f32 && v->constant()->elements() <= kMostElements;
}

// Calls f with the magnitude of each element.
template <class F>
bool for_each(const Tensor& t, F&& f) {
  const Bytes bytes = t.bytes();
  bool moderate = true;
  for (std::int64_t i = 0; i < t.elements() && moderate; ++i) {
    float x;
    std::memcpy(&x, bytes.data() + static_cast<std::size_t>(i) * sizeof x, sizeof x);
    moderate = std::abs(static_cast<double>(x)) <= kMost;
    if (moderate) f(i, std::abs(static_cast<double>(x)));
  }
  if (t.elements() > kFew) t.storage()->release();
  return moderate;
}

// What a sum of products with one row or column of the weights may be at most, for factors up to 1.
double largest_sum(const Value* w) {
  if (!can_read(w) || w->constant()->rank() < 2 || w->constant()->elements() == 0) return kInfinity;
  const Tensor& t = *w->constant();
  std::vector<double> of_column(static_cast<std::size_t>(t.dims().back()), 0);
  const std::int64_t row_size = t.elements() / t.dims()[0];
  double most = 0, row = 0;
  const bool moderate = for_each(t, [&](std::int64_t i, double x) {
    of_column[static_cast<std::size_t>(i) % of_column.size()] += x;
    row = i % row_size == 0 ? x : row + x;
    most = std::max(most, row);
  });
  for (const double c : of_column) most = std::max(most, c);
  return moderate ? most : kInfinity;
}

bool has_no(const ir::Node& n, std::initializer_list<std::string_view> attrs) {
  return std::ranges::all_of(attrs, [&](std::string_view a) { return !n.attr(a); });
}

std::string_view mode_of(const ir::Node& n) {
  const auto* mode = n.attr_if<std::string>("mode");
  return mode ? std::string_view(*mode) : std::string_view();
}

}  // namespace

double largest(const Value* v) {
  if (!can_read(v)) return kInfinity;
  double most = 0;
  return for_each(*v->constant(), [&](std::int64_t, double x) { most = std::max(most, x); }) ? most
                                                                                             : kInfinity;
}

bool Bounds::is_finite(const Value* v) { return of(v) <= kMost; }

double Bounds::find(const Value* v, int depth) {
  if (!v || depth > kDeepest) return kInfinity;
  if (is_int(v->dtype()) || v->dtype() == DType::boolean) return 0x1p64;
  if (v->dtype() != DType::f32) return kInfinity;
  const auto [it, is_new] = known_.try_emplace(v, kInfinity);
  if (!is_new) return it->second;
  const double found = v->constant()   ? largest(v)
                       : v->producer() ? of_node(*v->producer(), v->index(), depth + 1)
                                       : kInfinity;
  return known_[v] = found <= kMost ? found : kInfinity;
}

double Bounds::of_node(const ir::Node& n, std::size_t output, int depth) {
  static const Names kSums = {"Add", "Sub", "Concat", "Max", "Min"};
  const std::string_view op = n.op();
  if (op == "Resize" && (mode_of(n) == "cubic" || n.attr("extrapolation_value"))) return kInfinity;
  if (op.ends_with("Pool") && n.attr("ceil_mode")) return kInfinity;  // a window of padding alone
  if (op == "Clip") {                                                 // to finite bounds
    for (const std::size_t i : {1U, 2U})
      if (n.input(i) && !(largest(n.input(i)) <= kMost)) return kInfinity;
    return find(n.input(0), depth) + (n.input(1) ? largest(n.input(1)) : 0) +
           (n.input(2) ? largest(n.input(2)) : 0);
  }
  if (onnx::has(op, Trait::no_larger) || op == "Cast" || op == "Resize") return find(n.input(0), depth);
  if (onnx::has(op, Trait::at_most_one)) return find(n.input(0), depth) <= kMost ? 1 : kInfinity;
  if (kSums.contains(op)) return sum_of(n, depth);
  if (op == "Mul") return find(n.input(0), depth) * find(n.input(1), depth);
  if (op == "Where") return std::max(find(n.input(1), depth), find(n.input(2), depth));
  if (contains({"Conv", "MatMul", "Gemm"}, op)) return of_product(n, depth);
  if (op == "BatchNormalization" || op == "LayerNormalization") return of_norm(n, depth);
  if (contains({"LSTM", "GRU", "RNN"}, op)) return of_layer(n, output, depth);
  return kInfinity;
}

double Bounds::sum_of(const ir::Node& n, int depth) {
  double sum = 0;
  for (const Value* v : n.inputs()) {
    sum += find(v, depth);
    if (!(sum <= kMost)) return kInfinity;
  }
  return sum;
}

// What comes in is asked for first: behind an input of floats no weights are read.
double Bounds::of_product(const ir::Node& n, int depth) {
  if (n.op() == "Gemm" && !has_no(n, {"alpha", "beta", "transA"})) return kInfinity;
  const double x = find(n.input(0), depth);
  if (!(x <= kMost)) return kInfinity;
  const double weights = largest_sum(n.input(1));
  const double bias = n.input_count() > 2 && n.input(2) ? largest(n.input(2)) : 0;
  return x * weights + bias;
}

double Bounds::of_norm(const ir::Node& n, int depth) {
  const auto* epsilon = n.attr_if<float>("epsilon");
  const double least = epsilon ? static_cast<double>(*epsilon) : 1e-5, x = find(n.input(0), depth);
  if (n.outputs().size() != 1 || !(least > 0) || !(x <= 1e15)) return kInfinity;  // whose square is finite
  const double scale = largest(n.input(1)), offset = n.input(2) ? largest(n.input(2)) : 0;
  if (n.op() == "LayerNormalization") return 2 * x / std::sqrt(least) * scale + offset;
  if (!can_read(n.input(4)) || n.attr("training_mode")) return kInfinity;
  for (const double v : n.input(4)->constant()->to_floats())
    if (!(v >= 0)) return kInfinity;
  return (x + largest(n.input(3))) / std::sqrt(least) * scale + offset;
}

// The outputs of cells with the usual activations are up to 1, or the state that they began with.
double Bounds::of_layer(const ir::Node& n, std::size_t output, int depth) {
  if (output > 1 || !has_no(n, {"activations", "activation_alpha", "activation_beta", "clip"}))
    return kInfinity;
  if (n.op() == "LSTM" && n.input_count() > 7 && n.input(7)) return kInfinity;  // peepholes
  const double x = find(n.input(0), depth);
  double begin = 0;
  for (const std::size_t i : {5U, 6U})
    if (i < n.input_count() && n.input(i)) begin = std::max(begin, find(n.input(i), depth));
  if (!(x <= kMost) || !(begin <= kMost)) return kInfinity;
  // What goes into a gate, whose terms must not be infinities of both signs.
  const double bias = n.input(3) ? 2 * largest(n.input(3)) : 0;
  const double gate = x * largest_sum(n.input(1)) + (begin + 1) * largest_sum(n.input(2)) + bias;
  return gate <= kMost ? begin + 1 : kInfinity;
}

}  // namespace t2o::rewriters
