#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/tf/loop.h"
#include "tf/op_builder.h"

// A loop that picks one row of a tensor in each round and collects them is one Gather. pfor, and with it
// vectorized_map, leaves x[i] for each i like this, after it has vectorized the rest of a step.
namespace t2o::rewriters {
namespace {

constexpr int kDeepest = 16;

Value* input_of(const Value* v, std::size_t i) { return through_identities(v->producer()->input(i)); }

std::int64_t mask(const ir::Node& n, const char* name) { return int_attr(n, name); }

// v[0]
bool is_first_element(const Value* v) {
  if (!is_op(v, "StridedSlice")) return false;
  const ir::Node& n = *v->producer();
  return mask(n, "shrink_axis_mask") == 1 && mask(n, "new_axis_mask") == 0 && mask(n, "ellipsis_mask") == 0 &&
         (mask(n, "begin_mask") == 1 || known_ints(n.input(1)) == Ints{0});
}

// The limit n of 0, 1, 2 ... n - 1 as it is written; null: it is something else.
Value* plain_range(Value* v) {
  v = through_identities(v);
  return is_op(v, "Range") && known_ints(input_of(v, 0)) == Ints{0} && known_ints(input_of(v, 2)) == Ints{1}
             ? input_of(v, 1)
             : nullptr;
}

// The same number of rounds, where less than none are none: it is packed, has its maximum taken and is asked
// of a range on its way.
Value* number(Value* v) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    v = through_identities(v);
    if (is_op(v, "Max") && is_op(input_of(v, 0), "Pack") && input_of(v, 0)->producer()->input_count() == 1 &&
        v->shape().is_scalar()) {
      v = input_of(input_of(v, 0), 0);
      continue;
    }
    if (!is_first_element(v)) return v;
    Value* from = input_of(v, 0);
    Value* limit = is_op(from, "Shape") ? plain_range(from->producer()->input(0)) : nullptr;
    if (is_op(from, "Reshape") && from->shape() == Shape(Ints{1}) && input_of(from, 0)->shape().is_scalar()) {
      v = input_of(from, 0);
    } else if (limit) {
      v = limit;
    } else {
      return v;
    }
  }
  return v;
}

bool is_same_number(Value* a, Value* b) {
  a = number(a);
  b = number(b);
  if (a == b) return true;
  const auto e = extent_value(a);
  return e && e == extent_value(b);
}

// The n of which v is 0, 1, 2 ... n - 1; null: it is something else.
Value* range_limit(Value* v, int depth = 0) {
  v = through_identities(v);
  if (!v->producer() || depth > kDeepest) return nullptr;
  if (Value* n = plain_range(v)) return n;
  if (is_op(v, "SelectV2")) {  // n > 1 ? range(n) : 0
    Value* n = range_limit(input_of(v, 1), depth + 1);
    Value* more = input_of(v, 0);
    const std::size_t one = is_op(more, "Greater") ? 1 : 0;
    if (!n || !tfgraph::is_number(input_of(v, 2), 0) || !input_of(v, 2)->shape().is_scalar() ||
        (one == 0 && !is_op(more, "Less")))
      return nullptr;
    return tfgraph::is_number(input_of(more, one), 1) && is_same_number(input_of(more, 1 - one), n) ? n
                                                                                                    : nullptr;
  }
  if (is_op(v, "GatherV2") && known_ints(input_of(v, 2)) == Ints{0} &&
      mask(*v->producer(), "batch_dims") == 0) {
    Value *of = range_limit(input_of(v, 0), depth + 1), *at = range_limit(input_of(v, 1), depth + 1);
    return of && at && is_same_number(of, at) ? at : nullptr;
  }
  return nullptr;
}

// [n] of [n, 1]
Value* flat_column(Value* v) {
  v = through_identities(v);
  const bool is_pack =
      is_op(v, "Pack") && v->producer()->input_count() == 1 && mask(*v->producer(), "axis") == 1;
  const bool is_column = is_pack || (is_op(v, "ExpandDims") && known_ints(input_of(v, 1)) == Ints{1});
  return is_column && known_rank(input_of(v, 0)) == 1 ? input_of(v, 0) : nullptr;
}

// t of t[round], t[round, ...] and t[round, :, :]
Value* row_of_round(const Loop& loop, Value* v) {
  v = through_identities(v);
  if (!is_op(v, "StridedSlice") || v->graph() != &loop.body()) return nullptr;
  const ir::Node& n = *v->producer();
  const Value* begin = input_of(v, 1);
  if (!is_op(begin, "Pack") || !loop.is_step(begin->producer()->input(0))) return nullptr;
  const std::size_t axes = begin->producer()->input_count();
  const std::int64_t others = (std::int64_t{1} << std::min<std::size_t>(axes, 32)) - 2;
  const bool has_ellipsis = axes == 2 && mask(n, "ellipsis_mask") == 2;
  const auto steps = known_ints(n.input(3));
  if (!steps || std::ranges::any_of(*steps, [](std::int64_t s) { return s != 1; })) return nullptr;
  if (mask(n, "shrink_axis_mask") != 1 || mask(n, "new_axis_mask") != 0) return nullptr;
  if (!has_ellipsis &&
      (mask(n, "ellipsis_mask") != 0 || mask(n, "begin_mask") != others || mask(n, "end_mask") != others))
    return nullptr;
  if (mask(n, "begin_mask") % 2 != 0) return nullptr;
  return loop.outside(n.input(0));
}

