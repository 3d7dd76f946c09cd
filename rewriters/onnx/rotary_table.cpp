#include "rewriters/onnx/rotary_table.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

bool is_last_axis(const ir::Node& n, int rank) {
  const auto* axis = n.attr_if<std::int64_t>("axis");
  return axis && (*axis == -1 || *axis == rank - 1);
}

std::optional<std::int64_t> only_axis(const ir::Node& n, int rank) {
  const auto axes = axes_of(n);
  if (!axes || axes->size() != 1) return std::nullopt;
  return axes->front() < 0 ? axes->front() + rank : axes->front();
}

// The shapes of one tensor, from `from` on at the same places: all dims are equal for certain but one at
// most, which then is too.
bool leading_dims_equal(const Shape& a, const Shape& b, int count) {
  int open = 0;
  for (int i = 0; i < count; ++i) {
    if (is_known(a[i]) && is_known(b[i]) && a[i] != b[i]) return false;
    if (!equal_dims(a[i], b[i])) ++open;
  }
  return open <= 1;
}

// [..., a, b] as [..., a * b]
bool merges_last_two(const Shape& parts, const Shape& whole) {
  if (!parts.ranked() || !whole.ranked() || whole.rank() < 2 || parts.rank() != whole.rank() + 1)
    return false;
  return is_known(parts[-1]) && is_known(parts[-2]) && whole[-1] > 0 && parts[-1] * parts[-2] == whole[-1] &&
         leading_dims_equal(parts, whole, whole.rank() - 1);
}

// The pairing of a merged axis of size 2.
std::optional<Pairing> pairing_of(std::int64_t axis, int rank) {
  if (axis == rank - 1) return Pairing::neighbours;
  return axis == rank - 2 ? std::optional(Pairing::halves) : std::nullopt;
}

Value* unsqueezed_at(const Value* v, std::int64_t axis) {
  const ir::Node* n = v->producer();
  return is_op(n, "Unsqueeze") && v->shape().ranked() && only_axis(*n, v->shape().rank()) == axis
             ? n->input(0)
             : nullptr;
}

// A row that says everything twice: what it says.
Value* said_twice(const Value* row, Pairing pairing) {
  if (const auto p = joined_pairs(row))
    return p->first == p->second && p->pairing == pairing ? p->first : nullptr;
  const ir::Node* n = row->producer();
  const bool merges = is_op(n, "Reshape") && merges_last_two(n->input(0)->shape(), row->shape());
  const ir::Node* tile = merges ? n->input(0)->producer() : n;
  if (!is_op(tile, "Tile") || !tile->input(1)->constant()) return nullptr;
  const Ints times = tile->input(1)->constant()->to_ints();
  const auto rank = static_cast<int>(times.size());
  const auto place = std::ranges::find(times, 2) - times.begin();
  if (place >= rank || std::accumulate(times.begin(), times.end(), std::int64_t{0}) != rank + 1 ||
      std::ranges::count(times, 1) != rank - 1)
    return nullptr;
  if (!merges) return place == rank - 1 && pairing == Pairing::halves ? tile->input(0) : nullptr;
  return pairing_of(place, rank) == pairing ? unsqueezed_at(tile->input(0), place) : nullptr;
}

// ---- constants

PairTable constant_table(TensorPtr t, const std::string& name) {
  PairTable table;
  const auto rank = static_cast<std::int64_t>(t->rank());
  for (std::int64_t i = 0; i < rank; ++i) {
    if (nth(t->dims(), i) == 1 && i + 1 != rank) continue;
    table.axes.push_back(i - rank);
    table.dims.push_back(nth(t->dims(), i));
  }
  table.make = [t = t->with_dims(table.dims), name](Emitter& e) { return e.constant(t, name); };
  return table;
}

