#include <algorithm>
#include <array>
#include <cmath>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/attention_mask.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

// Where the axes stand in a value that is meant as [batch, head, row, column].
using Axes = std::array<std::int64_t, 4>;
constexpr Axes kHeadsFirst = {0, 1, 2, 3}, kHeadsBehindRows = {0, 2, 1, 3};

struct Operand {
  Value* value = nullptr;
  Axes axes = kHeadsFirst;
  Dim dim(std::size_t role) const { return value->shape()[static_cast<int>(axes[role])]; }
};

// What a positive number multiplies, and that number.
std::optional<std::pair<Value*, double>> scaled_value(const ir::Node& n) {
  if (n.op() != "Mul" && n.op() != "Div") return std::nullopt;
  for (const std::size_t i : {1U, 0U}) {
    const auto k = number_of(n.input(i));
    const bool usable = k && is_float(n.output()->dtype()) && n.input(i)->shape().rank() <= 4 && *k > 0 &&
                        std::isfinite(*k) && (i == 1 || n.op() == "Mul");
    if (usable) return std::pair(n.input(1 - i), n.op() == "Div" ? 1 / *k : *k);
  }
  return std::nullopt;
}

// ---- the two products

std::optional<EinsumLetters> letters(const ir::Node& n) {
  if (n.op() == "MatMul") return EinsumLetters{"abcd", "abde", "abce"};
  auto l = einsum_letters(n);
  return l && (l->a + l->b + l->y).find('.') == std::string::npos ? l : std::nullopt;
}

// Where `roles` stand in `word`; nullopt when these are not its four different letters.
std::optional<Axes> axes_of(const std::string& roles, const std::string& word) {
  Axes axes{};
  if (word.size() != 4 || roles.size() != 4) return std::nullopt;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto at = word.find(roles[i]);
    if (at == word.npos || roles.find(roles[i], i + 1) != roles.npos) return std::nullopt;
    axes[i] = static_cast<std::int64_t>(at);
  }
  return axes;
}

char other_letter(const std::string& word, const std::string& known) {
  const auto at = word.find_first_not_of(known);
  return at == word.npos ? '\0' : word[at];
}

bool has_four_axes(const Value* v) { return v->shape().ranked() && v->shape().rank() == 4; }

struct Products {
  Operand q, k, v;
  Axes out = kHeadsFirst;  // of the last product, as [batch, head, row, column]
  double scale = 1;
};

// scores[b, n, t, s] = sum over h of q[b, n, t, h] * k[b, n, s, h]
bool read_scores(const ir::Node& n, Products& p) {
  auto w = letters(n);
  if (!w || w->y.size() != 4 || !has_four_axes(n.input(0)) || !has_four_axes(n.input(1))) return false;
  const bool swapped = w->a.find(w->y[2]) == w->a.npos;
  if (swapped) std::swap(w->a, w->b);
  const std::string batch = w->y.substr(0, 2);
  const char h = other_letter(w->a, w->y);
  const auto q = axes_of(batch + w->y[2] + h, w->a), k = axes_of(batch + w->y[3] + h, w->b);
  if (!q || !k) return false;
  p.q = {n.input(swapped ? 1 : 0), *q};
  p.k = {n.input(swapped ? 0 : 1), *k};
  return true;
}

// y[b, n, t, e] = sum over s of weights[b, n, t, s] * v[b, n, s, e]
bool read_result(const ir::Node& n, const Value* weights, Products& p) {
  auto w = letters(n);
  if (!w || !has_four_axes(n.input(0)) || !has_four_axes(n.input(1))) return false;
  const bool swapped = n.input(0) != weights;
  if (swapped && n.op() == "MatMul") return false;
  if (swapped) std::swap(w->a, w->b);
  if (w->a.size() != 4) return false;
  const std::string batch = w->a.substr(0, 2);
  const char e = other_letter(w->b, w->a);
  const auto v = axes_of(batch + w->a[3] + e, w->b), out = axes_of(batch + w->a[2] + e, w->y);
  if (!v || !out) return false;
  p.v = {n.input(swapped ? 0 : 1), *v};
  p.out = *out;
  return true;
}

