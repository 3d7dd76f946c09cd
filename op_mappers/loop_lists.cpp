#include "op_mappers/loop_lists.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "ir/memo.h"
#include "op_mappers/tensor_lists.h"

namespace t2o::op_mappers {
namespace {

using tfgraph::is_op;
using tfgraph::Loop;
using tfgraph::through_identities;

// ---- counters of a loop

// An integer that changes linearly with the rounds of a loop: base + offset + slope * round, where round
// counts from 0. Without a base, base is 0.
struct Line {
  const Value* base = nullptr;  // a value outside of the loop
  std::int64_t offset = 0, slope = 0;
  // With a base: the loop variable whose initial value plus `rest` is base + offset. It is -1 if the loop
  // reads base directly from the graph around it.
  int variable = -1;
  std::int64_t rest = 0;

  bool operator==(const Line&) const = default;
};
using MaybeLine = std::optional<Line>;

constexpr int kDeepest = 16;               // the deepest expression that Lines follows
constexpr std::int64_t kMost = 1LL << 40;  // the largest offset; sums of such offsets do not overflow

class Lines {
 public:
  explicit Lines(const Loop& loop) : loop_(loop) {}

  MaybeLine of(const Value* v, int depth = 0);
  // The number of rounds; below 0, the loop makes none. Empty if the loop may end for a reason other than a
  // counter.
  MaybeLine rounds();

 private:
  MaybeLine find(const Value* v, int depth);
  MaybeLine of_variable(std::size_t i, int depth);
  MaybeLine of_sum(const ir::Node& n, int depth);
  MaybeLine to_go(const Value* comparison);

