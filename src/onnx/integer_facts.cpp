#include "onnx/integer_facts.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "support/lists.h"

namespace t2o::onnx {
namespace {

// An element of which nothing is known may be any number: in a list with a few that are known it is no size.
bool is_list_of_sizes(const Value* v) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  const auto& known = v->known_elements();
  return known &&
         std::ranges::all_of(*known, [](Dim d) { return is_symbol(d) || (is_known(d) && d <= kLargest); });
}

constexpr int kWide = 63, kSizes = 31, kMostOfSize = 24, kFewBits = 32, kMostSteps = 256;
constexpr std::int64_t kMostElements = 1 << 16;  // of a constant that is looked at

int bits_of_number(std::int64_t n) {
  int bits = 0;
  for (; n != 0 && n != -1; n /= 2) ++bits;
  return bits;
}

constexpr std::string_view kPlaces[] = {"Shape", "Size", "ArgMax", "ArgMin", "NonZero", "NonMaxSuppression"};
constexpr std::string_view kMoves[] = {
    "Cast",    "Identity",  "Gather", "GatherElements", "GatherND", "Slice", "Expand",    "Reshape",
    "Squeeze", "Unsqueeze", "Tile",   "Split",          "Abs",      "Neg",   "Transpose", "Compress"};
constexpr std::string_view kChoices[] = {"Max", "Min", "Concat", "Where", "Clip"};
constexpr std::string_view kCombined[] = {"Max", "Min", "Concat", "Where", "Add", "Sub", "Mul", "Div"};

int bits_of(const Value* v, int& steps);  // of which a walk takes so many and no more

int most_bits(const ir::Node& n, std::size_t first, int& steps) {
  int most = 0;
  for (std::size_t i = first; i < n.input_count(); ++i)
    if (n.input(i)) most = std::max(most, bits_of(n.input(i), steps));
  return most;
}

// How many bits the quotient by this number has less.
int lost_bits(const Value* divisor) {
  if (!divisor->constant() || divisor->constant()->elements() != 1) return 0;
  return std::max(0, bits_of_number(divisor->constant()->int_at(0)) - 1);
}

bool is_positive(const Value* v) {
  return v->constant() && v->constant()->elements() <= kMostElements &&
         std::ranges::all_of(v->constant()->to_ints(), [](std::int64_t n) { return n > 0; });
}

// Whether a number below zero becomes a high one without a sign.
bool wraps_below_zero(const ir::Node& n) {
  if (!is_unsigned_int(n.output()->dtype())) return false;
  return n.op() == "Sub" || (n.op() == "Cast" && is_signed_int(n.input(0)->dtype()));
}

int bits_of_result(const Value* v, int& steps) {
  if (is_list_of_sizes(v)) return kSizes;
  if (v->constant()) return onnx::bits_of(*v->constant());
  const ir::Node* n = v->producer();
  if (!n || --steps < 0) return kWide;
  const std::string_view op = n->op();
  if (contains(kPlaces, op) || (op == "TopK" && v->index() == 1)) return kSizes;
  if (op == "Sign") return 1;
  if (wraps_below_zero(*n)) return kWide;
  if (op == "Abs" || op == "Neg") return bits_of(n->input(0), steps) + 1;  // the lowest number
  if (contains(kMoves, op)) return bits_of(n->input(0), steps);
  if (op == "Div")
    return bits_of(n->input(0), steps) - lost_bits(n->input(1)) + (is_positive(n->input(1)) ? 0 : 1);
  if (op == "OneHot") return bits_of(n->input(2), steps);
  if (op == "Mul") {
    const int bits = bits_of(n->input(0), steps);
    return std::min(kWide, bits + bits_of(n->input(1), steps));
  }
  if (op == "Mod") return bits_of(n->input(1), steps);
  if (op == "Range") return most_bits(*n, 0, steps);
  if (op == "ReduceSum" || op == "CumSum")  // how many flags are set
    return bits_of(n->input(0), steps) <= 1 ? kSizes : kWide;
  const bool is_sum = op == "Add" || op == "Sub";
  if (!is_sum && !contains(kChoices, op)) return kWide;
  return most_bits(*n, op == "Where" ? 1 : 0, steps) + (is_sum ? 1 : 0);
}

// At most so many bits beside the sign have the numbers of an integer.
int bits_of(const Value* v, int& steps) {
  if (v->dtype() == DType::boolean) return 1;
  if (!is_int(v->dtype())) return 64;
  const int of_type = static_cast<int>(bit_width(v->dtype())) - (is_signed_int(v->dtype()) ? 1 : 0);
  return std::min(bits_of_result(v, steps), of_type);
}

enum class Made : std::uint8_t { otherwise, of_constants, of_sizes };

// Of sizes is what has one in it and beside sizes nothing but constants that could be some.
Made made(const Value* v, int& steps) {
  if (v->constant())
    return onnx::bits_of(*v->constant()) <= kMostOfSize ? Made::of_constants : Made::otherwise;
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

bool has_bits(const Value* x, int most) {
  int steps = kMostSteps;
  return bits_of(x, steps) <= most;
}

}  // namespace

int bits_of(const Tensor& t) {
  if (t.elements() > kMostElements) return kWide;
  int most = 0;
  for (const std::int64_t n : t.to_ints()) most = std::max(most, bits_of_number(n));
  return most;
}

bool has_few_bits(const Value* x) { return has_bits(x, kFewBits); }
bool fits_i32(const Value* x) { return is_made_of_sizes(x) || has_bits(x, kFewBits - 1); }
bool are_flags(const Value* x) { return has_bits(x, 1); }

bool is_made_of_sizes(const Value* x) {
  int steps = kMostSteps;
  return is_int(x->dtype()) && !x->constant() && made(x, steps) == Made::of_sizes;
}

}  // namespace t2o::onnx