// Behind transposes and numbers.
void look_behind(Operand& x, double* scale) {
  for (const ir::Node* n = x.value->producer(); n; n = x.value->producer()) {
    const auto* perm = perm_of(n);
    const auto inner = scale ? scaled_value(*n) : std::nullopt;
    if (perm) {
      for (std::int64_t& a : x.axes) a = nth(*perm, a);
      x.value = n->input(0);
    } else if (inner && has_four_axes(inner->first)) {
      *scale *= inner->second;
      x.value = inner->first;
    } else {
      return;
    }
  }
}

// Each head several times in a row, as fuse_repeat leaves it: how often.
std::int64_t look_behind_repeat(Operand& x) {
  const ir::Node* n = x.value->producer();
  if (!repeats_elements(n) || n->input(2)->constant()->elements() != 4) return 1;
  double times = 1;
  for (std::int64_t i = 0; i < 4; ++i) {
    const double scale = n->input(2)->constant()->float_at(i);
    if (i == x.axes[1])
      times = scale;
    else if (scale != 1)
      return 1;
  }
  const Dim heads = n->input(0)->shape()[static_cast<int>(x.axes[1])];
  if (!is_known(heads) || times != std::floor(times) || heads * static_cast<std::int64_t>(times) != x.dim(1))
    return 1;
  x.value = n->input(0);
  return static_cast<std::int64_t>(times);
}

// Query heads that share one of k's and v's: the attention repeats those by itself.
void look_behind_repeats(Operand& k, Operand& v) {
  Operand inner_k = k, inner_v = v;
  const std::int64_t times = look_behind_repeat(inner_k);
  if (times == 1 || look_behind_repeat(inner_v) != times) return;
  k = inner_k;
  v = inner_v;
}

// From the softmax back to the product: the number on the way, and what is added.
bool read_logits(Value* v, Products& p, AttentionMask& mask, int depth = 8) {
  const ir::Node* n = v->producer();
  if (!n || depth == 0 || !only_reader(v)) return false;
  if (n->op() == "MatMul" || n->op() == "Einsum") return read_scores(*n, p);
  if (const auto inner = scaled_value(*n)) {
    p.scale *= inner->second;
    return read_logits(inner->first, p, mask, depth - 1);
  }
  Value* kept = p.scale == 1 ? mask.take_product(*n) : nullptr;
  if (kept) return read_logits(kept, p, mask, depth - 1);
  const auto before = mask;
  const double scale = p.scale;
  for (std::size_t i = 0; i < n->input_count(); ++i) {
    const bool taken = mask.take(*n, i, scale);
    if (taken && read_logits(n->input(i), p, mask, depth - 1)) return true;
    mask = before;
    p.scale = scale;
  }
  return false;
}

// Equal, or both to be seen when it runs.
bool may_be_broadcast(Dim a, Dim b) { return equal_dims(a, b) || (!is_known(a) && !is_known(b)); }

class AttentionFusion {
 public:
  AttentionFusion(ir::Graph& g, const onnx::Target& target) : g_(g), target_(target) {
    const onnx::OpInfo* info = op_info("Attention", target);
    if (info && info->has_kernel) types_ = info->params[0].kernels & info->params[1].kernels;
  }

  int run() {
    if (types_.empty()) return 0;
    int changes = 0;
    for (ir::Node& n : g_.nodes())
      if (n.op() == "Softmax" && fuse(n)) ++changes;
    return changes;
  }