// One of each two; null where they differ.
TensorPtr one_of_two(const Tensor& t, Pairing pairing) {
  const auto row = static_cast<std::size_t>(t.dims().back());
  const std::size_t size = bit_width(t.dtype()) / 8,
                    count = row == 0 ? 0 : static_cast<std::size_t>(t.elements()) / row, half = row / 2;
  if (row % 2 != 0 || half == 0) return nullptr;
  std::vector<std::byte> bytes(count * half * size);
  const std::byte* data = t.bytes().data();
  for (std::size_t i = 0; i < count * half; ++i) {
    const std::size_t from = i / half * row, at = i % half;
    const std::byte* a = data + (from + (pairing == Pairing::halves ? at : 2 * at)) * size;
    const std::byte* b = data + (from + (pairing == Pairing::halves ? at + half : 2 * at + 1)) * size;
    if (std::memcmp(a, b, size) != 0) return nullptr;
    std::memcpy(bytes.data() + i * size, a, size);
  }
  Ints dims = t.dims();
  dims.back() = static_cast<std::int64_t>(half);
  return std::make_shared<Tensor>(t.dtype(), std::move(dims), heap_storage(std::move(bytes)));
}

// ---- what moves or maps the elements of a table

class Reader {
 public:
  explicit Reader(std::optional<Pairing> rows) : rows_(rows) {}

  std::optional<PairTable> read(Value* v, int depth = 16) const {
    if (!v->shape().ranked() || v->shape().rank() == 0 || !is_known(v->shape()[-1]) || depth == 0)
      return std::nullopt;
    if (const TensorPtr& t = v->constant()) {
      if (!is_float(t->dtype()) || t->elements() == 0) return std::nullopt;
      const TensorPtr half = rows_ ? one_of_two(*t, *rows_) : t;
      return half ? std::optional(constant_table(half, v->name())) : std::nullopt;
    }
    Value* once = rows_ ? said_twice(v, *rows_) : nullptr;
    if (once) return Reader(std::nullopt).read(once, depth - 1);
    if (auto moved = v->producer() ? behind(*v->producer(), depth - 1) : std::nullopt) return moved;
    return rows_ ? std::nullopt : std::optional(itself(v));
  }

 private:
  static PairTable itself(Value* v) {
    PairTable t{[v](Emitter&) { return v; }, {}, v->shape().dims()};
    for (std::int64_t i = -v->shape().rank(); i < 0; ++i) t.axes.push_back(i);
    return t;
  }

  std::optional<PairTable> behind(const ir::Node& n, int depth) const {
    const std::string& op = n.op();
    if (contains({"Cos", "Sin", "Cast", "Neg", "Identity"}, op)) return mapped(n, 0, depth);
    if (contains({"Mul", "Add", "Sub", "Div"}, op))
      for (const std::size_t i : {0U, 1U})
        if (number_of(n.input(1 - i)) && n.input(1 - i)->shape().rank() <= 1) return mapped(n, i, depth);
    if (op == "Unsqueeze" || op == "Reshape") return spread(n, depth);
    if (op == "Gather") return gathered(n, depth);
    return op == "Slice" ? cut(n, depth) : std::nullopt;
  }

  std::optional<PairTable> mapped(const ir::Node& n, std::size_t operand, int depth) const {
    auto t = read(n.input(operand), depth);
    if (!t || !n.output()->shape().ranked() || n.output()->shape().rank() != n.input(operand)->shape().rank())
      return std::nullopt;
    t->make = [&n, operand, inner = t->make](Emitter& e) {
      Values in = n.inputs();
      in[operand] = inner(e);
      return e.emit(n.op(), std::move(in), n.attrs());
    };
    return t;
  }

