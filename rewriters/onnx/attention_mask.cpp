#include "rewriters/onnx/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace t2o::rewriters {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// ONNX Runtime takes a row of which no element is above about this for hidden, and gives zeros; the softmax of such a row is even.
constexpr double kLowest = 1e38;

std::optional<double> number(const Value* v) {
  const TensorPtr& t = v->constant();
  return t && t->elements() == 1 && is_float(t->dtype()) ? std::optional(t->float_at(0)) : std::nullopt;
}

double largest_element(const Tensor& t) {
  double most = 0;
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const double x = std::abs(t.float_at(i));
    if (std::isnan(x)) return kUnbounded;
    most = std::max(most, x);
  }
  return most;
}

bool moves_elements(std::string_view op) {
  constexpr std::string_view ops[] = {"Reshape", "Unsqueeze", "Squeeze", "Expand", "Tile", "Transpose", "Identity", "Slice", "Gather", "Cast", "Neg", "Abs", "Trilu", "Flatten"};
  return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

// No element's absolute value is above this.
double magnitude(const Value* v, int depth = 16) {
  if (const TensorPtr& t = v->constant()) return is_float(t->dtype()) && t->elements() <= (1 << 20) ? largest_element(*t) : is_float(t->dtype()) ? kUnbounded : 1e19;
  if (v->dtype() == DType::boolean) return 1;
  if (is_int(v->dtype())) return v->dtype() == DType::i64 || v->dtype() == DType::u64 ? 1.9e19 : 4.3e9;
  const ir::Node* n = v->producer();
  if (!n || depth == 0) return kUnbounded;
  const auto of = [&](std::size_t i) { return magnitude(n->input(i), depth - 1); };
  if (moves_elements(n->op())) return of(0);
  if (n->op() == "Where") return std::max(of(1), of(2));
  if (n->op() == "Add" || n->op() == "Sub") return of(0) + of(1);
  if (n->op() == "Mul") return of(0) * of(1);
  return kUnbounded;
}

// A constant that leaves something to be seen in each row.
bool hides_no_row(const Value* condition, bool hides) {
  const TensorPtr& t = condition->constant();
  if (!t || t->rank() == 0 || t->elements() == 0) return false;
  const std::int64_t columns = t->dims().back();
  for (std::int64_t row = 0; row < t->elements() / columns; ++row) {
    bool seen = false;
    for (std::int64_t i = 0; i < columns && !seen; ++i) seen = (t->bytes()[static_cast<std::size_t>(row * columns + i)] != std::byte{0}) != hides;
    if (!seen) return false;
  }
  return true;
}

bool dim_fits(Dim mask, Dim scores, bool batch) {
  if (mask == 1 || mask == scores) return true;
  if (is_known(mask)) return !is_known(scores) && !batch;
  return scores != 1;
}

}  // namespace

bool AttentionMask::take(const ir::Node& n, std::size_t scores) {
  if (n.op() == "Add" || (n.op() == "Sub" && scores == 0)) {
    Value* other = n.input(1 - scores);
    const auto shift = number(other);
    if (shift && std::isfinite(*shift)) return true;  // softmax does not see it
    terms_.push_back({.value = other, .negated = n.op() == "Sub"});
    return true;
  }
  if (n.op() != "Where" || scores == 0) return false;
  const auto hidden = number(n.input(3 - scores));
  const bool hides = scores == 2;
  // The weight of what is hidden has to be 0, and a row of which all is hidden even.
  if (!hidden || *hidden > -1e4 || (std::isinf(*hidden) && !hides_no_row(n.input(0), hides))) return false;
  terms_.push_back({.value = n.input(0), .is_condition = true, .hides = hides, .hidden = *hidden});
  return true;
}

bool AttentionMask::fits(const Shape& scores) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& t) {
    const Shape& s = t.value->shape();
    if (!s.ranked() || s.rank() > 4 || (t.is_condition && terms_.size() > 1 && t.hidden > -1e9)) return false;
    for (int i = 1; i <= s.rank(); ++i)
      if (!dim_fits(s[-i], scores[-i], i > 2)) return false;
    return true;
  });
}

// x or c, where a condition says so, is x + 0 or x + c: for a c that x is lost in.
Value* AttentionMask::term(Emitter& e, const Term& t, DType type) const {
  if (!t.is_condition) {
    Value* v = t.negated ? e.neg(t.value) : t.value;
    return magnitude(t.value) < kLowest ? v : e.maximum(v, e.scalar_like(v, -kLowest));
  }
  Value* seen = e.scalar(type, 0);
  Value* hidden = e.scalar(type, terms_.size() == 1 ? -1e30 : std::max(t.hidden, -1e30));
  return t.hides ? e.where(t.value, hidden, seen) : e.where(t.value, seen, hidden);
}

Value* AttentionMask::emit(Emitter& e, const Shape& scores, const Values& of, int axis) const {
  Value* sum = nullptr;
  for (const Term& t : terms_) {
    Value* v = term(e, t, of[0]->dtype());
    sum = sum ? e.add(sum, v) : v;
  }
  const Shape& s = sum->shape();
  const auto is = [&](int i) { return s[i] == scores[i] && s[i] != kUnknownDim; };
  if (s.rank() >= 2 && is(-2) && is(-1)) return sum;
  const auto size = [&](std::size_t i) {
    const Dim d = scores[static_cast<int>(i) + 2];
    return is_known(d) ? e.ints({d}) : e.dims(of[i], axis, axis + 1);
  };
  Value* rows = size(0);
  Value* columns = size(1);
  return e.expand(sum, e.concat({rows, columns}, 0));
}

}  // namespace t2o::rewriters