 private:
  bool fuse(const ir::Node& softmax) {
    const auto axis = softmax.attr_or<std::int64_t>("axis", -1);
    ir::Node* root = only_reader(softmax.output());
    const Ints& sizes = softmax.output()->shape().dims();
    if (!root || !has_four_axes(softmax.output()) || (axis != -1 && axis != 3)) return false;
    if (contains(sizes, 0)) return false;  // what has no elements is left to fold_empty
    Products p;
    AttentionMask mask;
    if (!types_.has(root->output()->dtype()) || !read_result(*root, softmax.output(), p) ||
        !read_logits(softmax.input(0), p, mask))
      return false;
    const Shape scores(Ints{
        equal_dims(p.q.dim(0), p.k.dim(0)) && equal_dims(p.k.dim(0), p.v.dim(0)) ? p.q.dim(0) : kUnknownDim,
        p.q.dim(1), p.q.dim(2), p.k.dim(2)});
    if (!dims_fit(p) || !mask.fits(scores, same_columns(p))) {
      trace_match("fuse_attention", root->output(), "dims that might have to be broadcast");
      return false;
    }
    look_behind(p.q, &p.scale);
    look_behind(p.k, &p.scale);
    look_behind(p.v, nullptr);
    look_behind_repeats(p.k, p.v);
    look_behind(p.k, &p.scale);
    look_behind(p.v, nullptr);
    emit(*root, p, mask, scores);
    return true;
  }

  static bool dims_fit(const Products& p) {
    const bool heads =
        is_known(p.q.dim(1)) && p.q.dim(1) > 0 && p.q.dim(1) == p.k.dim(1) && p.q.dim(1) == p.v.dim(1);
    return heads && may_be_broadcast(p.q.dim(0), p.k.dim(0)) && may_be_broadcast(p.k.dim(0), p.v.dim(0)) &&
           may_be_broadcast(p.q.dim(0), p.v.dim(0));
  }

  // Their sizes are, or what both are reshaped from is alike, and they are but for one size that is inferred.
  static bool same_columns(const Products& p) {
    if (equal_dims(p.k.dim(2), p.v.dim(2))) return true;
    Operand k = p.k, v = p.v;
    look_behind(k, nullptr);
    look_behind(v, nullptr);
    const ir::Node *a = k.value->producer(), *b = v.value->producer();
    if (!a || !b || a->op() != "Reshape" || b->op() != "Reshape" || k.axes[2] != v.axes[2]) return false;
    const auto unknown = [](const Shape& s) {
      return s.ranked() ? std::ranges::count(s.dims(), kUnknownDim) : -1;
    };
    const Shape &from = a->input(0)->shape(), &to = k.value->shape();
    return unknown(from) == 0 && from == b->input(0)->shape() && unknown(to) == 1 && to == v.value->shape() &&
           k.dim(2) == kUnknownDim;
  }

  static bool rows_before_heads(const Operand& x) { return x.axes == kHeadsBehindRows && is_known(x.dim(3)); }

  void emit(ir::Node& root, const Products& p, const AttentionMask& mask, const Shape& scores) {
    const std::int64_t heads = p.q.dim(1), width = p.v.dim(3);
    const bool flat = rows_before_heads(p.q) && rows_before_heads(p.k) && rows_before_heads(p.v);
    ir::Node* turned = p.out == kHeadsFirst ? only_reader(root.output()) : nullptr;
    const auto* perm = perm_of(turned);
    const bool turns = perm && *perm == Ints{0, 2, 1, 3};
    Emitter e(root, target_);
    Values in;
    for (const Operand* x : {&p.q, &p.k, &p.v}) in.push_back(flat ? joined_heads(e, *x) : heads_first(e, *x));
    share_batches(e, in);
    if (!mask.empty()) {
      Value* added = mask.emit(e, scores, in, flat ? 1 : 2);
      in.push_back(added);
    }
    Attrs attrs{{"scale", static_cast<float>(p.scale)}};
    if (flat) attrs.insert(attrs.end(), {{"q_num_heads", heads}, {"kv_num_heads", p.k.dim(1)}});
    Value* y = e.emit("Attention", std::move(in), std::move(attrs));
    Value* old = turns && flat ? turned->output() : root.output();
    if (flat && (turns || p.out == kHeadsBehindRows) && join_reshape(old, y)) return;
    if (flat) y = e.reshape(y, {0, 0, heads, width});
    const Axes now = flat ? kHeadsBehindRows : kHeadsFirst, wanted = turns && flat ? kHeadsBehindRows : p.out;
    if (now != wanted) y = e.transpose(y, between(now, wanted));
    replace_value(g_, old, y);
  }

