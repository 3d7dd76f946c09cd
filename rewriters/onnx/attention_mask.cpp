#include "rewriters/onnx/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "ir/findings.h"
#include "onnx/op_traits.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/table.h"

namespace t2o::rewriters {
namespace {

using onnx::magnitude_of;

constexpr double kLowest = 1e38;  // numbers below its negative are held at that for a target that needs it
constexpr double kHides = -1e4;   // what is hidden by less may still be seen
constexpr double kLoses = -1e30;  // scores are lost in such a number

// A 0 stays one, and what hides does so behind it.
bool keeps_magnitudes(std::string_view op) {
  return onnx::has(op, onnx::Trait::moves) || contains({"Cast", "Neg", "Abs", "Trilu"}, op);
}

// What is said of the values that a mask is made of.
class MaskFacts {
 public:
  bool has_sum_of_masks(const Value* v) { return sums_.of(v, find_sum_of_masks); }

  // A sum of two masks, either of which hides. What both hide has more subtracted, -inf where they are
  // lowest. The sum cannot be clipped at a number: in a row that is hidden entirely, the softmax sees what
  // only one mask hides.
  static bool is_sum_of_masks(const ir::Node& n) { return n.op() == "Add" && both_hide(n); }

  // Each mask of a sum can be held at its share.
  bool can_be_held(const Value* v, int depth = 4) {
    const ir::Node* n = v->producer();
    if (depth == 0 || !n || !is_sum_of_masks(*n)) return !has_sum_of_masks(v);
    return can_be_held(n->input(0), depth - 1) && can_be_held(n->input(1), depth - 1);
  }

 private:
  static bool both_hide(const ir::Node& n) {
    return magnitude_of(n.input(0)) >= kLowest / 2 && magnitude_of(n.input(1)) >= kLowest / 2;
  }

  static bool find_sum_of_masks(const Value* v, const ir::Findings<bool>::Ask& ask) {
    const ir::Node* n = v->producer();
    if (!n || magnitude_of(v) < kLowest) return false;
    const auto of = [&](std::size_t i) { return ask(n->input(i)); };
    if (keeps_magnitudes(n->op())) return of(0);
    if (n->op() == "Where") return of(1) || of(2);
    if (n->op() == "Add" || n->op() == "Sub") return both_hide(*n) || of(0) || of(1);
    return n->op() == "Mul" && (of(0) || of(1));
  }

