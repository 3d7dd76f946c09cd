#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/rotary_table.h"

namespace t2o::rewriters {
namespace {

// (a, b) -> (a cos - b sin, b cos + a sin) for each pair of each row of x.
struct Rotation {
  Value* x = nullptr;
  Pairing pairing = Pairing::halves;
  Value *cos = nullptr, *sin = nullptr;
  bool rows = false;  // cos and sin have one number for each number of a row, not for each pair
  std::vector<const ir::Node*> readers;  // of x, which the rotation takes the place of
};

// ---- x * cos + turned(x) * sin, where turned are the pairs (-b, a)

std::optional<Rotation> read_turned(Value* turned) {
  const auto pairs = joined_pairs(turned);
  const ir::Node* minus = pairs ? pairs->first->producer() : nullptr;
  if (!is_op(minus, "Neg") || !only_reader(turned) || !only_reader(minus->output())) return std::nullopt;
  const auto b = part_of_pairs(minus->input(0)), a = part_of_pairs(pairs->second);
  if (!a || !b || a->row != b->row || a->index != 0 || b->index != 1 || a->pairing != pairs->pairing ||
      b->pairing != pairs->pairing)
    return std::nullopt;
  return Rotation{a->row, pairs->pairing, nullptr, nullptr, true, {a->reader, b->reader}};
}

std::optional<Rotation> read_sum(const ir::Node& add) {
  for (const std::size_t i : {1U, 0U}) {
    const ir::Node *plain = add.input(1 - i)->producer(), *product = add.input(i)->producer();
    if (!plain || !product || plain->op() != "Mul" || product->op() != "Mul" ||
        !only_reader(plain->output()) || !only_reader(product->output()))
      continue;
    for (const std::size_t k : {0U, 1U}) {
      auto r = read_turned(product->input(k));
      if (!r || (plain->input(0) != r->x && plain->input(1) != r->x)) continue;
      r->sin = product->input(1 - k);
      r->cos = plain->input(plain->input(0) == r->x ? 1 : 0);
      r->readers.push_back(plain);
      return r;
    }
  }
  return std::nullopt;
}

// ---- the two results apart: a * cos - b * sin, b * cos + a * sin

const ir::Node* product_of(const Value* v) {
  const ir::Node* n = v->producer();
  return is_op(n, "Mul") && only_reader(v) ? n : nullptr;
}

// A part of a row and what it is multiplied with.
struct Factor {
  Part part;
  Value* by = nullptr;
};

std::optional<Factor> factor(const ir::Node* mul, int index) {
  for (const std::size_t i : {0U, 1U}) {
    const auto part = mul ? part_of_pairs(mul->input(i)) : std::nullopt;
    if (part && part->index == index) return Factor{*part, mul->input(1 - i)};
  }
  return std::nullopt;
}

std::optional<Rotation> read_parts(const Value* y) {
  const auto pairs = joined_pairs(y);
  const ir::Node* first = pairs ? pairs->first->producer() : nullptr;
  const ir::Node* second = pairs ? pairs->second->producer() : nullptr;
  if (!first || !second || first->op() != "Sub" || second->op() != "Add" || !only_reader(pairs->first) ||
      !only_reader(pairs->second))
    return std::nullopt;
  const auto a_cos = factor(product_of(first->input(0)), 0), b_sin = factor(product_of(first->input(1)), 1);
  if (!a_cos || !b_sin) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto b_cos = factor(product_of(second->input(i)), 1),
               a_sin = factor(product_of(second->input(1 - i)), 0);
    if (!b_cos || !a_sin || b_cos->by != a_cos->by || a_sin->by != b_sin->by) continue;
    Rotation r{a_cos->part.row, pairs->pairing, a_cos->by, b_sin->by, false, {}};
    for (const auto* f : {&a_cos, &b_sin, &b_cos, &a_sin}) {
      if ((*f)->part.row != r.x || (*f)->part.pairing != r.pairing) return std::nullopt;
      r.readers.push_back((*f)->part.reader);
    }
    return r;
  }
  return std::nullopt;
}

// ---- the replacement

bool is_heads_transpose(const ir::Node* n) {
  const auto* perm = perm_of(n);
  return perm && *perm == Ints{0, 2, 1, 3};
}

// Only the first numbers of a row are turned: the whole row, and the value that has all of the result.
struct Partial {
  Value *x = nullptr, *y = nullptr;
  std::vector<const ir::Node*> readers;
};

std::optional<std::pair<std::int64_t, std::int64_t>> last_axis_range(
    const Value* v) {  // [first, last) of a row
  const ir::Node* n = v->producer();
  const Shape& x = n ? n->input(0)->shape() : v->shape();
  if (!n || !x.ranked() || x.rank() == 0 || !is_known(x[-1])) return std::nullopt;
  if (n->op() == "Split") {
    const auto* axis = n->attr_if<std::int64_t>("axis");
    if (!axis || (*axis != -1 && *axis != x.rank() - 1) || n->outputs().size() != 2 ||
        !is_known(n->output(0)->shape()[-1]))
      return std::nullopt;
    const Dim first = n->output(0)->shape()[-1];
    return v->index() == 0 ? std::pair(std::int64_t{0}, first) : std::pair(first, x[-1]);
  }
  if (n->op() != "Slice" || n->input_count() < 4) return std::nullopt;
  for (std::size_t i = 1; i < n->input_count(); ++i)
    if (!n->input(i) || !n->input(i)->constant() || n->input(i)->constant()->elements() != 1)
      return std::nullopt;
  const auto at = [&](std::size_t i) { return n->input(i)->constant()->int_at(0); };
  if ((at(3) != -1 && at(3) != x.rank() - 1) || (n->input_count() == 5 && at(4) != 1)) return std::nullopt;
  const auto place = [&](std::int64_t i) {
    return std::clamp(i < 0 ? i + x[-1] : i, std::int64_t{0}, x[-1]);
  };
  return std::pair(place(at(1)), place(at(2)));
}

std::optional<Partial> partial(const Value* x, const Value* y) {
  const auto turned = last_axis_range(x);
  ir::Node* join = turned && turned->first == 0 ? only_reader(y) : nullptr;
  const auto* axis = is_op(join, "Concat") && join->input_count() == 2 && join->input(0) == y
                         ? join->attr_if<std::int64_t>("axis")
                         : nullptr;
  if (!axis || (*axis != -1 && *axis != x->shape().rank() - 1)) return std::nullopt;
  const Value* rest = join->input(1);
  Value* whole = x->producer()->input(0);
  const auto kept = last_axis_range(rest);
  if (!kept || rest->producer()->input(0) != whole || kept->first != turned->second ||
      kept->second != whole->shape()[-1] || !only_reader(rest))
    return std::nullopt;
  return Partial{whole, join->output(), {x->producer(), rest->producer()}};
}

class RotaryFusion {
 public:
  RotaryFusion(ir::Graph& g, const onnx::Target& target)
      : g_(g), target_(target), types_(kernel_types("RotaryEmbedding", target)) {}

