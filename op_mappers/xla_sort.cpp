#include <algorithm>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/xla.h"

// Sorts of XLA: TopK of the whole axis, which keeps the order of equal elements.
namespace t2o::op_mappers {
namespace {

enum class NanOrder : std::uint8_t { any, last };  // of an ascending sort: nobody says, or behind all numbers

struct Key {
  std::size_t operand;
  bool descending;
  NanOrder nan;
};

// ---- what a comparator compares

void replace_all(std::string& s, const std::string& from, const std::string& to) {
  for (std::size_t at = s.find(from); at != s.npos; at = s.find(from, at + to.size()))
    s.replace(at, from.size(), to);
}

// jax's order of floats: zeros are equal, NaN is the last. The number's bits as a signed integer, those of
// negative ones turned round.
bool is_total_order(const std::string& text, const std::string& argument) {
  struct Bits {
    const char *as_signed, *as_unsigned;
    int last;
  };
  for (const Bits& b : {Bits{"i16", "u16", 15}, Bits{"i32", "u32", 31}, Bits{"i64", "u64", 63}}) {
    std::string number = "SelectV2(NotEqual(x,x),nan,SelectV2(Equal(0,x),0,x))";
    const std::string bits = std::string("Bitcast:") + b.as_signed + "(" + number + ")";
    const std::string sign =
        std::string("Bitcast:") + b.as_unsigned + "(RightShift(" + bits + "," + std::to_string(b.last) + "))";
    const std::string mask = std::string("Bitcast:") + b.as_signed + "(RightShift(" + sign + ",1))";
    std::string whole = "BitwiseXor(" + std::min(bits, mask) + "," + std::max(bits, mask) + ")";
    replace_all(whole, "x", argument);
    if (text == whole) return true;
  }
  return false;
}

// Arguments 2k and 2k + 1 are two elements of operand k. The key of one: itself, or its place in jax's order.
struct Side {
  std::size_t argument;
  NanOrder nan;
};
std::optional<Side> side_of(const Value* v, const ir::Graph& g) {
  const std::string text = formula(v, g);
  for (std::size_t i = 0; i < g.inputs().size(); ++i) {
    const std::string argument = "a" + std::to_string(i);
    if (text == argument) return Side{i, NanOrder::any};
    if (is_total_order(text, argument)) return Side{i, NanOrder::last};
  }
  return std::nullopt;
}

std::optional<Key> key_of(const Value* left, const Value* right, bool less, const ir::Graph& g) {
  const auto a = side_of(left, g), b = side_of(right, g);
  if (!a || !b || a->argument / 2 != b->argument / 2 || a->argument == b->argument || a->nan != b->nan)
    return std::nullopt;
  return Key{a->argument / 2, (a->argument < b->argument) != less, a->nan};
}

// Less(x0, y0), or Less(x0, y0) or (x0 == y0 and what comes next).
bool read_keys(const Value* v, const ir::Graph& g, std::vector<Key>& keys) {
  v = behind_identity(v);
  const ir::Node* n = v->producer();
  if (!n || n->input_count() != 2) return false;
  const Value *left = behind_identity(n->input(0)), *right = behind_identity(n->input(1));
  if (n->op() == "Less" || n->op() == "Greater") {
    const auto key = key_of(left, right, n->op() == "Less", g);
    if (key) keys.push_back(*key);
    return key.has_value();
  }
  if (n->op() != "LogicalOr") return false;
  for (const bool swap : {false, true}) {
    const Value *first = swap ? right : left, *both = swap ? left : right;
    std::vector<Key> own, rest;
    const ir::Node* conjunction = both->producer();
    if (!conjunction || conjunction->op() != "LogicalAnd" || !read_keys(first, g, own) || own.size() != 1)
      continue;
    for (const std::size_t i : {0U, 1U}) {
      const Value* same = behind_identity(conjunction->input(i));
      const ir::Node* equal = same->producer();
      if (!equal || equal->op() != "Equal") continue;
      const auto key = key_of(equal->input(0), equal->input(1), true, g);
      rest.clear();
      if (!key || key->operand != own[0].operand || key->nan != own[0].nan ||
          !read_keys(conjunction->input(1 - i), g, rest))
        continue;
      keys.push_back(own[0]);
      append(keys, rest);
      return true;
    }
  }
  return false;
}

// ---- what sorts

struct Axis {
  std::int64_t number;
  Value* size;  // [1]
};

Value* infinite(MapperContext& c, const Value* like) {
  return c.scalar_like(like, std::numeric_limits<double>::infinity());
}

Value* sortable(MapperContext& c, Value* x) {
  switch (x->dtype()) {
    case DType::boolean:
      return c.cast(x, DType::i32);
    case DType::u32:
      return c.cast(x, DType::i64);
    case DType::f16:
    case DType::bf16:
      return c.cast(x, DType::f32);
    case DType::u64:  // without the highest bit they have the order of signed ones
      return c.add(c.cast(x, DType::i64), c.i64(std::numeric_limits<std::int64_t>::min()));
    default:
      return x;
  }
}

// Numbers above which NaN has room: finite ones keep their order in f64, the infinite ones become 1e308.
Value* with_room_for_nan(MapperContext& c, Value* x) {
  Value* is_nan = c.is_nan(sortable(c, x));
  Value* bounded = c.clip(c.cast(x, DType::f64), -1e308, 1e308);
  return c.where(is_nan, infinite(c, bounded), bounded);
}

// The order that sorts the operands by one key.
Value* order(MapperContext& c, const Key& key, Value* x, const Axis& axis) {
  const bool places_nan = c.strict() && key.nan == NanOrder::last && is_float(x->dtype());
  Value* by = places_nan ? with_room_for_nan(c, x) : sortable(c, x);
  return c.topk(by, axis.size, axis.number, key.descending)[1];
}

// One operand alone: its numbers, and at the end where the NaNs are (at the beginning of a descending sort)
// as many NaNs.
Value* sorted_alone(MapperContext& c, const Key& key, Value* x, const Axis& axis) {
  const DType type = x->dtype();
  const bool plain = !c.strict() || !is_float(type) || key.nan == NanOrder::any;
  Value* wide = sortable(c, x);
  if (plain && wide == x) return c.topk(x, axis.size, axis.number, key.descending)[0];
  if (plain) {
    Value* places = c.topk(wide, axis.size, axis.number, key.descending)[1];
    return c.emit("GatherElements", {x, places}, {{"axis", axis.number}});
  }
  Value* is_nan = c.is_nan(wide);
  Value* numbers =
      c.topk(c.where(is_nan, infinite(c, wide), wide), axis.size, axis.number, key.descending)[0];
  Value* count = c.reduce("ReduceSum", c.cast(is_nan, DType::i64), Ints{axis.number}, true);
  Value* place = iota(c, c.squeeze(axis.size, {0}));
  Ints behind;
  for (std::int64_t i = 1; i < x->shape().rank() - axis.number; ++i) behind.push_back(i);
  if (!behind.empty()) place = c.unsqueeze(place, behind);
  Value* first = c.sub(axis.size, count);
  Value* is_number = key.descending ? c.greater_equal(place, count) : c.less(place, first);
  Value* nan = c.scalar_like(numbers, std::numeric_limits<double>::quiet_NaN());
  return c.cast(c.where(is_number, numbers, nan), type);
}

// By the last key first: the sorts before keep the order of what is equal to them.
Values sorted(MapperContext& c, const std::vector<Key>& keys, Values operands, const Axis& axis) {
  if (operands.size() == 1 && keys.size() == 1) return {sorted_alone(c, keys[0], operands[0], axis)};
  for (std::size_t k = keys.size(); k-- > 0;) {
    Value* places = order(c, keys[k], operands[keys[k].operand], axis);
    for (Value*& x : operands) x = c.emit("GatherElements", {x, places}, {{"axis", axis.number}});
  }
  return operands;
}

Axis axis_of(MapperContext& c, std::int64_t axis) {
  const int rank = c.rank(0);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank)
    c.fail(Code::bad_model,
           "sorts axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
  return {axis, sizes_of(c, c.in(0), {axis})};
}

// One or two operands by the first, ascending along the last axis.
Values map_sort(MapperContext& c) {
  return sorted(c, {{0, false, NanOrder::last}}, c.inputs(), axis_of(c, -1));
}

Values map_variadic_sort(MapperContext& c) {
  const auto g = c.attr<GraphPtr>("comparator");
  const Values operands(c.inputs().begin(), c.inputs().end() - 1);
  if (g->inputs().size() != 2 * operands.size() || g->outputs().size() != 1)
    c.fail(Code::bad_model, "comparator '" + g->name() + "' does not compare two of each operand");
  std::vector<Key> keys;
  if (!read_keys(g->outputs()[0], *g, keys))
    c.fail(Code::unsupported_attr, "comparator '" + g->name() + "' has no ONNX form",
           "compare operands by less or by greater, one after the other");
  return sorted(c, keys, operands, axis_of(c, c.const_int(c.input_count() - 1)));
}

}  // namespace

void register_xla_sort(OpRegistry& r) {
  r.op("XlaSort").note("rank known; zeros of both signs are equal").by(map_sort);
  r.op("XlaKeyValueSort").note("rank known; zeros of both signs are equal").by(map_sort);
  r.op("XlaVariadicSort")
      .ignores({"is_stable"})  // it always is
      .note(
          "rank known; comparators of one or several keys by less or greater, also in jax's order of floats")
      .by(map_variadic_sort);
}

}  // namespace t2o::op_mappers