  ir::Findings<bool> sums_{false};
};

// Of what can_be_held.
Value* held(Emitter& e, MaskFacts& facts, Value* v, double lowest) {
  const ir::Node* n = v->producer();
  if (!n || !facts.is_sum_of_masks(*n)) {
    const bool is_held = magnitude_of(v) >= lowest && runtime::needs(e.target(), "held_masks");
    return is_held ? e.maximum(v, e.scalar_like(v, -lowest)) : v;
  }
  Value* a = held(e, facts, n->input(0), lowest / 2);
  Value* b = held(e, facts, n->input(1), lowest / 2);
  return e.add(a, b);
}

// A constant that leaves something to be seen in each row.
bool hides_no_row(const Value* condition, bool hides) {
  const TensorPtr& t = condition->constant();
  if (!t || t->rank() == 0 || t->elements() == 0) return false;
  const std::int64_t columns = t->dims().back();
  for (std::int64_t row = 0; row < t->elements() / columns; ++row) {
    bool seen = false;
    for (std::int64_t i = 0; i < columns && !seen; ++i)
      seen = (nth(t->bytes(), row * columns + i) != std::byte{0}) != hides;
    if (!seen) return false;
  }
  return true;
}

bool is_zero_or_one(const Value* v) {
  const onnx::Numbers n = onnx::numbers_with_weights(v);
  return n.whole && n.low >= 0 && n.within(1);
}

bool dim_fits(Dim mask, Dim scores) { return mask == 1 || (mask == scores && mask != kUnknownDim); }

}  // namespace

bool AttentionMask::take(const ir::Node& n, std::size_t scores, double scale) {
  if (n.op() == "Add" || (n.op() == "Sub" && scores == 0)) {
    Value* other = n.input(1 - scores);
    const auto shift = number_of(other);
    if (shift && std::isfinite(*shift)) return true;  // softmax does not see it
    terms_.push_back({.value = other, .negated = n.op() == "Sub"});
    return scale == 1;
  }
  if (n.op() != "Where" || scores == 0) return false;
  auto hidden = number_of(n.input(3 - scores));
  if (hidden) *hidden *= scale;
  const bool hides = scores == 2;
  // The weight of what is hidden has to be 0, and a row of which all is hidden even.
  if (!hidden || *hidden > kHides || (std::isinf(*hidden) && !hides_no_row(n.input(0), hides))) return false;
  terms_.push_back({.value = n.input(0), .is_condition = true, .hides = hides, .hidden = *hidden});
  return true;
}

Value* AttentionMask::take_product(const ir::Node& n) {
  if (n.op() != "Sub" && n.op() != "Add") return nullptr;
  for (const std::size_t i : {0U, 1U}) {
    const ir::Node *kept = n.input(i)->producer(), *hidden = n.input(1 - i)->producer();
    const bool products =
        kept && hidden && kept->op() == "Mul" && hidden->op() == "Mul" && only_reader(kept->output());
    if (!products || (i == 1 && n.op() == "Sub")) continue;
    for (const std::size_t k : {0U, 1U}) {
      const auto c = number_of(hidden->input(k));
      const ir::Node* rest = hidden->input(1 - k)->producer();
      const double low = !c ? 0 : n.op() == "Sub" ? -*c : *c;
      if (!is_op(rest, "Sub") || !is_number(rest->input(0), 1) || !(low <= kHides) || std::isinf(low))
        continue;
      Value* b = rest->input(1);
      if ((kept->input(0) != b && kept->input(1) != b) || !is_zero_or_one(b)) continue;
      terms_.push_back({.value = b, .is_condition = true, .hidden = low});
      return kept->input(kept->input(0) == b ? 1 : 0);
    }
  }
  return nullptr;
}

bool AttentionMask::fits(const Shape& scores, bool columns_stay) const {
  MaskFacts facts;
  return stays_the_same() && std::ranges::all_of(terms_, [&](const Term& t) {
           const Shape& s = t.value->shape();
           if (!s.ranked() || s.rank() > 4) return false;
           if (!t.is_condition && (t.negated ? facts.has_sum_of_masks(t.value) : !facts.can_be_held(t.value)))
             return false;
           for (int i = 1; i <= s.rank(); ++i)
             if (!dim_fits(s[-i], scores[-i]) && i != 2 && !(i == 1 && columns_stay) &&
                 !(i == 4 && !is_known(s[-i])))
               return false;
           return true;
         });
}

// Whether rows that are hidden entirely keep their values. A number in which x is lost may stand for itself.
// A smaller one becomes such a number, if no other term comes near it and none is added to it.
bool AttentionMask::stays_the_same() const {
  const auto first = std::ranges::find_if(terms_, [](const Term& t) { return t.is_condition; });
  if (first == terms_.end() || terms_.size() == 1) return true;
  const auto is_condition = [](const Term& t) { return t.is_condition; };
  if (std::ranges::all_of(terms_, [](const Term& t) { return !t.is_condition || t.hidden <= kLoses; }))
    return true;
  const auto last = std::ranges::find_if_not(terms_, is_condition);
  if (first != terms_.begin() || std::any_of(last, terms_.end(), is_condition)) return false;
  MaskFacts facts;
  double sum = 0;
  for (auto t = last; t != terms_.end(); ++t) sum += magnitude_of(t->value);
  return std::all_of(first, last,
                     [&](const Term& t) { return t.hidden == first->hidden && sum <= -first->hidden / 2; });
}

Value* AttentionMask::added(Emitter& e, const Term& t) {
  MaskFacts facts;
  return held(e, facts, t.negated ? e.neg(t.value) : t.value, kLowest);
}

// x or c, where a condition says so, is x + 0 or x + c: for a c that x is lost in.
Value* AttentionMask::chosen(Emitter& e, const Term& t, Value* inner, DType type) const {
  Value* seen = inner ? inner : e.scalar(type, 0);
  const double low = terms_.size() == 1 || t.hidden > kLoses
                         ? kLoses
                         : std::max(t.hidden, std::isinf(t.hidden) ? 3 * -kLowest : -kLowest);
  Value* hidden = e.scalar(type, low);
  Value* condition = e.cast(t.value, DType::boolean);
  return t.hides ? e.where(condition, hidden, seen) : e.where(condition, seen, hidden);
}

Value* AttentionMask::sum(Emitter& e, DType type) const {
  Value* sum = nullptr;
  for (auto t = terms_.rbegin(); t != terms_.rend(); ++t) {  // the innermost first
    if (t->is_condition) {
      sum = chosen(e, *t, sum, type);
    } else {
      Value* v = added(e, *t);
      sum = sum ? e.add(sum, v) : v;
    }
  }
  return sum;
}

// Batches and rows that the mask may have more of, as far as anything says, are those of the attention.
void AttentionMask::broadcast(Emitter& e, Value* sum, const Shape& scores, Values& of, int axis) {
  const Shape& s = sum->shape();
  const bool batches = s.rank() == 4 && !dim_fits(s[0], scores[0]),
             rows = s.rank() >= 2 && !dim_fits(s[-2], scores[2]);
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!batches && (!rows || i != 0)) continue;
    Values sizes(static_cast<std::size_t>(of[i]->shape().rank()));
    if (batches) sizes[0] = e.dims(sum, 0, 1);
    if (rows && i == 0) nth(sizes, axis) = e.dims(sum, s.rank() - 2, s.rank() - 1);
    Value* one = e.ints({1});
    std::ranges::replace(sizes, static_cast<Value*>(nullptr), one);
    Value* shape = e.concat(std::move(sizes), 0);
    of[i] = e.expand(of[i], shape);
  }
}

Value* AttentionMask::emit(Emitter& e, const Shape& scores, Values& of, int axis) const {
  Value* sum = this->sum(e, of[0]->dtype());
  broadcast(e, sum, scores, of, axis);
  const Shape& s = sum->shape();
  const auto is = [&](int i) { return s[i] == scores[i] && s[i] != kUnknownDim; };
  if (s.rank() >= 2 && is(-2) && is(-1)) return sum;
  if (s.rank() >= 1 && is(-1) && !runtime::needs(e.target(), "whole_masks")) return sum;
  const auto size = [&](std::size_t i) {
    const Dim d = scores[static_cast<int>(i) + 2];
    return is_known(d) ? e.ints({d}) : e.dims(of[i], axis, axis + 1);
  };
  Value* rows = size(0);
  Value* columns = size(1);
  return e.expand(sum, e.concat({rows, columns}, 0));
}

}  // namespace t2o::rewriters