  const Loop& loop_;
  ir::Memo<MaybeLine> lines_{{}, kDeepest};
};

std::optional<std::int64_t> number(const Value* v) {
  const auto known = tfgraph::known_ints(const_cast<Value*>(v));
  const bool is_one = known && known->size() == 1 && known->front() > -kMost && known->front() < kMost;
  return is_one ? std::optional(known->front()) : std::nullopt;
}

MaybeLine Lines::of(const Value* v, int depth) {
  v = through_identities(v);
  if (!v || !is_int(v->dtype())) return {};
  return lines_.of(v, depth, [&] { return find(v, depth + 1); });
}

MaybeLine Lines::find(const Value* v, int depth) {
  if (const int i = loop_.variable(v); i >= 0) return of_variable(static_cast<std::size_t>(i), depth);
  if (const auto n = number(v)) return Line{.offset = *n};
  const ir::Node* n = v->producer();
  if (n && n->op() == "Cast") return of(n->input(0), depth);
  if (n && contains({"Add", "AddV2", "Sub"}, n->op()))
    if (const MaybeLine sum = of_sum(*n, depth)) return sum;
  return loop_.is_inside(v) ? std::nullopt : MaybeLine(Line{.base = v});
}

MaybeLine Lines::of_variable(std::size_t i, int depth) {
  MaybeLine line = of(loop_.initial(i), depth);
  if (!line) return {};
  line->variable = line->base ? static_cast<int>(i) : -1;
  line->rest = 0;
  if (loop_.is_constant_argument(i)) return line;
  const Value* next = loop_.result(i);
  const bool goes_down = is_op(next, "Sub");
  if (!goes_down && !is_op(next, "Add") && !is_op(next, "AddV2")) return {};
  for (std::size_t k = 0; k < (goes_down ? 1 : 2); ++k) {
    Value* step = loop_.outside(next->producer()->input(1 - k));
    const auto by = step ? number(step) : std::nullopt;
    if (!by || loop_.argument(through_identities(next->producer()->input(k))) != static_cast<int>(i))
      continue;
    line->slope = goes_down ? -*by : *by;
    return line;
  }
  return {};
}

MaybeLine Lines::of_sum(const ir::Node& n, int depth) {
  MaybeLine a = of(n.input(0), depth), b = of(n.input(1), depth);
  const bool is_sub = n.op() == "Sub";
  if (a && b && !is_sub && b->base) std::swap(a, b);
  if (!a || !b || b->base) return {};
  const std::int64_t sign = is_sub ? -1 : 1;
  a->offset += sign * b->offset;
  a->rest += sign * b->offset;
  a->slope += sign * b->slope;
  return std::abs(a->offset) < kMost ? a : std::nullopt;
}

bool same_base(const Line& a, const Line& b) {
  return a.base && b.base ? tfgraph::computed_alike(a.base, b.base) : a.base == b.base;
}

bool is_same(const MaybeLine& a, const MaybeLine& b, std::int64_t more = 0) {
  return a && b && same_base(*a, *b) && a->offset == b->offset + more;
}

// The rounds that a comparison of a counter with a limit allows. Empty if the distance between the two does
// not shrink by one in each round.
MaybeLine Lines::to_go(const Value* comparison) {
  const bool or_equal = is_op(comparison, "LessEqual") || is_op(comparison, "GreaterEqual");
  const bool less = is_op(comparison, "Less") || is_op(comparison, "LessEqual");
  if (!less && !is_op(comparison, "Greater") && !is_op(comparison, "GreaterEqual")) return {};
  const ir::Node& n = *comparison->producer();
  const MaybeLine low = of(n.input(less ? 0 : 1)), high = of(n.input(less ? 1 : 0));
  if (!low || !high || (low->base && !same_base(*low, *high)) || high->slope - low->slope != -1) return {};
  return Line{.base = low->base ? nullptr : high->base,
              .offset = high->offset - low->offset + (or_equal ? 1 : 0)};
}

MaybeLine Lines::rounds() {
  MaybeLine least;
  for (const Value* v : tfgraph::conjuncts(loop_.condition().outputs()[0])) {
    const MaybeLine line = to_go(v);
    if (!line || (least && !same_base(*least, *line))) return {};
    if (!least || line->offset < least->offset) least = line;
  }
  return least;
}

bool grows(const ir::Node& write) { return tfgraph::int_attr(write, "resize_if_index_out_of_bounds") != 0; }

// The size that the TensorListReserve at the origin of the list asks for. Null if there is none, or if a
// write may have changed the size since.
const Value* reserved_size(const Value* list) {
  list = through_identities(list);
  while (is_op(list, "TensorListSetItem") && !grows(*list->producer()))
    list = through_identities(list->producer()->input(0));
  return is_op(list, "TensorListReserve") ? through_identities(list->producer()->input(1)) : nullptr;
}

// ---- other readers of the list

// The value and all Identities of it.
std::vector<const Value*> with_identities(const Value* v) {
  std::vector<const Value*> all{v};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const ir::Use& u : all[i]->uses())
      if (tfgraph::is_identity(*u.node)) all.push_back(u.node->output());
  return all;
}

bool has_other_readers(const Value* v, const ir::Node* reader) {
  return std::ranges::any_of(
      v->uses(), [&](const ir::Use& u) { return u.node != reader && !tfgraph::is_identity(*u.node); });
}

bool read_only_by(const Value* v, const ir::Node& reader) {
  const auto all = with_identities(v);
  return std::ranges::none_of(
      all, [&](const Value* one) { return one->is_graph_output() || has_other_readers(one, &reader); });
}

// How a loop writes its lists.
class Writes {
 public:
  explicit Writes(const Loop& loop) : loop_(loop), lines_(loop), rounds_(lines_.rounds()) {
    for (std::size_t i = 0; i < loop.size(); ++i) ++results_[loop.result(i)];
  }
  std::optional<Written> of(std::size_t variable);

 private:
  bool is_only_result(const Value*) const;
  Written at(const Line& index, const ir::Node& write, const Value* initial);