  // Axes of size 1 are put between the others.
  std::optional<PairTable> spread(const ir::Node& n, int depth) const {
    const Shape &from = n.input(0)->shape(), &to = n.output()->shape();
    if (!from.ranked() || !to.ranked() || from.rank() == 0 || from.rank() > to.rank() || to[-1] != from[-1])
      return std::nullopt;
    Ints kept;  // where the axes of `from` are in `to`
    if (n.op() == "Unsqueeze") {
      auto added = axes_of(n);
      if (!added) return std::nullopt;
      for (std::int64_t& a : *added) a = a < 0 ? a : a - to.rank();
      for (std::int64_t a = -to.rank(); a < 0; ++a)
        if (!contains(*added, a)) kept.push_back(a);
    } else {
      for (std::int64_t a = -to.rank(); a < 0; ++a)
        if (to[static_cast<int>(a)] != 1 || a == -1) kept.push_back(a);
      if (kept.size() != static_cast<std::size_t>(from.rank())) return std::nullopt;
      for (int i = 0; i < from.rank(); ++i)
        if (!equal_dims(from[i], to[static_cast<int>(nth(kept, i))])) return std::nullopt;
    }
    if (kept.size() != static_cast<std::size_t>(from.rank()) || kept.back() != -1) return std::nullopt;
    auto t = read(n.input(0), depth);
    if (!t) return std::nullopt;
    for (std::int64_t& a : t->axes) a = nth(kept, a + from.rank());
    return t;
  }

  // The rows of a matrix by their numbers.
  std::optional<PairTable> gathered(const ir::Node& n, int depth) const {
    Value* numbers = n.input(1);
    const auto axis = n.attr_or<std::int64_t>("axis", 0);
    const Shape& rows = n.input(0)->shape();
    if (axis != 0 || !rows.ranked() || rows.rank() != 2 || !numbers->shape().ranked()) return std::nullopt;
    const auto t = read(n.input(0), depth);
    if (!t || t->axes != Ints{-2, -1}) return std::nullopt;
    PairTable y{[inner = t->make, numbers](Emitter& e) { return e.gather(inner(e), numbers, 0); },
                {},
                numbers->shape().dims()};
    y.dims.push_back(t->dims.back());
    for (std::int64_t i = -std::ssize(y.dims); i < 0; ++i) y.axes.push_back(i);
    return y;
  }

  // The first n of more rows than one, where what they are multiplied with has n: fewer would not fit, nor
  // would one be broadcast.
  static Dim size_of_cut(const ir::Node& slice, Dim from, Dim to) {
    const auto& end = slice.input(2)->known_elements();
    const bool of_first = to == kUnknownDim && from > 1 && is_number(slice.input(1), 0) && end &&
                          end->size() == 1 && (!slice.input(4) || is_number(slice.input(4), 1));
    return of_first ? end->front() : to;
  }

  std::optional<PairTable> cut(const ir::Node& n, int depth) const {
    const Shape &from = n.input(0)->shape(), &to = n.output()->shape();
    Value* given = n.input(3);
    if (!given || !given->constant() || !from.ranked() || !to.ranked() || from.rank() != to.rank() ||
        n.input(1)->shape().rank() != 1)
      return std::nullopt;
    auto t = read(n.input(0), depth);
    if (!t) return std::nullopt;
    Ints axes = given->constant()->to_ints();
    for (std::int64_t& a : axes) {
      const auto at = std::ranges::find(t->axes, a < 0 ? a : a - from.rank());
      if (at == t->axes.end() || *at == -1) return std::nullopt;
      nth(t->dims, at - t->axes.begin()) =
          size_of_cut(n, from[static_cast<int>(*at)], to[static_cast<int>(*at)]);
      a = at - t->axes.begin();
    }
    t->make = [&n, axes, inner = t->make](Emitter& e) {
      Value* x = inner(e);
      return e.slice(x, n.input(1), n.input(2), e.ints(axes), n.input(4));
    };
    return t;
  }

  std::optional<Pairing> rows_;
};

