#include "op_mappers/wide_integers.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "op_mappers/loop.h"

namespace t2o::op_mappers {
namespace {

// An element of which nothing is known may be any number: in a list with a few that are known it is no size.
bool is_list_of_sizes(const Value* v) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  const auto& known = v->known_elements();
  return known &&
         std::ranges::all_of(*known, [](Dim d) { return is_symbol(d) || (is_known(d) && d <= kLargest); });
}

bool are_sizes(const Value* a, const Value* b) { return is_made_of_sizes(a) && is_made_of_sizes(b); }

// With the least number behind it, which is what TensorFlow gives of no numbers.
Value* not_empty(Emitter& e, Value* x, std::int64_t axis, bool of_max) {
  if (!x->shape().ranked() || x->shape()[static_cast<int>(axis)] > 0) return x;
  Value* worst = e.constant(of_max ? std::numeric_limits<std::int64_t>::min()
                                   : std::numeric_limits<std::int64_t>::max());
  Ints pads = repeated(0, 2 * x->shape().rank());
  nth(pads, x->shape().rank() + axis) = 1;
  return e.pad(x, e.ints(pads), worst);
}

constexpr int kWide = 64, kSizes = 32, kMostOfSize = 24, kFewBits = 32, kMostSteps = 256;

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

constexpr std::string_view kPlaces[] = {"Shape", "Size", "ArgMax", "ArgMin", "NonZero"};
constexpr std::string_view kMoves[] = {
    "Cast",    "Identity",  "Gather", "GatherElements", "GatherND", "Slice", "Expand",    "Reshape",
    "Squeeze", "Unsqueeze", "Tile",   "Split",          "Abs",      "Neg",   "Transpose", "Compress"};
constexpr std::string_view kChoices[] = {"Max", "Min", "Concat", "Where"};
constexpr std::string_view kCombined[] = {"Max", "Min", "Concat", "Where", "Add", "Sub", "Mul", "Div"};

int bits_of(const Value* v, int& steps);  // of which a walk takes so many and no more

int bits_of_result(const Value* v, int& steps) {
  if (is_list_of_sizes(v)) return kSizes;
  if (v->constant()) return bits_of_constant(*v->constant());
  const ir::Node* n = v->producer();
  if (!n || --steps < 0) return kWide;
  const std::string_view op = n->op();
  if (contains(kPlaces, op) || (op == "TopK" && v->index() == 1)) return kSizes;
  if (contains(kMoves, op)) return bits_of(n->input(0), steps);
  if (op == "OneHot") return bits_of(n->input(2), steps);
  if (op == "Mul") {
    const int bits = bits_of(n->input(0), steps);
    return std::min(kWide, bits + bits_of(n->input(1), steps));
  }
  const bool is_sum = op == "Add" || op == "Sub";
  if (!is_sum && !contains(kChoices, op)) return kWide;
  int most = 0;
  for (std::size_t i = op == "Where" ? 1 : 0; i < n->input_count(); ++i)
    most = std::max(most, bits_of(n->input(i), steps));
  return most + (is_sum ? 1 : 0);
}

// At most so many bits beside the sign have the numbers of an integer.
int bits_of(const Value* v, int& steps) {
  if (v->dtype() == DType::boolean) return 1;
  if (!is_int(v->dtype())) return kWide;
  return std::min(bits_of_result(v, steps), static_cast<int>(bit_width(v->dtype())));
}

enum class Made : std::uint8_t { otherwise, of_constants, of_sizes };

// Of sizes is what has one in it and beside sizes nothing but constants that could be some.
Made made(const Value* v, int& steps) {
  if (v->constant())
    return bits_of_constant(*v->constant()) <= kMostOfSize ? Made::of_constants : Made::otherwise;
  if (is_list_of_sizes(v)) return Made::of_sizes;
  const ir::Node* n = v->producer();
  if (!n || --steps < 0) return Made::otherwise;
  const std::string_view op = n->op();
  if (op == "Shape" || op == "Size") return Made::of_sizes;
  if (contains(kMoves, op))
    return is_int(n->input(0)->dtype()) && made(n->input(0), steps) == Made::of_sizes ? Made::of_sizes
                                                                                      : Made::otherwise;
  if (!contains(kCombined, op)) return Made::otherwise;
  Made most = Made::of_constants;
  for (std::size_t i = op == "Where" ? 1 : 0; i < n->input_count(); ++i) {
    const Made part = n->input(i) ? made(n->input(i), steps) : Made::otherwise;
    if (part == Made::otherwise) return part;
    most = std::max(most, part);
  }
  return most;
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

Value* is_odd(Emitter& e, Value* x) {
  Value* rest = e.mod(x, e.i64(2));
  return e.equal(rest, e.i64(1));
}

constexpr int kMostUnrolled = 6;  // bits of a constant exponent; more are counted when the model runs

// How many bits the highest of the exponents has above its lowest: as many as there are 2^k - 1 below it.
Value* higher_bits(Emitter& e, Value* exponent) {
  Ints below;
  for (int k = 1; k < 63; ++k) below.push_back((std::int64_t{1} << k) - 1);
  Value* highest = reduced_wide(e, "ReduceMax", e.reshape(exponent, {-1}), {0}, true);
  return e.reduce("ReduceSum", e.cast(e.greater(highest, e.ints(below)), DType::i64), Ints{0}, false);
}

}  // namespace

bool has_few_bits(const Value* x) {
  int steps = kMostSteps;
  return bits_of(x, steps) <= kFewBits;
}

bool are_flags(const Value* x) {
  int steps = kMostSteps;
  return bits_of(x, steps) <= 1;
}

Value* wrapping_sum(Emitter& e, Value* x, const std::function<Value*(Value*)>& sum) {
  if (!is_int(x->dtype())) return sum(x);
  Value* wide = e.cast(x, DType::i64);
  Value* all = has_few_bits(wide) ? sum(wide) : sum_of_halves(e, wide, sum);
  return e.cast_like(all, x);
}

bool is_made_of_sizes(const Value* x) {
  int steps = kMostSteps;
  return is_int(x->dtype()) && !x->constant() && made(x, steps) == Made::of_sizes;
}

// All rows are one segment, whose products are those of integers.
Value* wrapping_product(Emitter& e, By by, Value* x, Ints axes, bool keep_dims) {
  const int rank = x->shape().rank();
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  Ints kept;
  for (std::int64_t i = 0; i < rank; ++i)
    if (!std::ranges::binary_search(axes, i)) kept.push_back(i);
  Ints order = axes;
  append(order, kept);
  Value* shape = e.shape_of(x);
  Value* count = e.product(e.gather(shape, e.ints(axes), 0));
  Value* rest = e.gather(shape, e.ints(kept), 0);
  Value* rows = e.reshape_to(e.transpose(x, order), e.concat({count, rest}, 0));
  Value* ids = e.expand(e.i64(0), count);
  Value* one = e.scalar_like(rows, 1);
  Value* product = e.squeeze(segment_reduce(e, by, Reduction::mul, rows, ids, e.ints({1}), one), {0});
  return keep_dims ? e.unsqueeze(product, axes) : product;
}

// Of each bit of the exponent that is set, the base squared as often as bits are below it.
Value* wrapping_power(Emitter& e, Value* base, Value* exponent) {
  const auto next = [](Emitter& in, const Values& state) -> Values {
    Value* square = in.mul(state[1], state[1]);
    Value* rest = in.div(state[2], in.i64(2));
    Value* product = in.mul(state[0], square);
    return {in.where(is_odd(in, rest), product, state[0]), square, rest};
  };
  Value* lowest_bit = is_odd(e, exponent);
  Values state{e.where(lowest_bit, base, e.i64(1)), base, exponent};
  const int bits = exponent->constant() ? bits_of_constant(*exponent->constant()) : kWide;
  if (bits > kMostUnrolled)
    return counted_loop(e, higher_bits(e, exponent), state,
                        [&](Emitter& in, Value*, const Values& now) { return next(in, now); })[0];
  for (int k = 1; k < bits; ++k) state = next(e, state);
  return state[0];
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
  std::ranges::sort(reduced);
  reduced.erase(std::unique(reduced.begin(), reduced.end()), reduced.end());
  for (const std::int64_t axis : reduced) {
    x = not_empty(e, x, axis, of_max);
    Value* place = e.emit(of_max ? "ArgMax" : "ArgMin", {x}, {{"axis", axis}, {"keepdims", 1}});
    x = e.emit("GatherElements", {x, place}, {{"axis", axis}});
  }
  return keep_dims || reduced.empty() ? x : e.squeeze(x, reduced);
}

}  // namespace t2o::op_mappers
