#include <algorithm>

#include "rewriters/tf/cells.h"

namespace t2o::rewriters {
namespace {

struct Condition {
  StepMask mask;
  bool active = true;   // what the condition is where a row takes part
  bool column = false;  // [batch, 1] or wider, instead of [batch]
};

// Lengths: [batch], or [batch, 1].
bool set_lengths(const Loop& loop, Value* v, Condition& c) {
  v = through_identities(v);
  if (is_op(v, "ExpandDims") && v->graph() == &loop.body()) {
    c.column = true;
    v = v->producer()->input(0);
  }
  Value* lengths = loop.outside(v);
  if (!lengths || !is_int(lengths->dtype())) return false;
  const Shape& s = lengths->shape();
  if (s.ranked() && s.rank() == 2 && s[1] == 1) {
    c.column = true;
  } else if (std::max(known_rank(v), known_rank(lengths)) != 1) {
    return false;
  }
  c.mask = {.value = lengths};
  return true;
}

// t < length, in any of its forms
bool set_comparison(const Loop& loop, const ir::Node& n, Condition& c) {
  const bool less = n.op() == "Less", greater = n.op() == "Greater", less_equal = n.op() == "LessEqual";
  if (!less && !greater && !less_equal && n.op() != "GreaterEqual") return false;
  const bool step_first = loop.is_step(n.input(0));
  if (!step_first && !loop.is_step(n.input(1))) return false;
  if (step_first ? greater || less_equal : less || n.op() == "GreaterEqual") return false;
  const bool is_active = step_first ? less : greater;
  c.active = c.active == is_active;
  return set_lengths(loop, n.input(step_first ? 1 : 0), c);
}

bool set_item(const Loop& loop, Value* item, Value* rows, Condition& c) {
  const Shape shape = loop.item_shape(item);
  if (rows->dtype() != DType::boolean || !shape.ranked()) return false;
  c.mask = {rows, true, shape.rank() == 2};
  if (shape.rank() != 2) return shape.rank() == 1;
  c.column = true;
  return shape[1] == 1;
}

bool repeats_columns_only(Value* multiples) {
  const auto m = known_ints(multiples);
  if (m) return m->size() == 2 && (*m)[0] == 1;
  if (!is_op(multiples, "Pack") && !is_op(multiples, "ConcatV2")) return false;
  return known_ints(multiples->producer()->input(0)) == Ints{1};
}

// All true, and no more rows than the batch has: [1, units].
bool is_true(const Loop& loop, Value* v) {
  const Value* o = loop.outside(v);
  if (!o || !o->constant() || o->dtype() != DType::boolean || o->shape().rank() != 2 || o->shape()[0] != 1)
    return false;
  const Ints all = o->constant()->to_ints();
  return std::ranges::all_of(all, [](std::int64_t x) { return x != 0; });
}

// v[:, None]
bool is_new_column(const ir::Node& n) {
  const auto is = [&](const char* attr, std::int64_t value) {
    return n.attr_or<std::int64_t>(attr, 0) == value;
  };
  return n.op() == "StridedSlice" && is("new_axis_mask", 2) && is("begin_mask", 1) && is("end_mask", 1) &&
         is("shrink_axis_mask", 0) && is("ellipsis_mask", 0) && known_ints(n.input(3)) == Ints{1, 1};
}

std::optional<Condition> read_condition(const Loop& loop, Value* v) {
  Condition c;
  bool tiled = false;
  for (;;) {
    v = through_identities(v);
    if (Value* rows = loop.item_of(v)) {
      if (!set_item(loop, v, rows, c)) return {};
      break;
    }
    const ir::Node* n = v->graph() == &loop.body() ? v->producer() : nullptr;
    if (!n) return {};
    if (n->op() == "LogicalAnd") {  // with ones
      const bool first = is_true(loop, n->input(0));
      if (!first && !is_true(loop, n->input(1))) return {};
      tiled = true;
      v = n->input(first ? 1 : 0);
      continue;
    }
    if (is_new_column(*n)) {
      c.column = true;
    } else if (n->op() == "LogicalNot") {
      c.active = !c.active;
    } else if (n->op() == "ExpandDims") {
      if (const auto axis = known_ints(n->input(1)); axis != Ints{1} && axis != Ints{-1}) return {};
      c.column = true;
    } else if (n->op() == "Tile") {
      if (!repeats_columns_only(n->input(1))) return {};
      tiled = true;
    } else if (n->op() == "BroadcastTo") {
      tiled = true;
    } else {
      if (!set_comparison(loop, *n, c)) return {};
      break;
    }
    v = n->input(0);
  }
  if (tiled && !c.column) return {};
  return c;
}

// 0, 1, 2 ... along the last axis: [time], or [1, time].
bool is_steps(Value* v) {
  v = through_identities(v);
  while (is_op(v, "Cast")) v = through_identities(v->producer()->input(0));
  if (is_op(v, "ExpandDims")) {
    if (known_ints(v->producer()->input(1)) != Ints{0}) return false;
    v = through_identities(v->producer()->input(0));
  }
  if (v->constant()) {
    const Shape& s = v->shape();
    if (!is_int(v->dtype()) || s.rank() > 2 || s.rank() == 0 || (s.rank() == 2 && s[0] != 1)) return false;
    std::int64_t next = 0;
    for (const std::int64_t i : v->constant()->to_ints())
      if (i != next++) return false;
    return true;
  }
  return is_op(v, "Range") && known_ints(v->producer()->input(0)) == Ints{0} &&
         known_ints(v->producer()->input(2)) == Ints{1};
}

// lengths[:, None]
Value* column_of(Value* v) {
  v = through_identities(v);
  while (is_op(v, "Cast")) v = through_identities(v->producer()->input(0));
  if (!is_op(v, "ExpandDims")) return nullptr;
  const auto axis = known_ints(v->producer()->input(1));
  if (axis != Ints{1} && axis != Ints{-1}) return nullptr;
  Value* lengths = through_identities(v->producer()->input(0));
  return is_int(lengths->dtype()) && known_rank(lengths) == 1 ? lengths : nullptr;
}

}  // namespace

Value* lengths_of_mask(Value* mask) {
  bool swapped = false;  // [time, batch] has become [batch, time]
  for (int depth = 0; depth < 8; ++depth) {
    mask = through_identities(mask);
    const ir::Node* n = mask->producer();
    if (!n || n->input_count() < 2) return nullptr;
    if (n->op() == "Less" || n->op() == "Greater") {
      const std::size_t steps = n->op() == "Less" ? 0 : 1;
      return swapped && is_steps(n->input(steps)) ? column_of(n->input(1 - steps)) : nullptr;
    }
    const auto ints = known_ints(n->input(1));
    if (n->op() == "Transpose" && (ints == Ints{1, 0} || ints == Ints{1, 0, 2})) {
      swapped = !swapped;
    } else if (n->op() != "ExpandDims" || (ints != Ints{-1} && ints != Ints{2})) {
      return nullptr;
    }
    mask = n->input(0);
  }
  return nullptr;
}

std::optional<Masked> unmask(const Loop& loop, StepMath& math, const Columns& c) {
  const ir::Node* n = math.made_by(c, {"Select", "SelectV2"});
  if (!n) return {};
  const auto condition = read_condition(loop, n->input(0));
  if (!condition || (n->op() == "SelectV2" && !condition->column)) return {};
  Columns yes = math.operand(c, 1), no = math.operand(c, 2);
  if (!condition->active) std::swap(yes, no);
  return Masked{condition->mask, math.resolve(yes), math.resolve(no)};
}

}  // namespace t2o::rewriters
