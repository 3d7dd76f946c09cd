#include "op_mappers/wide_integers.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_set>

namespace t2o::op_mappers {
namespace {

bool are_sizes(const Value* a, const Value* b) { return a->known_elements() && b->known_elements(); }

// With the least number behind it, which is what TensorFlow gives of no numbers.
Value* not_empty(Emitter& e, Value* x, std::int64_t axis, bool of_max) {
  if (!x->shape().ranked() || x->shape()[static_cast<int>(axis)] > 0) return x;
  Value* worst = e.constant(of_max ? std::numeric_limits<std::int64_t>::min()
                                   : std::numeric_limits<std::int64_t>::max());
  Ints pads(static_cast<std::size_t>(2 * x->shape().rank()), 0);
  pads[static_cast<std::size_t>(x->shape().rank() + axis)] = 1;
  return e.pad(x, e.ints(pads), worst);
}

constexpr int kWide = 64, kSizes = 32, kFewBits = 32, kDeepest = 24;

int bits_of_number(std::int64_t n) {
  int bits = 0;
  for (; n != 0 && n != -1; n /= 2) ++bits;
  return bits;
}

int bits_of_constant(const Tensor& t) {
  constexpr std::int64_t kMostElements = 1 << 16;
  if (t.elements() > kMostElements) return kWide;
  int most = 0;
  for (const std::int64_t n : t.to_ints()) most = std::max(most, bits_of_number(n));
  return most;
}

// At most so many bits beside the sign have the numbers of an integer.
int bits_of(const Value* v, int depth) {
  using Names = std::unordered_set<std::string_view>;
  static const Names kPlaces = {"Shape", "Size", "ArgMax", "ArgMin", "NonZero"};
  static const Names kMoves = {"Cast",   "Identity",  "Gather",  "GatherElements", "GatherND", "Slice",
                               "Expand", "Reshape",   "Squeeze", "Unsqueeze",      "Tile",     "Split",
                               "Abs",    "Transpose", "Neg",     "Compress"};
  static const Names kChoices = {"Max", "Min", "Concat", "Where"};
  if (v->dtype() == DType::boolean) return 1;
  if (!is_int(v->dtype())) return kWide;
  if (bit_width(v->dtype()) <= kFewBits) return static_cast<int>(bit_width(v->dtype()));
  if (v->known_elements()) return kSizes;
  if (v->constant()) return bits_of_constant(*v->constant());
  const ir::Node* n = v->producer();
  if (!n || depth > kDeepest) return kWide;
  const std::string_view op = n->op();
  if (kPlaces.contains(op) || (op == "TopK" && v->index() == 1)) return kSizes;
  if (kMoves.contains(op)) return bits_of(n->input(0), depth + 1);
  if (op == "OneHot") return bits_of(n->input(2), depth + 1);
  if (op == "Mul") return std::min(kWide, bits_of(n->input(0), depth + 1) + bits_of(n->input(1), depth + 1));
  const bool is_sum = op == "Add" || op == "Sub";
  if (!is_sum && !kChoices.contains(op)) return kWide;
  int most = 0;
  for (std::size_t i = op == "Where" ? 1 : 0; i < n->input_count(); ++i)
    most = std::max(most, bits_of(n->input(i), depth + 1));
  return most + (is_sum ? 1 : 0);
}

// The lower halves and what is above them are summed one by one: neither sum leaves the whole numbers that a
// double has.
Value* sum_of_halves(Emitter& e, Value* x, const std::function<Value*(Value*)>& sum) {
  Value* low = e.cast(e.cast(x, DType::i32), DType::i64);
  Value* unit = e.constant(std::int64_t{1} << 32);
  Value* high = e.div(e.sub(x, low), unit);
  Value* highs = e.mul(sum(high), unit);
  return e.add(highs, sum(low));
}

}  // namespace

bool has_few_bits(const Value* x) { return bits_of(x, 0) <= kFewBits; }

Value* wrapping_sum(Emitter& e, Value* x, const std::function<Value*(Value*)>& sum) {
  if (!is_int(x->dtype())) return sum(x);
  Value* wide = e.cast(x, DType::i64);
  Value* all = has_few_bits(wide) ? sum(wide) : sum_of_halves(e, wide, sum);
  return e.cast_like(all, x);
}

Value* larger(Emitter& e, Value* a, Value* b) {
  if (a->dtype() != DType::i64 || are_sizes(a, b)) return e.maximum(a, b);
  return e.where(e.greater(a, b), a, b);
}

Value* smaller(Emitter& e, Value* a, Value* b) {
  if (a->dtype() != DType::i64 || are_sizes(a, b)) return e.minimum(a, b);
  return e.where(e.less(a, b), a, b);
}

Value* reduced_wide(Emitter& e, const std::string& op, Value* x, const Ints& axes, bool keep_dims) {
  const bool of_max = op == "ReduceMax";
  Ints reduced;
  for (const std::int64_t a : axes) reduced.push_back(a < 0 ? a + x->shape().rank() : a);
  std::sort(reduced.begin(), reduced.end());
  reduced.erase(std::unique(reduced.begin(), reduced.end()), reduced.end());
  for (const std::int64_t axis : reduced) {
    x = not_empty(e, x, axis, of_max);
    Value* place = e.emit(of_max ? "ArgMax" : "ArgMin", {x}, {{"axis", axis}, {"keepdims", std::int64_t{1}}});
    x = e.emit("GatherElements", {x, place}, {{"axis", axis}});
  }
  return keep_dims || reduced.empty() ? x : e.squeeze(x, reduced);
}

}  // namespace t2o::op_mappers