// What is written in each round: row `at[round]` of `rows`.
struct Picked {
  Value *rows, *at;
};

std::optional<Picked> picked(const Loop& loop, Value* item) {
  item = through_identities(item);
  if (!is_op(item, "StridedSlice") || item->graph() != &loop.body()) return {};
  const ir::Node& n = *item->producer();
  if (mask(n, "shrink_axis_mask") != 1 || mask(n, "new_axis_mask") != 0 || mask(n, "ellipsis_mask") != 0 ||
      mask(n, "begin_mask") != 0)
    return {};
  Value* column = row_of_round(loop, n.input(1));
  Value* at = column ? flat_column(column) : nullptr;
  Value* rows = loop.outside(n.input(0));
  return at && rows && rows->dtype() != DType::variant ? std::optional(Picked{rows, at}) : std::nullopt;
}

class Gathering {
 public:
  Gathering(ir::Graph& g, ir::Node& node, const Loop& loop) : g_(g), node_(node), loop_(loop) {}

  const char* run() {
    const auto limits = loop_.limits();
    if (!limits || limits->empty()) return "its condition is not a comparison of the number of rounds";
    for (Value* limit : *limits)
      if (!is_same_number(limit, (*limits)[0])) return "it has more than one limit";
    rounds_ = number((*limits)[0]);
    for (std::size_t i = 0; i < loop_.size(); ++i)
      if (!loop_.is_final_unused(i))
        if (const char* why = look_at(i)) return why;
    if (lists_.empty()) return "nothing of it is read";
    for (const auto& [variable, p] : lists_) replace(variable, p);
    return nullptr;
  }

 private:
  const char* look_at(std::size_t variable) {
    const Value* set = loop_.result(variable);
    if (!is_op(set, "TensorListSetItem") || loop_.argument(input_of(set, 0)) != static_cast<int>(variable) ||
        !loop_.is_step(set->producer()->input(1)))
      return "what is read of it is no list that is written in each round";
    const auto p = picked(loop_, set->producer()->input(2));
    if (!p) return "what it writes is no row of a tensor";
    Value* length = range_limit(p->at);
    if (!length || !is_same_number(length, rounds_))
      return "the rows are not those from the first on, as many as there are rounds";
    const Value* list = through_identities(loop_.initial(variable));
    if (!is_op(list, "TensorListReserve") || !is_same_number(list->producer()->input(1), rounds_))
      return "its list has another length";
    const Value* final = node_.output(variable);
    if (final->is_graph_output()) return "its list is an output";
    for (const ir::Use& u : final->uses())
      if (u.node->op() != "TensorListStack") return "its list is not stacked";
    lists_.emplace_back(variable, *p);
    return nullptr;
  }

  // All rows, or the first ones: picked one by one, for there may be too few of them.
  void replace(std::size_t variable, const Picked& p) {
    Rewrite r(g_, node_);
    Value* result = p.rows;
    const auto rounds = extent_value(rounds_);
    if (!rounds || !(*rounds == extent_of(p.rows, 0))) {
      Shape shape = p.rows->shape();
      if (shape.ranked() && shape.rank() > 0) {
        Ints dims = shape.dims();
        dims[0] = rounds ? rounds->dim : kUnknownDim;
        shape = Shape(dims);
      }
      Value *zero = r.constant(Tensor::scalar<std::int32_t>(0)),
            *one = r.constant(Tensor::scalar<std::int32_t>(1));
      Value* at = r.make(tf::op_spec("Range", {zero, rounds_, one}, {}, {Shape(Ints{kUnknownDim})}));
      result = r.make(tf::op_spec("GatherV2", {p.rows, at, zero}, {}, {shape}));
    }
    const std::vector<ir::Use> uses = node_.output(variable)->uses();
    for (const ir::Use& u : uses) replace_value(g_, u.node->output(), result);
  }

  ir::Graph& g_;
  ir::Node& node_;
  const Loop& loop_;
  Value* rounds_ = nullptr;
  std::vector<std::pair<std::size_t, Picked>> lists_;
};

bool replace(ir::Graph& g, ir::Node& n) {
  if (n.op() != "While" && n.op() != "StatelessWhile") return false;
  const auto loop = Loop::view(n);
  const char* why = loop ? Gathering(g, n, *loop).run() : "its graphs do not fit together";
  trace_match("gather_loop", n.output(), why ? why : "replaced");
  return !why;
}

}  // namespace

Rewriter gather_loop() { return for_each_node("gather_loop", {"While", "StatelessWhile"}, replace); }

}  // namespace t2o::rewriters