  // A product broadcasts the batches of its operands; an attention does not.
  static void share_batches(Emitter& e, Values& in) {
    const Values own = in;
    for (std::size_t i = 0; i < in.size(); ++i)
      for (std::size_t j = 0; j < own.size(); ++j) {
        const auto is_same = [&](const Value* v) { return equal_dims(v->shape()[0], own[j]->shape()[0]); };
        if (i == j || is_same(own[i]) ||
            std::any_of(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(j), is_same))
          continue;
        Value* batch = e.dims(own[j], 0, 1);
        Value* ones = e.ints(repeated(1, in[i]->shape().rank() - 1));
        Value* shape = e.concat({batch, ones}, 0);
        in[i] = e.expand(in[i], shape);
      }
  }

  static Ints between(const Axes& now, const Axes& wanted) {
    Ints perm(4);
    for (std::size_t i = 0; i < 4; ++i) nth(perm, wanted[i]) = now[i];
    return perm;
  }

  static Value* heads_first(Emitter& e, const Operand& x) {
    return x.axes == kHeadsFirst ? x.value : e.transpose(x.value, Ints(x.axes.begin(), x.axes.end()));
  }

  // [batch, row, head, column] -> [batch, row, head * column]
  static Value* joined_heads(Emitter& e, const Operand& x) {
    const std::int64_t width = x.dim(1) * x.dim(3);
    if (Value* whole = before_heads(x.value, width)) return whole;
    const ir::Node* sum = x.value->producer();
    if (is_op(sum, "Add") && only_reader(x.value))
      for (const std::size_t i : {0U, 1U}) {
        const Value* bias = sum->input(i);
        Value* whole = bias->constant() && bias->constant()->elements() == width && covers(bias->shape(), x)
                           ? before_heads(sum->input(1 - i), width)
                           : nullptr;
        if (!whole) continue;
        Value* row = e.constant(bias->constant()->with_dims({width}), bias->name());
        e.graph().derive(row, bias, {ir::Alteration::reshape(row->shape())});
        return e.add(whole, row);
      }
    return e.reshape(x.value, {0, 0, width});
  }

  static bool covers(const Shape& bias, const Operand& x) {
    return bias.rank() >= 2 && bias[-1] == x.dim(3) && bias[-2] == x.dim(1);
  }

  // The heads are put together again: the reshape reads the attention's own result, or is it.
  bool join_reshape(Value* old, Value* y) {
    ir::Node* n = only_reader(old);
    if (!is_op(n, "Reshape") || n->input(0) != old) return false;
    const Shape &to = n->output()->shape(), &from = y->shape();
    const auto dims = constant_ints(n->input(1));
    const bool copies =
        dims
            ? std::ranges::count(*dims, 0) >
                  std::count(dims->begin(), dims->begin() + std::min<std::ptrdiff_t>(2, std::ssize(*dims)), 0)
            : !n->attr("allowzero");
    if (copies || !from.ranked() || !is_known(from[2])) return false;
    const bool whole = to.ranked() && to.rank() == 3 && to[2] == from[2];
    const bool copied = dims && whole && ((*dims)[0] == 0 || (*dims)[1] == 0) && !n->attr("allowzero");
    const bool same = whole && (same_size(to[0], from[0]) || same_size(to[1], from[1]));
    if (copied || same)
      replace_value(g_, n->output(), y);
    else
      g_.set_input(*n, 0, y);
    return true;
  }

  ir::Graph& g_;
  const onnx::Target& target_;
  onnx::DTypeSet types_;
};

}  // namespace

Rewriter fuse_attention(const onnx::Target& target) {
  return {"fuse_attention", [target](ir::Graph& g) { return AttentionFusion(g, target).run(); }, {"Softmax"}};
}

}  // namespace t2o::rewriters
