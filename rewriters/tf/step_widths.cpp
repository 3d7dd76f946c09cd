#include <algorithm>

#include "ir/postorder.h"
#include "rewriters/tf/step_math.h"

// Widths and ranks; shapes inside a loop are mostly unknown.
namespace t2o::rewriters {
namespace {

using Ops = std::vector<std::string_view>;

const Ops kUnary = {"Sigmoid",  "Tanh",      "Relu", "Relu6", "Elu",  "Selu",       "Softsign",
                    "Softplus", "LeakyRelu", "Neg",  "Exp",   "Cast", "ClipByValue"};
const Ops kBinary = {"Add",       "AddV2",   "Sub",     "Mul",     "BiasAdd",
                     "BiasAddV1", "RealDiv", "Minimum", "Maximum", "AddN"};

bool squeezes_first(const ir::Node& n) {
  const auto* axes = n.attr_if<Ints>("squeeze_dims");
  return axes && *axes == Ints{0};
}

}  // namespace

bool StepMath::transposes_b(const ir::Node& n) {
  return int_attr(n, "transpose_b") != 0 || int_attr(n, "adj_y") != 0;
}

bool is_last_axis(Value* axis, int rank) {
  const auto a = known_ints(axis);
  return a && a->size() == 1 && ((*a)[0] == -1 || (*a)[0] == rank - 1);
}

// The operands that a rank or a width may follow from.
void StepMath::add_operands(const Value* v, Values& needs) {
  for (Value* in : v->producer()->inputs())
    if (in) needs.push_back(through_identities(in));
}

int StepMath::rank(Value* root) {
  ir::for_each_before(
      through_identities(root),
      [&](Value* v, Values& needs) {
        const auto [it, fresh] = ranks_.try_emplace(v, -1);  // also ends a cycle
        if (!fresh) return false;
        const Value* o = v->shape().ranked() ? v : loop_->outside(v);
        if (o) it->second = o->shape().ranked() ? o->shape().rank() : -1;
        if (o || !v->producer()) return false;
        add_operands(v, needs);
        return true;
      },
      [&](Value* v) {
        const int r = find_rank(*v->producer());
        ranks_[v] = r;
      });
  return ranks_.at(through_identities(root));
}

int StepMath::find_rank(const ir::Node& n) {
  const std::string& op = n.op();
  if (contains(kMatMuls, op)) return 2;
  if (op == "Split") return rank(n.input(1));
  if (op == "Unpack" || (op == "Squeeze" && squeezes_first(n))) return std::max(rank(n.input(0)) - 1, -1);
  if (contains(kUnary, op) || contains({"SplitV", "Slice", "OnesLike", "ConcatV2"}, op))
    return rank(n.input(0));
  if (op == "StridedSlice" && int_attr(n, "shrink_axis_mask") == 0 && int_attr(n, "new_axis_mask") == 0)
    return rank(n.input(0));
  if (!contains(kBinary, op)) return -1;
  int most = -1;
  for (Value* in : n.inputs()) {
    const int r = rank(in);
    if (r < 0) return -1;
    most = std::max(most, r);
  }
  return most;
}

bool StepMath::is_last(Value* axis, Value* of) {
  const int r = rank(of);
  return is_last_axis(axis, r < 0 ? 2 : r);
}

std::int64_t StepMath::width(Value* root) {
  ir::for_each_before(
      through_identities(root),
      [&](Value* v, Values& needs) {
        const auto [it, fresh] = widths_.try_emplace(v, -1);  // also ends a cycle
        if (!fresh || knows_width(v, it->second) || !v->producer() ||
            !width_rules().contains(v->producer()->op()))
          return false;
        add_operands(v, needs);
        return true;
      },
      [&](Value* v) {
        const ir::Node& n = *v->producer();
        const std::int64_t w = width_rules().at(n.op())(*this, n, v->index());
        widths_[v] = w;
      });
  return widths_.at(through_identities(root));
}

// Without a look at its operands.
bool StepMath::knows_width(Value* v, std::int64_t& w) const {
  if (w = known_last_dim(v); w >= 0) return true;
  if (Value* o = loop_->outside(v); o && o != v) {
    w = known_last_dim(o);
    return true;
  }
  if (const int i = loop_->argument(v); i >= 0) {
    w = known_last_dim(loop_->initial(static_cast<std::size_t>(i)));
    return true;
  }
  if (!loop_->item_of(v)) return false;
  const Shape s = loop_->item_shape(v);
  w = s.ranked() && s.rank() > 0 ? s[-1] : -1;
  return true;
}

namespace {

std::int64_t first_width(StepMath& m, const ir::Node& n, std::size_t) { return m.width(n.input(0)); }
std::int64_t second_width(StepMath& m, const ir::Node& n, std::size_t) { return m.width(n.input(1)); }

std::int64_t split_width(StepMath& m, const ir::Node& n, std::size_t) {
  const std::int64_t of = m.width(n.input(1));
  if (of < 0 || !m.is_last(n.input(0), n.input(1))) return of;
  return of / static_cast<std::int64_t>(n.outputs().size());
}

std::int64_t split_v_width(StepMath& m, const ir::Node& n, std::size_t output) {
  if (!m.is_last(n.input(2), n.input(0))) return m.width(n.input(0));
  const auto sizes = known_ints(n.input(1));
  return sizes && output < sizes->size() ? (*sizes)[output] : -1;
}

std::int64_t concat_width(StepMath& m, const ir::Node& n, std::size_t) {
  if (!m.is_last(n.inputs().back(), n.input(0))) return m.width(n.input(0));
  std::int64_t sum = 0;
  for (std::size_t i = 0; i + 1 < n.input_count(); ++i) {
    const std::int64_t w = m.width(n.input(i));
    if (w < 0 || __builtin_add_overflow(sum, w, &sum)) return -1;
  }
  return sum;
}

std::int64_t slice_width(StepMath& m, const ir::Node& n, std::size_t) {
  const int r = m.rank(n.input(0));
  const auto range = last_axis_slice(n, r < 0 ? 2 : r, m.width(n.input(0)));
  return range ? range->count : -1;
}

std::int64_t select_width(StepMath& m, const ir::Node& n, std::size_t) {
  return std::max(m.width(n.input(1)), m.width(n.input(2)));
}

std::int64_t squeeze_width(StepMath& m, const ir::Node& n, std::size_t) {
  return squeezes_first(n) ? m.width(n.input(0)) : -1;
}

std::int64_t broadcast_width(StepMath& m, const ir::Node& n, std::size_t) {
  std::int64_t most = -1;
  bool unknown = false;
  for (Value* in : n.inputs()) {
    const std::int64_t w = m.width(in);
    unknown = unknown || w < 0;
    most = std::max(most, w);
  }
  return unknown && most <= 1 ? -1 : most;
}

}  // namespace

std::int64_t StepMath::product_width(StepMath& m, const ir::Node& n, std::size_t) {
  Value* weight = n.input(1);
  if (!transposes_b(n)) return m.width(weight);
  const Value* o = m.loop_->outside(weight);
  return o && o->shape().ranked() && o->shape().rank() == 2 && is_known(o->shape()[0]) ? o->shape()[0] : -1;
}

const std::unordered_map<std::string_view, StepMath::WidthRule>& StepMath::width_rules() {
  static const auto kRules = [] {
    std::unordered_map<std::string_view, WidthRule> rules = {
        {"Split", split_width},     {"SplitV", split_v_width},       {"ConcatV2", concat_width},
        {"Slice", slice_width},     {"StridedSlice", slice_width},   {"Select", select_width},
        {"SelectV2", select_width}, {"LSTMBlockCell", second_width}, {"GRUBlockCell", second_width},
        {"Unpack", first_width},    {"OnesLike", first_width},       {"Squeeze", squeeze_width},
    };
    for (const std::string_view op : kMatMuls) rules[op] = product_width;
    for (const std::string_view op : kUnary) rules[op] = first_width;
    for (const std::string_view op : kBinary) rules[op] = broadcast_width;
    return rules;
  }();
  return kRules;
}

}  // namespace t2o::rewriters
