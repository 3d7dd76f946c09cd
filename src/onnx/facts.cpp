#include "onnx/facts.h"

#include <algorithm>
#include <string_view>

#include "ir/findings.h"
#include "onnx/number_rules.h"
#include "onnx/op_traits.h"

namespace t2o::onnx {
namespace {

using Axes = std::uint64_t;  // a bit for each

enum class Made : std::uint8_t { otherwise, of_constants, of_sizes };

struct Kept {
  ir::Findings<Numbers> numbers{kNoNumber}, of_weights{kNoNumber};
  ir::Findings<Made> made{Made::of_constants};
  ir::Findings<bool> fed{false};
  ir::Findings<int> data{0};
};

Kept& kept(const Value* v) {
  std::shared_ptr<void>& findings = ir::findings_of(*v->graph());
  if (!findings) findings = std::make_shared<Kept>();
  return *static_cast<Kept*>(findings.get());
}

// ---- sizes

Made made(const Value* v, const ir::Findings<Made>::Ask& ask) {
  constexpr double kMostOfSize = (1 << 24) - 1;
  if (v->constant()) return numbers_of(v).within(kMostOfSize) ? Made::of_constants : Made::otherwise;
  if (is_list_of_sizes(v)) return Made::of_sizes;
  const ir::Node* n = v->producer();
  if (!n || !is_int(v->dtype())) return Made::otherwise;
  const std::string_view op = n->op();
  if (op == "Shape" || op == "Size") return Made::of_sizes;
  const bool wraps = op == "Sub" || op == "Neg" || (op == "Cast" && !(numbers_of(n->input(0)).low >= 0));
  if (wraps && is_unsigned_int(v->dtype())) return Made::otherwise;  // below 0
  const bool moves = has(op, Trait::moves) || contains({"Cast", "Neg", "Abs", "ReduceProd"}, op);
  if (moves) return ask(n->input(0)) == Made::of_sizes ? Made::of_sizes : Made::otherwise;
  if (!contains({"Max", "Min", "Concat", "Where", "Add", "Sub", "Mul", "Div"}, op)) return Made::otherwise;
  Made most = Made::of_constants;
  for (std::size_t i = op == "Where" ? 1 : 0; i < n->input_count(); ++i) {
    const Made part = n->input(i) ? ask(n->input(i)) : Made::otherwise;
    if (part == Made::otherwise) return part;
    most = std::max(most, part);
  }
  return most;
}

bool has_known_sizes(const Value* v) {
  return v->shape().ranked() && std::ranges::all_of(v->shape().dims(), [](Dim d) { return d > 0; });
}

// What data may decide of a value, as bits: its dims, and the sizes that its elements are.
constexpr int kDims = 1, kElements = 2;
using AskData = ir::Findings<int>::Ask;

// Whether the results have as many elements as the values of the inputs say.
bool states_data(const ir::Node& n, const AskData& ask) {
  // These have the sizes that one of their inputs states; it is the number of this input.
  constexpr std::pair<std::string_view, std::size_t> kStated[] = {
      {"Reshape", 1},         {"Expand", 1}, {"Tile", 1},   {"Pad", 1},
      {"ConstantOfShape", 0}, {"TopK", 1},   {"OneHot", 1}, {"Split", 1}};
  const auto states = [&](const Value* v) {
    return v && !v->constant() && (!is_made_of_sizes(v) || (ask(v) & kElements) != 0);
  };
  for (const auto& [op, input] : kStated)
    if (n.op() == op) return states(n.input(input));
  if (n.op() == "Slice" || n.op() == "Range")
    return std::any_of(n.inputs().begin() + (n.op() == "Slice" ? 1 : 0), n.inputs().end(), states);
  return contains({"NonZero", "Unique", "NonMaxSuppression", "Compress", "StringSplit", "Loop", "Scan", "If",
                   "ConcatFromSequence", "SequenceAt"},
                  n.op());
}

int find_data(const Value* v, const AskData& ask) {
  const bool known = has_known_sizes(v);
  if (v->constant() || (known && !is_int(v->dtype()))) return 0;
  const ir::Node* n = v->producer();
  if (!n) return v->graph()->parent() && !known ? kDims : 0;  // what a loop carries
  int of_inputs = 0;
  for (const Value* in : n->inputs()) of_inputs |= in ? ask(in) : 0;
  const bool of_shape = n->op() == "Shape" || n->op() == "Size";
  const bool elements = is_int(v->dtype()) && (of_inputs & (of_shape ? kDims : kElements)) != 0;
  const bool dims = !known && ((of_inputs & kDims) != 0 || states_data(*n, ask));
  return (elements ? kElements : 0) | (dims ? kDims : 0);
}

// ---- axes that are not 0

Axes first_axes(int count) { return count >= 64 ? ~Axes{0} : (Axes{1} << count) - 1; }

// The padding covers the window, so the result of an image with pixels has pixels. Without padding, a pool
// of a small image may have none.
bool has_all_pixels(const ir::Node& pool) {
  const auto* kernel = pool.attr_if<Ints>("kernel_shape");
  const auto* pads = pool.attr_if<Ints>("pads");
  if (pool.attr_or<std::string>("auto_pad", "").starts_with("SAME")) return true;
  if (!kernel || !pads || pads->size() != 2 * kernel->size() || pool.attr("dilations")) return false;
  for (std::size_t i = 0; i < kernel->size(); ++i)
    if ((*pads)[i] + (*pads)[i + kernel->size()] < (*kernel)[i] - 1) return false;
  return true;
}

// Those of a node's result; its inputs are broadcast. ONNX Runtime refuses a Conv or a pool of an image
// without pixels.
Axes sized_axes(const ir::Node& n, int rank, const ir::Findings<Axes>::Ask& ask) {
  const std::string_view op = n.op();
  const Axes pixels = ~first_axes(2);
  if (op == "Conv") return pixels | (ask(n.input(0)) & 1);
  if (op == "MaxPool" || op == "AveragePool")
    return (has_all_pixels(n) ? pixels : 0) | (ask(n.input(0)) & ~pixels);
  if (has(op, Trait::elementwise) || op == "BatchNormalization" || op == "InstanceNormalization")
    return ask(n.input(0));
  Axes axes = 0;
  if (op == "Transpose") {
    const auto* perm = n.attr_if<Ints>("perm");
    for (std::size_t i = 0; perm && i < perm->size(); ++i) axes |= ((ask(n.input(0)) >> (*perm)[i]) & 1) << i;
  } else if (has(op, Trait::broadcasts) || op == "Concat") {
    axes = ~Axes{0};
    for (const Value* in : n.inputs()) {
      if (!in->shape().ranked()) return 0;
      const int missing = rank - in->shape().rank();
      axes &= (ask(in) << missing) | first_axes(missing);
    }
  }
  return axes;
}

Axes find_sized(const Value* v, const ir::Findings<Axes>::Ask& ask) {
  if (!v->shape().ranked() || v->shape().rank() > 63) return 0;
  Axes known = 0;
  const int rank = v->shape().rank();
  for (int i = 0; i < rank; ++i) known |= Axes{v->shape()[i] > 0} << i;
  if (known == first_axes(rank) || !v->producer()) return known;
  return known | (sized_axes(*v->producer(), rank, ask) & first_axes(rank));
}

bool find_fed(const Value* v, const ir::Findings<bool>::Ask& ask) {
  const ir::Node* n = v->producer();
  if (!n) return !v->constant();
  if (n->op() == "Concat") return std::ranges::any_of(n->inputs(), ask);
  return (has(n->op(), Trait::moves) || n->op() == "Cast" || n->op() == "Pad") && ask(n->input(0));
}

bool is_integer_within(const Value* v, double low, double high) {
  if (!is_int(v->dtype()) && v->dtype() != DType::boolean) return false;
  const Numbers n = numbers_of(v);
  return n.none() || (n.low >= low && n.high <= high);
}

}  // namespace

Numbers numbers_of(const Value* v) { return kept(v).numbers.of(v, numbers_without_weights); }

Numbers numbers_with_weights(const Value* v) {
  const Numbers cheap = numbers_of(v);
  return cheap.finite() ? cheap : kept(v).of_weights.of(v, numbers_from_weights);
}

double magnitude_of(const Value* v) {
  const Numbers n = numbers_with_weights(v);
  return n.nan ? Numbers::kInfinity : n.magnitude();
}

bool is_finite(const Value* v) { return magnitude_of(v) < Numbers::kInfinity; }

bool is_never_negative(const Value* v) { return is_float(v->dtype()) && numbers_of(v).low >= 0; }

// It is a constant, or is made of some: no other value needs a look at all that it is computed from.
std::optional<double> uniform_number(const Value* v) {
  if (!is_float(v->dtype()) && !is_int(v->dtype())) return std::nullopt;
  constexpr int kMostSteps = 128;  // a chain may be as long as the graph, and each value of it is asked about
  const Value* root = v;
  for (int steps = 0; const ir::Node* n = root->producer(); ++steps) {
    if (n->op() == "ConstantOfShape") break;
    if (steps == kMostSteps) return std::nullopt;
    if (!has(n->op(), Trait::moves) && n->op() != "Add" && n->op() != "Mul") return std::nullopt;
    root = n->input(0);
  }
  if (!root->constant() && !root->producer()) return std::nullopt;
  const Tensor* t = root->constant().get();
  if (t && (t->elements() == 0 || t->float_at(0) != t->float_at(t->elements() - 1))) return std::nullopt;
  const Numbers n = numbers_of(v);
  return n.low == n.high && !n.nan ? std::optional(n.low) : std::nullopt;
}

bool are_flags(const Value* v) { return is_integer_within(v, -1, 1); }
bool has_few_bits(const Value* v) { return is_integer_within(v, -0x1p32, 0x1p32); }
bool fits_i32(const Value* v) {
  const Numbers all = range_of(DType::i32);
  return is_made_of_sizes(v) || is_integer_within(v, all.low, all.high);
}

bool is_made_of_sizes(const Value* v) {
  return is_int(v->dtype()) && !v->constant() && kept(v).made.of(v, made) == Made::of_sizes;
}

bool is_fed(const Value* v) { return kept(v).fed.of(v, find_fed); }

bool has_dims_of_data(const Value* v) {
  return !has_known_sizes(v) && (kept(v).data.of(v, find_data) & kDims) != 0;
}

bool may_be_empty(const Value* v, bool strict) { return strict ? !has_known_sizes(v) : has_dims_of_data(v); }

// Not kept: the layout of a value may change, its elements do not.
bool has_size(const Value* v, int axis) {
  return v->shape().ranked() && ((ir::Findings<Axes>(~Axes{0}).of(v, find_sized) >> axis) & 1) != 0;
}

}  // namespace t2o::onnx
