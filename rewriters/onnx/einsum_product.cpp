#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

constexpr std::int64_t kBig = std::int64_t{1} << 16;  // a weight that is not repeated

bool has(const std::string& letters, char l) { return letters.find(l) != letters.npos; }

// One character for each axis; an ellipsis becomes digits, counted from its last axis. False when it cannot
// be.
bool spell(std::string& term, const Value* v) {
  const auto dots = term.find("...");
  if (dots != term.npos) {
    const auto letters = static_cast<int>(term.size()) - 3;
    if (!v->shape().ranked() || v->shape().rank() < letters || v->shape().rank() - letters > 9) return false;
    std::string axes;
    for (int i = v->shape().rank() - letters; i > 0; --i) axes += static_cast<char>('0' + i);
    term.replace(dots, 3, axes);
  }
  std::string sorted = term;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() && !has(term, '.');
}

// y[batch, rows, column] = sum over inner of a[batch, rows, inner] * b[batch, inner, column], each in any
// order of axes; a may be one matrix for all of the batch.
struct Product {
  Value *a = nullptr, *b = nullptr;
  std::string in_a, in_b, out;
  std::string batch, rows, columns, inner;

  bool sort_letters() {
    batch.clear(), rows.clear(), columns.clear(), inner.clear();
    for (const char l : in_a)
      if (!has(out, l)) inner += l;
    for (const char l : out) {
      const bool digit = l >= '0' && l <= '9';
      if (!digit && !has(in_a, l) && !has(in_b, l)) return false;
      (digit || (has(in_a, l) && has(in_b, l)) ? batch : has(in_a, l) ? rows : columns) += l;
    }
    if (rows.size() == 1 && batch.empty() && columns.size() > 1) {
      batch = columns.substr(0, columns.size() - 1);
      columns.erase(0, batch.size());
    }
    const bool none_alone = std::ranges::all_of(in_b, [&](char l) { return has(out, l) || has(inner, l); }) &&
                            has(in_b, inner.empty() ? '\0' : inner[0]);
    return none_alone && inner.size() == 1 && columns.size() == 1 &&
           (rows.size() == 1 || (rows.empty() ? !batch.empty() : batch.empty()));
  }

  bool repeats_a() const { return in_a.size() == 2 && !rows.empty() && !batch.empty(); }
  bool can_repeat_a() const {
    return a->shape().ranked() && b->shape().ranked() && !(a->constant() && a->constant()->elements() > kBig);
  }
  bool may_be_empty() const {
    return std::ranges::any_of(batch, [&](char l) {
      const Shape& s = b->shape();
      return !s.ranked() || s[static_cast<int>(in_b.find(l))] <= 0;
    });
  }
};

std::optional<Product> read(const ir::Node& n) {
  const auto letters = einsum_letters(n);
  if (!letters) return std::nullopt;
  Product p{n.input(0), n.input(1), letters->a, letters->b, letters->y, {}, {}, {}, {}};
  if (!spell(p.in_a, p.a) || !spell(p.in_b, p.b) || !spell(p.out, n.output())) return std::nullopt;
  if (p.out.empty() || has(p.in_a, p.out.back())) {  // so that y needs no Transpose
    std::swap(p.a, p.b);
    std::swap(p.in_a, p.in_b);
  }
  return p.sort_letters() ? std::optional(p) : std::nullopt;
}

Value* arranged(Emitter& e, Value* v, const std::string& letters, const std::string& order) {
  if (letters == order) return v;
  Ints perm;
  for (const char l : order) perm.push_back(static_cast<std::int64_t>(letters.find(l)));
  return e.transpose(v, perm);
}

// Of an ellipsis an operand may have fewer axes; they count from the last, so that MatMul broadcasts them.
std::string of(const std::string& letters, std::string order) {
  std::erase_if(order, [&](char l) { return !has(letters, l); });
  return order;
}

// A vector and a matrix for each of the batch: the vector is one row, or one column where the matrix stands
// the other way. Null where a matrix would have to be transposed.
Value* vectors_product(Emitter& e, const Product& p) {
  const bool is_column = p.in_b == p.batch + p.columns + p.inner;
  if (p.in_a != p.batch + p.inner || (!is_column && p.in_b != p.batch + p.inner + p.columns)) return nullptr;
  const auto axis = static_cast<std::int64_t>(p.batch.size()) + (is_column ? 1 : 0);
  Value* a = e.unsqueeze(p.a, {axis});
  Value* y = is_column ? e.matmul(p.b, a) : e.matmul(a, p.b);
  return arranged(e, e.squeeze(y, {axis}), p.batch + p.columns, p.out);
}

bool replace(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  const auto p = read(n);
  if (!p) return false;
  const std::string order_a = of(p->in_a, p->batch + p->rows + p->inner),
                    order_b = of(p->in_b, p->batch + p->inner + p->columns);
  if (order_a.size() != p->in_a.size() || order_b.size() != p->in_b.size()) return false;
  if (p->repeats_a() && p->may_be_empty() && !p->can_repeat_a()) return false;  // Einsum takes an empty batch
  Emitter e(n, target);
  Value* y = nullptr;
  if (p->rows.empty()) {
    y = vectors_product(e, *p);
    if (!y) return false;
  } else {
    Value* a = arranged(e, p->a, p->in_a, order_a);
    Value* b = arranged(e, p->b, p->in_b, order_b);
    y = arranged(e, e.matmul(a, b), p->batch + p->rows + p->columns, p->out);
    if (const auto same = merge(y->shape(), n.output()->shape())) g.set_type(y, y->dtype(), *same);
  }
  replace_value(g, n.output(), y);
  return true;
}

}  // namespace

Rewriter einsum_product(const onnx::Target& target) {
  const onnx::DTypeSet types = kernel_types("MatMul", target);
  return for_each_node("einsum_product", {"Einsum"}, [target, types](ir::Graph& g, ir::Node& n) {
    return types.has(n.output()->dtype()) && replace(g, n, target);
  });
}

}  // namespace t2o::rewriters
