#include "rewriters/tf/facts.h"

#include <algorithm>
#include <limits>

namespace t2o::rewriters {
namespace {

constexpr int kDeepest = 24;
constexpr std::int64_t kMostElements = 256;

bool one_of(const std::string& op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

std::int64_t int_attr(const ir::Node& n, std::string_view name, std::int64_t fallback = 0) {
  const auto* a = n.attr_if<std::int64_t>(name);
  return a ? *a : fallback;
}

using MaybeInts = std::optional<Ints>;
MaybeInts ints_of(Value* v, int depth);

MaybeInts joined(const ir::Node& n, std::size_t first, std::size_t last, int depth) {
  Ints all;
  for (std::size_t i = first; i < last; ++i) {
    const MaybeInts part = ints_of(n.input(i), depth);
    if (!part) return {};
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

MaybeInts combined(const ir::Node& n, int depth, std::int64_t (*f)(std::int64_t, std::int64_t)) {
  const MaybeInts a = ints_of(n.input(0), depth), b = a ? ints_of(n.input(1), depth) : a;
  if (!b || a->empty() || b->empty()) return {};
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return {};
  Ints out(std::max(a->size(), b->size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = f((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
  return out;
}

MaybeInts range(const ir::Node& n, int depth) {
  const MaybeInts all = joined(n, 0, 3, depth);
  if (!all || all->size() != 3 || (*all)[2] == 0) return {};
  const std::int64_t limit = (*all)[1], step = (*all)[2];
  Ints out;
  for (std::int64_t i = (*all)[0]; step > 0 ? i < limit : i > limit; i += step) {
    out.push_back(i);
    if (static_cast<std::int64_t>(out.size()) > kMostElements) return {};
  }
  return out;
}

// x[k] of a vector: begin, end and stride have one element each.
std::optional<std::int64_t> picked(const ir::Node& n, std::size_t size, int depth) {
  if (n.op() != "StridedSlice" || int_attr(n, "shrink_axis_mask") != 1 || int_attr(n, "new_axis_mask") != 0)
    return {};
  const MaybeInts begin = ints_of(n.input(1), depth);
  if (!begin || begin->size() != 1 || int_attr(n, "ellipsis_mask") != 0 || int_attr(n, "begin_mask") != 0)
    return {};
  const std::int64_t at = (*begin)[0] < 0 ? (*begin)[0] + static_cast<std::int64_t>(size) : (*begin)[0];
  if (at < 0 || at >= static_cast<std::int64_t>(size)) return {};
  return at;
}

MaybeInts ints_of_node(const ir::Node& n, std::size_t output, int depth) {
  const std::string& op = n.op();
  if (one_of(op, {"Identity", "ExpandDims", "Reshape", "Squeeze", "StopGradient", "Snapshot"}))
    return ints_of(n.input(0), depth);
  if (op == "Cast")
    return n.input(0) && is_int(n.input(0)->dtype()) ? ints_of(n.input(0), depth) : MaybeInts();
  if (op == "Range") return range(n, depth);
  if (op == "Pack") return joined(n, 0, n.input_count(), depth);
  if (op == "ConcatV2") return joined(n, 0, n.input_count() - 1, depth);
  if (op == "Add" || op == "AddV2")
    return combined(n, depth, [](std::int64_t a, std::int64_t b) { return a + b; });
  if (op == "Sub") return combined(n, depth, [](std::int64_t a, std::int64_t b) { return a - b; });
  if (op == "Mul") return combined(n, depth, [](std::int64_t a, std::int64_t b) { return a * b; });
  if (op == "Minimum")
    return combined(n, depth, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  if (op == "Maximum")
    return combined(n, depth, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  if (op == "Shape" && n.input(0)->shape().is_static()) return n.input(0)->shape().dims();
  if (op == "Rank" && n.input(0)->shape().ranked()) return Ints{n.input(0)->shape().rank()};
  if (op == "StridedSlice" || op == "Unpack") {
    const MaybeInts all = ints_of(n.input(0), depth);
    if (!all) return {};
    if (op == "Unpack") return output < all->size() ? MaybeInts(Ints{(*all)[output]}) : MaybeInts();
    if (const auto at = picked(n, all->size(), depth)) return Ints{(*all)[static_cast<std::size_t>(*at)]};
  }
  return {};
}

MaybeInts ints_of(Value* v, int depth) {
  if (!v || depth > kDeepest) return {};
  if (const TensorPtr& t = v->constant())
    return is_int(t->dtype()) && t->elements() <= kMostElements ? MaybeInts(t->to_ints()) : MaybeInts();
  return v->producer() ? ints_of_node(*v->producer(), v->index(), depth + 1) : MaybeInts();
}

bool all_bytes_zero(const Tensor& t) {
  if (t.dtype() == DType::string) return false;
  const Bytes b = t.bytes();
  return std::all_of(b.begin(), b.end(), [](std::byte x) { return x == std::byte{0}; });
}

bool zero(Value* v, int depth) {
  if (!v || depth > kDeepest) return false;
  if (v->constant()) return all_bytes_zero(*v->constant());
  const ir::Node* n = v->producer();
  if (!n) return false;
  if (n->op() == "ZerosLike") return true;
  if (n->op() == "Fill") return zero(n->input(1), depth + 1);
  if (one_of(n->op(), {"Identity", "BroadcastTo", "Tile", "Reshape", "ExpandDims", "Squeeze", "Transpose",
                       "Slice", "StridedSlice", "StopGradient", "Snapshot", "Cast", "Unpack", "GatherV2"}))
    return zero(n->input(0), depth + 1);
  if (n->op() == "Split") return zero(n->input(1), depth + 1);
  if (n->op() == "Pack" || n->op() == "ConcatV2") {
    const std::size_t count = n->input_count() - (n->op() == "ConcatV2" ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i)
      if (!zero(n->input(i), depth + 1)) return false;
    return true;
  }
  return false;
}

std::optional<Extent> extent_value(Value* v, int depth);

// min(T, max(1, T)) is T, also for T = 0: what dynamic_rnn computes without sequence lengths.
std::optional<Extent> least_extent(const ir::Node& n, int depth) {
  for (std::size_t i = 0; i < 2; ++i) {
    const auto a = extent_value(n.input(i), depth);
    Value* other = n.input(1 - i);
    if (!a) continue;
    if (const auto b = extent_value(other, depth); b && *b == *a) return a;
    if (!is_op(other, "Maximum")) continue;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto b = extent_value(other->producer()->input(k), depth);
      const auto one = known_ints(other->producer()->input(1 - k));
      if (b && *b == *a && one == Ints{1}) return a;
    }
  }
  return {};
}

std::optional<Extent> extent_value(Value* v, int depth) {
  v = through_identities(v);
  if (!v || depth > kDeepest) return {};
  if (const auto c = ints_of(v, depth); c && c->size() == 1 && (*c)[0] >= 0) return Extent{.dim = (*c)[0]};
  const ir::Node* n = v->producer();
  if (!n) return {};
  if (n->op() == "Cast" || n->op() == "Squeeze") return extent_value(n->input(0), depth + 1);
  if (n->op() == "Minimum") return least_extent(*n, depth + 1);
  if (n->op() == "Max" || n->op() == "Min" || n->op() == "Sum" ||
      n->op() == "Prod")  // of a scalar, over no axes
    return n->input(0)->shape().is_scalar() || known_ints(n->input(1)) == Ints{}
               ? extent_value(n->input(0), depth + 1)
               : std::nullopt;
  if (!is_op(n->input(0), "Shape")) return {};
  Value* of = n->input(0)->producer()->input(0);
  if (n->op() == "Unpack") return extent_of(of, static_cast<int>(v->index()));
  const std::size_t size = of->shape().ranked() ? static_cast<std::size_t>(of->shape().rank())
                                                : std::numeric_limits<std::int32_t>::max();
  if (const auto at = picked(*n, size, depth + 1)) return extent_of(of, static_cast<int>(*at));
  if (n->op() == "GatherV2" && v->shape().is_scalar())
    if (const auto at = known_ints(n->input(1)); at && at->size() == 1 && (*at)[0] >= 0)
      return extent_of(of, static_cast<int>((*at)[0]));
  return {};
}

// Of the rows that indices name: an axis of the result is one of theirs.
bool of_indices(const ir::Node& n, int axis) {
  const bool of_rows = n.op() == "GatherV2"
                           ? known_ints(n.input(2)) == Ints{0} && int_attr(n, "batch_dims") == 0
                           : n.op() == "Gather" || n.op() == "ResourceGather";
  return of_rows && int_attr(n, "batch_dims") == 0 && n.input(1)->shape().ranked() && axis >= 0 &&
         axis < n.input(1)->shape().rank();
}

}  // namespace

bool is_op(const Value* v, std::string_view op) { return v && v->producer() && v->producer()->op() == op; }

bool has_same_attrs(const ir::Node& a, const ir::Node& b) {
  return a.attrs().size() == b.attrs().size() &&
         std::all_of(a.attrs().begin(), a.attrs().end(), [&](const ir::NamedAttr& attr) {
           const Attr* other = b.attr(attr.name);
           return other && *other == attr.value;
         });
}

Value* through_identities(Value* v) {
  while (v && v->producer()) {
    const ir::Node& n = *v->producer();
    if (one_of(n.op(), {"Identity", "StopGradient", "PreventGradient", "Snapshot"})) {
      v = n.input(0);
    } else if (n.op() == "IdentityN") {
      v = n.input(v->index());
    } else {
      break;
    }
  }
  return v;
}

std::int64_t known_last_dim(Value* v) {
  v = through_identities(v);
  if (v->shape().ranked() && v->shape().rank() == 0) return 1;
  if (v->shape().ranked() && is_known(v->shape()[-1])) return v->shape()[-1];
  if (!is_op(v, "Fill")) return -1;
  Value* dims = through_identities(v->producer()->input(0));
  const bool is_pack = is_op(dims, "Pack"), is_concat = is_op(dims, "ConcatV2");
  if (is_pack || is_concat)
    dims = dims->producer()->input(dims->producer()->input_count() - (is_pack ? 1 : 2));
  const auto last = known_ints(dims);
  return last && !last->empty() ? last->back() : -1;
}

int known_rank(Value* v) {
  for (int depth = 0; v && depth < kDeepest; ++depth) {
    if (v->shape().ranked()) return v->shape().rank();
    const ir::Node* n = v->producer();
    if (!n) return -1;
    if (one_of(n->op(), {"Minimum", "Maximum", "Add", "AddV2", "Sub", "Mul"})) {
      const int other = known_rank(n->input(1));
      const int rank = known_rank(n->input(0));
      return rank < 0 || other < 0 ? -1 : std::max(rank, other);
    }
    if (n->op() == "Transpose")
      if (const auto perm = known_ints(n->input(1))) return static_cast<int>(perm->size());
    if (!one_of(n->op(), {"Identity", "Cast", "StopGradient", "Snapshot", "Transpose", "ReverseV2",
                          "ReverseSequence"}))
      return -1;
    v = n->input(0);
  }
  return -1;
}

std::optional<Ints> known_ints(Value* v) { return ints_of(v, 0); }

std::optional<double> known_scalar(Value* v) {
  v = through_identities(v);
  if (!v || !v->constant() || v->constant()->elements() != 1 || v->dtype() == DType::string) return {};
  if (!is_int(v->dtype()) && !is_float(v->dtype())) return {};
  return v->constant()->float_at(0);
}

bool is_ones(Value* v) {
  v = through_identities(v);
  if (is_op(v, "OnesLike")) return true;
  if (is_op(v, "Fill")) return known_scalar(v->producer()->input(1)) == 1.0;
  if (!v || !v->constant() || !is_float(v->dtype()) || v->constant()->elements() == 0) return false;
  const Tensor& t = *v->constant();
  for (std::int64_t i = 0; i < t.elements(); ++i)
    if (t.float_at(i) != 1.0) return false;
  return true;
}

bool is_zero(Value* v) { return zero(v, 0); }

std::optional<Range> last_axis_slice(const ir::Node& n, int rank, std::int64_t width) {
  const MaybeInts begin = known_ints(n.input(1)), end = known_ints(n.input(2));
  if (!begin || !end || begin->size() != end->size() || begin->empty() || width < 0) return {};
  const std::size_t last = begin->size() - 1;
  std::int64_t from = begin->back(), to = end->back();
  if (n.op() == "Slice") {  // begin, size
    if (static_cast<int>(begin->size()) != rank) return {};
    for (std::size_t i = 0; i < last; ++i)
      if ((*begin)[i] != 0 || (*end)[i] != -1) return {};
    return Range{from, to < 0 ? width - from : to};
  }
  const MaybeInts steps = known_ints(n.input(3));
  if (!steps || (*steps)[last] != 1) return {};
  if (int_attr(n, "shrink_axis_mask") != 0 || int_attr(n, "new_axis_mask") != 0) return {};
  const auto masked = [&](std::string_view mask, std::size_t i) { return (int_attr(n, mask) >> i & 1) != 0; };
  bool ellipsis = false;
  for (std::size_t i = 0; i < last; ++i) {
    const bool is_ellipsis = masked("ellipsis_mask", i);
    ellipsis = ellipsis || is_ellipsis;
    const bool whole = masked("begin_mask", i) && masked("end_mask", i) && (*steps)[i] == 1;
    if (!is_ellipsis && !whole) return {};
  }
  if (masked("ellipsis_mask", last) || (!ellipsis && static_cast<int>(begin->size()) != rank)) return {};
  if (masked("begin_mask", last)) from = 0;
  if (masked("end_mask", last)) to = width;
  if (from < 0) from += width;
  if (to < 0) to += width;
  to = std::min(to, width);
  if (from < 0 || from >= to) return {};
  return Range{from, to - from};
}

Extent extent_of(Value* v, int axis) {
  int rank = -1;
  for (int depth = 0; depth < kDeepest; ++depth) {
    if (v->shape().ranked()) {
      rank = v->shape().rank();
      if (axis >= rank) break;
      if (const Dim d = v->shape()[axis]; d != kUnknownDim) return {.dim = d};
    }
    const ir::Node* n = v->producer();
    if (!n) break;
    if (n->op() == "Transpose") {
      const MaybeInts perm = known_ints(n->input(1));
      if (!perm || axis >= static_cast<int>(perm->size())) break;
      rank = static_cast<int>(perm->size());
      axis = static_cast<int>((*perm)[static_cast<std::size_t>(axis)]);
      if (axis < 0) axis += rank;
    } else if (n->op() == "ExpandDims") {
      const MaybeInts at = known_ints(n->input(1));
      if (!at || at->size() != 1) break;
      if ((*at)[0] == axis || (rank >= 0 && (*at)[0] + rank == axis)) return {.dim = 1};
      break;
    } else if (of_indices(*n, axis)) {
      v = n->input(1);
      rank = -1;
      continue;
    } else if (!one_of(n->op(), {"Identity", "Cast", "ReverseV2", "ReverseSequence", "Relu", "Tanh",
                                 "Sigmoid", "StopGradient", "Snapshot", "ZerosLike", "CheckNumerics"})) {
      break;
    }
    v = n->input(0);
  }
  return {kUnknownDim, v, axis};
}

std::optional<Extent> extent_value(Value* v) { return extent_value(v, 0); }

}  // namespace t2o::rewriters