  int run() {
    if (types_.empty()) return 0;
    int changes = 0;
    for (ir::Node& n : g_.nodes()) {
      const bool is_sum = n.op() == "Add";
      if (!is_sum && n.op() != "Concat" && n.op() != "Reshape") continue;
      auto r = is_sum ? read_sum(n) : read_parts(n.output());
      if (r && fuse(n.output(), *r)) ++changes;
    }
    return changes;
  }

 private:
  // Where the rows' numbers are, from the end: at -2, heads in front of it or none; or at -3, in front of the
  // heads.
  struct Tables {
    PairTable cos, sin;
    std::int64_t rows = -2;
  };

  bool fuse(Value* y, Rotation& r) {
    const Shape& x = r.x->shape();
    const bool fits = types_.has(r.x->dtype()) && x.ranked() && (x.rank() == 3 || x.rank() == 4) &&
                      is_known(x[-1]) && (x.rank() == 3 || is_known(x[1]) || is_known(x[2]));
    const auto tables = fits ? read_tables(r) : std::nullopt;
    if (!tables) {
      trace_match("fuse_rotary", y,
                  "dims that might have to be broadcast, or numbers that differ within a pair");
      return false;
    }
    std::int64_t turned = 0;
    if (auto p = partial(r.x, y)) {
      turned = x[-1];
      r.x = p->x;
      r.readers = p->readers;
      y = p->y;
    }
    Emitter e(g_, target_, y->producer()->shared_origin(), y->producer());
    const bool from_transpose =
        x.rank() == 4 && tables->rows == -2 && is_heads_transpose(r.x->producer()) && reads_alone(r);
    Value* data = laid_out(e, r.x, tables->rows, from_transpose);
    Value* cos = cache(e, data, r.x->shape(), tables->cos, tables->rows);
    Value* sin = cache(e, data, r.x->shape(), tables->sin, tables->rows);
    Attrs attrs;
    if (r.pairing == Pairing::neighbours) attrs.push_back({"interleaved", 1});
    if (turned != 0) attrs.push_back({"rotary_embedding_dim", turned});
    if (data->shape().rank() == 3) attrs.push_back({"num_heads", heads(r.x->shape(), tables->rows)});
    Value* turned_data = e.emit("RotaryEmbedding", {data, cos, sin}, std::move(attrs));
    replace_value(g_, y, laid_back(e, turned_data, r.x->shape(), tables->rows, from_transpose));
    return true;
  }