  const Loop& loop_;
  Lines lines_;
  const MaybeLine rounds_;
  std::unordered_map<const Value*, int> results_;
};

// Whether the body uses the value only as the result of one variable.
bool Writes::is_only_result(const Value* v) const {
  const auto all = with_identities(v);
  return results_.at(v) == 1 && std::ranges::none_of(all, [&](const Value* one) {
           return one->graph() != &loop_.body() || has_other_readers(one, nullptr);
         });
}

std::optional<Written> Writes::of(std::size_t variable) {
  const Value* last = loop_.result(variable);
  if (!is_op(last, "TensorListSetItem") && !is_op(last, "TensorListPushBack")) return std::nullopt;
  const ir::Node& write = *last->producer();
  const Value* before = loop_.body().inputs()[variable];
  if (write.graph() != &loop_.body() || through_identities(write.input(0)) != before ||
      loop_.condition().inputs()[variable]->is_used() || !read_only_by(before, write) ||
      !is_only_result(last))
    return std::nullopt;
  const Value* initial = through_identities(loop_.initial(variable));
  if (write.op() == "TensorListPushBack")
    return Written{.appends = true, .to_end = is_op(initial, "EmptyTensorList")};
  const MaybeLine index = lines_.of(write.input(1));
  if (!index || std::abs(index->slope) != 1 || (index->base && index->variable < 0)) return std::nullopt;
  return at(*index, write, initial);
}

Written Writes::at(const Line& index, const ir::Node& write, const Value* initial) {
  Written w{.backwards = index.slope < 0,
            .grows = grows(write),
            .first = index.variable,
            .offset = index.base ? index.rest : index.offset};
  const bool from_0 = !index.base && index.offset == 0;
  const Value* reserved = reserved_size(initial);
  const MaybeLine size = reserved ? lines_.of(reserved) : std::nullopt;
  if (w.backwards) {
    w.from_front = is_same(index, rounds_, -1);
    w.to_end = is_same(index, size, -1);
  } else {
    w.from_front = from_0;
    // If the loop makes no round, a first index other than 0 may be past the end of the list.
    MaybeLine end = rounds_;
    if (end) end->offset += index.offset;
    w.to_end = (!index.base && is_same(end, size)) || (from_0 && reserved && tfgraph::is_number(reserved, 0));
  }
  if (rounds_ && !rounds_->base) w.length = std::max<std::int64_t>(rounds_->offset, 0);
  return w;
}

}  // namespace

std::vector<std::optional<Written>> written_once(const Loop& loop, const std::vector<bool>& lists) {
  std::vector<std::optional<Written>> written(loop.size());
  if (!contains(lists, true)) return written;
  Writes writes(loop);
  for (std::size_t i = 0; i < loop.size(); ++i)
    if (lists[i]) written[i] = writes.of(i);
  return written;
}

// ---- after the loop

namespace {

constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max(),
                       kToFront = std::numeric_limits<std::int64_t>::min();

// The length of a list that holds only zeros; null if it may hold something else.
Value* length_of_zeros(const Value* list) {
  const ir::Node* n = list->producer();
  if (!n || n->op() != "Expand" || list->dtype() == DType::string) return nullptr;
  const TensorPtr& element = n->input(0)->constant();
  if (!element || element->elements() != 1 || element->float_at(0) != 0 || std::signbit(element->float_at(0)))
    return nullptr;
  const Shape one({1});
  Value* dims = n->input(1);
  if (dims->shape() == one) return dims;
  const ir::Node* p = dims->producer();
  return p && p->op() == "Concat" && p->input(0)->shape() == one ? p->input(0) : nullptr;
}

// Joins the elements that the loop wrote with the elements of the list that it left as they were.
class Rest {
 public:
  Rest(MapperContext& c, const Written& how, Value* written, List list, Value* first)
      : c_(c),
        how_(how),
        written_(written),
        list_(std::move(list)),
        first_(first),
        rank_(written->shape().rank()) {}

  Value* appended() { return around({fitting(), written_}); }
  Value* padded(Value* length);
  Value* joined();

 private:
  Value* count() { return c_.dims(written_, 0, 1); }
  Value* first();
  Value* begin();  // the lowest index that the loop wrote
  Value* fitting();
  void fit_written();
  void grow();
  Value* part(Value* from, Value* to) { return c_.slice(list_.value, from, to, c_.ints({0})); }
  Value* around(const Values& parts) { return of_rank(c_, c_.concat(parts, 0), rank_); }