// x[..., start::step] of half the row
std::optional<Part> sliced(const ir::Node& n) {
  const Shape& x = n.input(0)->shape();
  const auto of = [&](std::size_t i) {
    return n.input(i) && n.input(i)->constant() && n.input(i)->constant()->elements() == 1
               ? std::optional(n.input(i)->constant()->int_at(0))
               : std::nullopt;
  };
  const auto start = of(1), end = of(2), axis = of(3),
             step = n.input(4) ? of(4) : std::optional(std::int64_t{1});
  if (!start || !end || !axis || !step || !x.ranked() || x.rank() == 0 ||
      (*axis != -1 && *axis != x.rank() - 1) || x[-1] <= 0 || x[-1] % 2 != 0)
    return std::nullopt;
  const std::int64_t row = x[-1], half = row / 2;
  const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? i + row : i, std::int64_t{0}, row); };
  const std::int64_t from = place(*start), to = place(*end);
  if (*step == 1 && from == 0 && to == half) return Part{n.input(0), Pairing::halves, 0, &n};
  if (*step == 1 && from == half && to == row) return Part{n.input(0), Pairing::halves, 1, &n};
  if (*step == 2 && from <= 1 && to >= row - 1 + from)
    return Part{n.input(0), Pairing::neighbours, static_cast<int>(from), &n};
  return std::nullopt;
}

// One of the two that a new axis of a reshaped row has.
std::optional<Part> picked(const ir::Node& n) {
  const ir::Node* split = n.input(0)->producer();
  const auto index = number_of(n.input(1));
  const auto* axis = n.attr_if<std::int64_t>("axis");
  if (!is_op(split, "Reshape") || !index || !axis || n.input(1)->shape().rank() != 0) return std::nullopt;
  const Shape& parts = n.input(0)->shape();
  if (!merges_last_two(parts, split->input(0)->shape())) return std::nullopt;
  const int at = from_front(*axis, parts.rank());
  const auto pairing = pairing_of(at, parts.rank());
  if (!pairing || parts[at] != 2) return std::nullopt;
  const int i = static_cast<int>(*index < 0 ? *index + 2 : *index);
  return Part{split->input(0), *pairing, i, split};
}

}  // namespace

std::optional<Pairs> joined_pairs(const Value* v) {
  const ir::Node* n = v->producer();
  if (!n || !v->shape().ranked()) return std::nullopt;
  if (n->op() == "Concat" && n->input_count() == 2 && is_last_axis(*n, v->shape().rank())) {
    const Shape &a = n->input(0)->shape(), &b = n->input(1)->shape();
    return a.ranked() && b.ranked() && is_known(a[-1]) && a[-1] == b[-1]
               ? std::optional(Pairs{n->input(0), n->input(1), Pairing::halves, n})
               : std::nullopt;
  }
  const ir::Node* stack = n->op() == "Reshape" && merges_last_two(n->input(0)->shape(), v->shape())
                              ? n->input(0)->producer()
                              : nullptr;
  if (!is_op(stack, "Concat") || stack->input_count() != 2) return std::nullopt;
  const int rank = n->input(0)->shape().rank();
  const int at = axis_of(*stack, n->input(0), 0);
  const auto pairing = pairing_of(at, rank);
  Value *a = unsqueezed_at(stack->input(0), at), *b = unsqueezed_at(stack->input(1), at);
  if (!pairing || !a || !b || n->input(0)->shape()[at] != 2) return std::nullopt;
  return Pairs{a, b, *pairing, stack};
}

std::optional<Part> part_of_pairs(Value* v) {
  const ir::Node* n = v->producer();
  if (!n) return std::nullopt;
  if (n->op() == "Slice") return sliced(*n);
  if (n->op() == "Gather") return picked(*n);
  if (n->op() != "Split" || n->outputs().size() != 2 || !v->shape().ranked() ||
      !is_last_axis(*n, v->shape().rank()))
    return std::nullopt;
  const Dim half = n->output(0)->shape()[-1];
  if (!is_known(half) || half != n->output(1)->shape()[-1]) return std::nullopt;
  return Part{n->input(0), Pairing::halves, static_cast<int>(v->index()), n};
}

std::optional<PairTable> pair_table(Value* v, std::optional<Pairing> rows) { return Reader(rows).read(v); }

}  // namespace t2o::rewriters