  static std::optional<Tables> read_tables(const Rotation& r) {
    const auto rows = r.rows ? std::optional(r.pairing) : std::nullopt;
    auto cos = pair_table(r.cos, rows), sin = pair_table(r.sin, rows);
    if (!cos || !sin) return std::nullopt;
    for (const std::int64_t at : {-2, -3}) {
      const bool heads_known = r.x->shape().rank() == 3 ? at == -2 : is_known(r.x->shape()[at == -2 ? 1 : 2]);
      if (heads_known && belongs(*cos, r.x->shape(), at) && belongs(*sin, r.x->shape(), at))
        return Tables{std::move(*cos), std::move(*sin), at};
    }
    return std::nullopt;
  }

  // Of batches and rows, or the same for all of them.
  static bool belongs(const PairTable& t, const Shape& x, std::int64_t rows) {
    if (t.axes.empty() || t.axes.back() != -1 || t.dims.back() * 2 != x[-1]) return false;
    for (std::size_t i = 0; i + 1 < t.axes.size(); ++i) {
      const std::int64_t a = t.axes[i];
      if (t.dims[i] == 1) continue;
      const bool is_axis = a == -x.rank() || a == rows;
      if (!is_axis || !equal_dims(t.dims[i], x[static_cast<int>(a)])) return false;
    }
    return true;
  }

  static std::int64_t heads(const Shape& x, std::int64_t rows) {
    return x.rank() == 3 ? 1 : x[rows == -2 ? 1 : 2];
  }

  // As the operator takes it: [batch, head, row, column], or [batch, row, head * column] where the heads
  // stand behind the rows.
  static Value* laid_out(Emitter& e, Value* x, std::int64_t rows, bool from_transpose) {
    if (x->shape().rank() == 3 || (rows == -2 && !from_transpose)) return x;
    Value* heads_behind = from_transpose ? x->producer()->input(0) : x;
    const std::int64_t width = heads(x->shape(), rows) * x->shape()[-1];
    Value* flat = before_heads(heads_behind, width);
    return flat ? flat : e.reshape(heads_behind, {0, 0, width});
  }

  static Value* laid_back(Emitter& e, Value* y, const Shape& x, std::int64_t rows, bool from_transpose) {
    if (x.rank() == 3 || (rows == -2 && !from_transpose)) return y;
    Value* behind = e.reshape(y, {0, 0, heads(x, rows), x[-1]});
    return from_transpose ? e.transpose(behind, {0, 2, 1, 3}) : behind;
  }

  // [batch, row, pair], of data as it is laid out
  static Value* cache(Emitter& e, Value* data, const Shape& x, const PairTable& t, std::int64_t rows) {
    const auto rank = std::int64_t{x.rank()};
    Value* v = t.make(e);
    const auto has = [&](std::int64_t a) {
      const auto at = std::ranges::find(t.axes, a) - t.axes.begin();
      return at < std::ssize(t.axes) && equal_dims(nth(t.dims, at), x[static_cast<int>(a)]);
    };
    const bool of_batch = has(-rank), of_row = has(rows);
    Ints left_out;
    for (std::size_t i = 0; i + 1 < t.axes.size(); ++i)
      if (!(t.axes[i] == -rank && of_batch) && !(t.axes[i] == rows && of_row))
        left_out.push_back(static_cast<std::int64_t>(i));
    if (!left_out.empty()) v = e.squeeze(v, left_out);
    if (of_batch && of_row) return v;
    if (of_batch) v = e.unsqueeze(v, {1});
    if (of_row && x[0] == 1) return e.unsqueeze(v, {0});
    const int row = data->shape().rank() - 2;
    Value* one = e.ints({1});
    Value* batch = of_batch ? one : e.dims(data, 0, 1);
    Value* count = of_row ? one : e.dims(data, row, row + 1);
    return e.expand(v, e.concat({batch, count, one}, 0));
  }

  static bool reads_alone(const Rotation& r) {
    return !r.x->is_graph_output() &&
           std::ranges::all_of(r.x->uses(), [&](const ir::Use& u) { return contains(r.readers, u.node); });
  }

  ir::Graph& g_;
  const onnx::Target& target_;
  onnx::DTypeSet types_;
};

}  // namespace

Rewriter fuse_rotary(const onnx::Target& target) {
  return {"fuse_rotary", [target](ir::Graph& g) { return RotaryFusion(g, target).run(); }, {"Mul"}};
}

}  // namespace t2o::rewriters