  MapperContext& c_;
  const Written& how_;
  Value* written_;
  List list_;
  Value* first_;
  int rank_;
};

Value* Rest::first() {
  Value* offset = c_.ints({how_.offset});
  if (!first_) return offset;
  Value* at = c_.reshape(c_.cast(first_, DType::i64), {1});
  return how_.offset == 0 ? at : c_.add(at, offset);
}

Value* Rest::begin() {
  if (!how_.backwards) return first();
  Value* end = c_.add(first(), c_.ints({1}));
  return c_.sub(end, count());
}

Value* Rest::fitting() {
  if (list_.is_fresh()) list_ = with_rank(c_, list_, element_of_stack(written_->shape()));
  return list_.value = fit_to_elements(c_, list_.value, written_);
}

// Gives `written_` the element sizes of the list. If the loop makes no round, `written_` is empty, and only
// the list holds the sizes of the elements.
void Rest::fit_written() {
  const Shape &own = written_->shape(), &other = list_.value->shape();
  bool fits = true;
  for (int i = 1; i < rank_; ++i) {
    if (is_known(own[i]) && is_known(other[i]) && own[i] != other[i])
      c_.fail(Code::unsupported_op, "the elements of its TensorList have different sizes", kGiveOneShape);
    fits = fits && own[i] == other[i] && own[i] != kUnknownDim;
  }
  if (fits) return;
  Value* count = this->count();
  Value* element = c_.dims(list_.value, 1, rank_);
  written_ = of_rank(c_, c_.reshape_to(written_, c_.concat({count, element}, 0)), rank_);
}

// Pads the written elements with zeros on both sides, up to the list's length.
Value* Rest::padded(Value* length) {
  Value* more = c_.sub(length, count());
  Value* none = c_.ints({0});
  if (how_.grows && !how_.to_end) more = c_.maximum(more, none);
  Value *before = more, *behind = none;
  if (how_.from_front) {
    std::swap(before, behind);
  } else if (!how_.to_end) {  // if the loop made no round, begin() may be out of range
    before = c_.minimum(c_.maximum(begin(), none), more);
    behind = c_.sub(more, before);
  }
  Values pads{before, behind};
  if (rank_ > 1) {
    Value* others = c_.ints(repeated(0, rank_ - 1));
    pads = {before, others, behind, others};
  }
  Value* amounts = c_.concat(pads, 0);
  return of_rank(c_, c_.pad(written_, amounts, nullptr), rank_);
}

// Grows the list up to the first written index, if the loop made a round.
void Rest::grow() {
  Value* one = c_.ints({1});
  Value* size = how_.backwards ? c_.add(first(), one) : first();
  list_.value = grown(c_, list_.value, c_.mul(size, c_.minimum(count(), one)));
}

Value* Rest::joined() {
  if (list_.type.filled == Filled::surely && list_.value->shape().rank() == rank_)
    fit_written();
  else
    fitting();
  const bool is_behind = !how_.backwards && !first_ && list_.value->shape()[0] == how_.offset;
  if (is_behind) return around({list_.value, written_});
  if (!how_.reaches_first()) grow();
  Value* end = c_.ints({kToEnd});
  if (how_.from_front) return around({written_, part(count(), end)});
  Value* none = c_.ints({0});
  Value* at = how_.to_end && how_.backwards ? c_.sub(length_of(c_, list_), count()) : begin();
  Values parts{part(none, at), written_};
  if (!how_.to_end) parts.push_back(part(c_.add(at, count()), end));
  return around(parts);
}

}  // namespace

Value* with_rest(MapperContext& c, const Written& how, Value* written, const List& list, Value* first) {
  if (how.in_order() && how.to_end) return written;
  if (!written->shape().ranked())
    c.fail(Code::not_constant, "the rank of the elements of its TensorList is not known", "{shapes} | {cut}");
  if (how.backwards) {
    const int rank = written->shape().rank();
    written = of_rank(c, c.slice(written, Ints{-1}, Ints{kToFront}, Ints{0}, Ints{-1}), rank);
  }
  if (how.to_end && (how.from_front || how.appends)) return written;
  Rest rest(c, how, written, list, first);
  if (how.appends) return rest.appended();
  Value* length = how.reaches_first() ? length_of_zeros(list.value) : nullptr;
  return length ? rest.padded(length) : rest.joined();
}

}  // namespace t2o::op_mappers
