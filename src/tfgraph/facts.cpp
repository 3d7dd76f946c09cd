#include "tfgraph/facts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_set>

#include "ir/memo.h"
#include "ir/nesting.h"

namespace t2o::tfgraph {
namespace {

constexpr int kDeepest = 24;
constexpr std::int64_t kMostElements = 256;
constexpr std::size_t kMostValues = 256;  // that are looked at for one fact

using MaybeInts = std::optional<Ints>;
using MaybeExtent = std::optional<Extent>;

class Evaluation {
 public:
  MaybeInts ints(Value*, int depth = 0);
  MaybeExtent extent(Value*, int depth = 0);

 private:
  MaybeInts joined(const ir::Node&, std::size_t first, std::size_t last, int depth);
  MaybeInts combined(const ir::Node&, int depth, std::int64_t (*f)(std::int64_t, std::int64_t));
  MaybeInts range(const ir::Node&, int depth);
  std::optional<std::int64_t> picked(const ir::Node&, std::size_t size, int depth);
  MaybeInts ints_of_node(const ir::Node&, std::size_t output, int depth);
  MaybeExtent least_extent(const ir::Node&, int depth);
  MaybeExtent find_extent(Value*, int depth);

  ir::Memo<MaybeInts> ints_{{}, kDeepest};
  ir::Memo<MaybeExtent> extents_{{}, kDeepest};
};

MaybeInts Evaluation::joined(const ir::Node& n, std::size_t first, std::size_t last, int depth) {
  Ints all;
  for (std::size_t i = first; i < last; ++i) {
    const MaybeInts part = ints(n.input(i), depth);
    if (!part) return {};
    append(all, *part);
    if (static_cast<std::int64_t>(all.size()) > kMostElements) return {};
  }
  return all;
}

MaybeInts Evaluation::combined(const ir::Node& n, int depth, std::int64_t (*f)(std::int64_t, std::int64_t)) {
  const MaybeInts a = ints(n.input(0), depth), b = a ? ints(n.input(1), depth) : a;
  if (!b || a->empty() || b->empty()) return {};
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return {};
  Ints out(std::max(a->size(), b->size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = f((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
  return out;
}

template <class F>
std::int64_t wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(F{}(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

MaybeInts Evaluation::range(const ir::Node& n, int depth) {
  const MaybeInts all = joined(n, 0, 3, depth);
  if (!all || all->size() != 3 || (*all)[2] == 0) return {};
  const std::int64_t limit = (*all)[1], step = (*all)[2];
  Ints out;
  for (std::int64_t i = (*all)[0]; step > 0 ? i < limit : i > limit; i = wrapping<std::plus<>>(i, step)) {
    out.push_back(i);
    if (static_cast<std::int64_t>(out.size()) > kMostElements) return {};
  }
  return out;
}

// x[k] of a vector: begin, end and stride have one element each.
std::optional<std::int64_t> Evaluation::picked(const ir::Node& n, std::size_t size, int depth) {
  if (n.op() != "StridedSlice" || int_attr(n, "shrink_axis_mask") != 1 || int_attr(n, "new_axis_mask") != 0)
    return {};
  const MaybeInts begin = ints(n.input(1), depth);
  if (!begin || begin->size() != 1 || int_attr(n, "ellipsis_mask") != 0 || int_attr(n, "begin_mask") != 0)
    return {};
  const std::int64_t at = (*begin)[0] < 0 ? (*begin)[0] + static_cast<std::int64_t>(size) : (*begin)[0];
  if (at < 0 || at >= static_cast<std::int64_t>(size)) return {};
  return at;
}

MaybeInts Evaluation::ints_of_node(const ir::Node& n, std::size_t output, int depth) {
  const std::string& op = n.op();
  if (contains({"Identity", "ExpandDims", "Reshape", "Squeeze", "StopGradient", "Snapshot"}, op))
    return ints(n.input(0), depth);
  if (op == "Cast") return n.input(0) && is_int(n.input(0)->dtype()) ? ints(n.input(0), depth) : MaybeInts();
  if (op == "Range") return range(n, depth);
  if (op == "Pack") return joined(n, 0, n.input_count(), depth);
  if (op == "ConcatV2") return joined(n, 0, n.input_count() - 1, depth);
  if (op == "Add" || op == "AddV2") return combined(n, depth, wrapping<std::plus<>>);
  if (op == "Sub") return combined(n, depth, wrapping<std::minus<>>);
  if (op == "Mul") return combined(n, depth, wrapping<std::multiplies<>>);
  if (op == "Minimum")
    return combined(n, depth, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  if (op == "Maximum")
    return combined(n, depth, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  if (op == "Shape" && n.input(0)->shape().is_static()) return n.input(0)->shape().dims();
  if (op == "Rank" && n.input(0)->shape().ranked()) return Ints{n.input(0)->shape().rank()};
  if (op == "StridedSlice" || op == "Unpack") {
    const MaybeInts all = ints(n.input(0), depth);
    if (!all) return {};
    if (op == "Unpack") return output < all->size() ? MaybeInts(Ints{(*all)[output]}) : MaybeInts();
    if (const auto at = picked(n, all->size(), depth)) return Ints{nth(*all, *at)};
  }
  return {};
}

MaybeInts Evaluation::ints(Value* v, int depth) {
  if (!v) return {};
  if (const TensorPtr& t = v->constant())
    return is_int(t->dtype()) && t->elements() <= kMostElements ? MaybeInts(t->to_ints()) : MaybeInts();
  if (!v->producer()) return {};
  return ints_.of(v, depth, [&] { return ints_of_node(*v->producer(), v->index(), depth + 1); });
}

bool all_bytes_zero(const Tensor& t) {
  if (t.dtype() == DType::string) return false;
  const Bytes b = t.bytes();
  return std::ranges::all_of(b, [](std::byte x) { return x == std::byte{0}; });
}

// Adds what must be zero for the node's results to be so; false: they are not, whatever that is.
bool add_sources_of_zero(const ir::Node& n, Values& work) {
  if (n.op() == "ZerosLike") return true;
  if (n.op() == "Fill" || n.op() == "Split") {
    work.push_back(n.input(1));
    return true;
  }
  if (n.op() == "Pack" || n.op() == "ConcatV2") {
    work.insert(work.end(), n.inputs().begin(), n.inputs().end() - (n.op() == "ConcatV2" ? 1 : 0));
    return true;
  }
  if (!contains({"Identity", "BroadcastTo", "Tile", "Reshape", "ExpandDims", "Squeeze", "Transpose", "Slice",
                 "StridedSlice", "StopGradient", "Snapshot", "Cast", "Unpack", "GatherV2"},
                n.op()))
    return false;
  work.push_back(n.input(0));
  return true;
}

// min(T, max(1, T)) is T, also for T = 0: what dynamic_rnn computes without sequence lengths.
MaybeExtent Evaluation::least_extent(const ir::Node& n, int depth) {
  for (std::size_t i = 0; i < 2; ++i) {
    const auto a = extent(n.input(i), depth);
    Value* other = n.input(1 - i);
    if (!a) continue;
    if (const auto b = extent(other, depth); b && *b == *a) return a;
    if (!is_op(other, "Maximum")) continue;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto b = extent(other->producer()->input(k), depth);
      const auto one = ints(other->producer()->input(1 - k));
      if (b && *b == *a && one == Ints{1}) return a;
    }
  }
  return {};
}

MaybeExtent Evaluation::extent(Value* v, int depth) {
  v = through_identities(v);
  return v ? extents_.of(v, depth, [&] { return find_extent(v, depth); }) : MaybeExtent();
}

MaybeExtent Evaluation::find_extent(Value* v, int depth) {
  if (const auto c = ints(v, depth); c && c->size() == 1 && (*c)[0] >= 0) return Extent{.dim = (*c)[0]};
  const ir::Node* n = v->producer();
  if (!n) return {};
  if (n->op() == "Cast" || n->op() == "Squeeze") return extent(n->input(0), depth + 1);
  if (n->op() == "Minimum") return least_extent(*n, depth + 1);
  if (contains({"Max", "Min", "Sum", "Prod"}, n->op()))  // of a scalar, over no axes
    return n->input(0)->shape().is_scalar() || ints(n->input(1)) == Ints{} ? extent(n->input(0), depth + 1)
                                                                           : MaybeExtent();
  if (!is_op(n->input(0), "Shape")) return {};
  Value* of = n->input(0)->producer()->input(0);
  if (n->op() == "Unpack") return extent_of(of, static_cast<int>(v->index()));
  const std::size_t size = of->shape().ranked() ? static_cast<std::size_t>(of->shape().rank())
                                                : std::numeric_limits<std::int32_t>::max();
  if (const auto at = picked(*n, size, depth + 1)) return extent_of(of, static_cast<int>(*at));
  if (n->op() == "GatherV2" && v->shape().is_scalar())
    if (const auto at = ints(n->input(1)); at && at->size() == 1 && (*at)[0] >= 0)
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

// The highest of all that meet elementwise.
int known_rank(Value* root) {
  std::unordered_set<const Value*> seen;
  Values work = {root};
  int rank = -1;
  while (!work.empty()) {
    const Value* v = work.back();
    work.pop_back();
    if (!v) return -1;
    if (!seen.insert(v).second) continue;
    const ir::Node* n = v->producer();
    if (v->shape().ranked()) {
      rank = std::max(rank, v->shape().rank());
      continue;
    }
    if (!n || seen.size() > kMostValues) return -1;
    const auto perm = n->op() == "Transpose" ? known_ints(n->input(1)) : std::nullopt;
    if (perm) {
      rank = std::max(rank, static_cast<int>(perm->size()));
    } else if (contains({"Minimum", "Maximum", "Add", "AddV2", "Sub", "Mul"}, n->op())) {
      work.insert(work.end(), {n->input(0), n->input(1)});
    } else if (contains({"Identity", "Cast", "StopGradient", "Snapshot", "Transpose", "ReverseV2",
                         "ReverseSequence"},
                        n->op())) {
      work.push_back(n->input(0));
    } else {
      return -1;
    }
  }
  return rank;
}

std::optional<Ints> known_ints(Value* v) { return Evaluation().ints(v); }

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

bool is_zero(Value* root) {
  std::unordered_set<const Value*> seen;
  Values work = {root};
  while (!work.empty()) {
    const Value* v = work.back();
    work.pop_back();
    if (!v) return false;
    if (!seen.insert(v).second) continue;
    if (seen.size() > kMostValues) return false;
    if (v->constant()) {
      if (!all_bytes_zero(*v->constant())) return false;
    } else if (!v->producer() || !add_sources_of_zero(*v->producer(), work)) {
      return false;
    }
  }
  return true;
}

std::optional<Range> last_axis_slice(const ir::Node& n, int rank, std::int64_t width) {
  const MaybeInts begin = known_ints(n.input(1)), end = known_ints(n.input(2));
  if (!begin || !end || begin->size() != end->size() || begin->empty() || width < 0) return {};
  const std::size_t last = begin->size() - 1;
  std::int64_t from = begin->back(), to = end->back();
  if (n.op() == "Slice") {  // begin, size
    if (static_cast<int>(begin->size()) != rank) return {};
    for (std::size_t i = 0; i < last; ++i)
      if ((*begin)[i] != 0 || (*end)[i] != -1) return {};
    if (to < 0) to = width - from;
    return from < 0 || to < 0 || from > width - to ? std::nullopt : std::optional(Range{from, to});
  }
  const MaybeInts steps = known_ints(n.input(3));
  if (!steps || steps->size() != begin->size() || (*steps)[last] != 1) return {};
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

namespace {

constexpr int kMostBranches = 4;

Extent extent_at(Value* v, int axis, int branches);

// Of operands that are broadcast: what all that have the axis agree on.
MaybeExtent common_extent(const ir::Node& n, int rank, int axis, int branches) {
  if (branches == 0 || rank < 0) return {};
  MaybeExtent common;
  for (Value* in : n.inputs()) {
    if (!in->shape().ranked() || in->shape().rank() > rank) return {};
    const int place = axis - (rank - in->shape().rank());
    const Extent e = place < 0 ? Extent{.dim = 1} : extent_at(in, place, branches - 1);
    if (e == Extent{.dim = 1}) continue;
    if (common && e != *common) return {};
    common = e;
  }
  return common;
}

bool broadcasts(const ir::Node& n) {
  return contains({"Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Equal", "NotEqual", "Less",
                   "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "SelectV2"},
                  n.op());
}

Extent extent_at(Value* v, int axis, int branches) {
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
      axis = static_cast<int>(nth(*perm, axis));
      if (axis < 0) axis += rank;
    } else if (n->op() == "ExpandDims") {
      const MaybeInts at = known_ints(n->input(1));
      if (!at || at->size() != 1) break;
      const std::int64_t place = (*at)[0] < 0 ? (*at)[0] + rank : (*at)[0];
      if (place == axis) return {.dim = 1};
      if (place < 0 || rank < 0) break;
      if (place < axis) --axis;
      --rank;
    } else if (of_indices(*n, axis)) {
      v = n->input(1);
      rank = -1;
      continue;
    } else if (n->op() == "Range") {
      const bool counts = known_ints(n->input(0)) == Ints{0} && known_ints(n->input(2)) == Ints{1};
      const auto count = counts && axis == 0 ? extent_value(n->input(1)) : std::nullopt;
      if (!count) break;
      return *count;
    } else if (n->op() == "ConcatV2") {
      const MaybeInts at = known_ints(n->inputs().back());
      if (!at || at->size() != 1 || rank < 0) break;
      if ((*at)[0] == axis || (*at)[0] + rank == axis) break;
    } else if (broadcasts(*n)) {
      const MaybeExtent common = common_extent(*n, rank, axis, branches);
      if (!common) break;
      return *common;
    } else if (contains({"t2o.LSTM", "t2o.GRU", "t2o.RNN"}, n->op())) {
      if (v->index() != 0 || axis > 1) break;  // a row for each of what it reads
      rank = -1;
    } else if (!contains({"Identity", "Cast", "ReverseV2", "ReverseSequence", "Relu", "Tanh", "Sigmoid",
                          "LogicalNot", "StopGradient", "Snapshot", "ZerosLike", "CheckNumerics"},
                         n->op())) {
      break;
    }
    v = n->input(0);
  }
  return {kUnknownDim, v, axis};
}

}  // namespace

Extent extent_of(Value* tensor, int axis) { return extent_at(tensor, axis, kMostBranches); }

std::optional<Extent> extent_value(Value* v) { return Evaluation().extent(v); }

bool fakes_quantization(const ir::Graph& main) {
  bool found = false;
  ir::for_each_node(main, [&](const ir::Node& n) {
    for (const char* family :
         {"FakeQuant", "QuantizeAndDequantize", "UniformQuantize", "UniformDequantize", "UniformRequantize"})
      found = found || n.op().starts_with(family);
  });
  return found;
}

}  // namespace t2o::tfgraph
