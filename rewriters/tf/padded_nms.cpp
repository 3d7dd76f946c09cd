#include "rewriters/all.h"
#include "rewriters/tf/tiled_nms.h"
#include "tf/op_builder.h"
#include "tfgraph/internal_ops.h"

// tf.image.non_max_suppression_padded, and the copy in the TensorFlow Model Garden, suppress boxes by loops
// over tiles. The outer loop takes one tile after the other: boxes of earlier tiles suppress boxes of the
// tile (a loop), then boxes of the tile suppress each other (a loop that runs until nothing changes). What is
// left is the greedy choice in the order of the boxes, and t2o.SuppressBoxes does it at once. The results are
// the same:
// - The loop within a tile has a matrix of the overlaps that reach the threshold, the earlier box as the row.
//   A round takes the boxes that no row suppresses any more, and clears the rows of those that they suppress.
//   So after k rounds all boxes behind chains of k suppressions are settled, as in the greedy choice. It ends
//   when the sum falls by no more than the threshold: then nothing has changed, or a single overlap of
//   exactly the threshold has gone.
// - The outer loop ends early when each image of the batch has enough boxes. The boxes of later tiles stay as
//   they were and do not count. t2o.SuppressBoxes does the same, unless no reader can see it.
// - Suppressed boxes become zeros. Boxes of zeros, and all without an area, overlap nothing.
// - The corners of a box may be the wrong way round: such a box overlaps nothing. The mapper sees to it.
// The loops add 1e-8 to each union of two boxes, and t2o.SuppressBoxes does not (docs/differences.md).
namespace t2o::rewriters {
namespace {

class PaddedNms {
 public:
  PaddedNms(ir::Graph& g, ir::Node& node, const Loop& loop) : g_(g), node_(node), loop_(loop), tiles_(loop) {}

  const char* run() {
    for (std::size_t i = 0; i < loop_.size(); ++i) sort(i);
    if (!boxes_ || !counts_ || !index_) return "it has no boxes, counts and number of a tile";
    if (!tfgraph::is_zero(through_identities(loop_.initial(*counts_))))
      return "its counts do not begin with 0";
    if (!has_condition()) return "its condition is not about enough boxes and the number of tiles";
    if (const char* why = tiles_.read(*boxes_, *counts_, *index_)) return why;
    for (std::size_t i = 0; i < loop_.size(); ++i)
      if (i != *boxes_ && i != *counts_ && node_.output(i)->is_used() && !loop_.is_constant_argument(i))
        return "another result of it is read";
    replace();
    return nullptr;
  }

 private:
  // The role of a variable that changes, by its type.
  void sort(std::size_t i) {
    if (loop_.is_constant_argument(i)) return;
    const DType type = loop_.body().inputs()[i]->dtype();
    if (type == DType::f32) boxes_ = i;
    if (type == DType::i32 && !loop_.is_counter(i)) counts_ = i;
    if (type == DType::i32 && loop_.is_counter(i) && loop_.condition().inputs()[i]->is_used()) index_ = i;
  }

  // min(counts) < most && index < tiles
  bool has_condition() {
    const Values parts = tfgraph::conjuncts(loop_.condition().outputs()[0]);
    if (parts.size() != 2) return false;
    for (Value* part : parts) {
      if (!is_op(part, "Less")) return false;
      Value *what = input_of(part, 0), *limit = input_of(part, 1);
      if (is_op(what, "Min")) {
        if (loop_.variable(input_of(what, 0)) != static_cast<int>(*counts_) ||
            known_ints(input_of(what, 1)) != Ints{0} || int_attr(*what->producer(), "keep_dims") != 0)
          return false;
        most_ = outside(limit);
      } else if (loop_.variable(what) == static_cast<int>(*index_)) {
        count_ = is_op(limit, "FloorDiv") ? outside(input_of(limit, 0)) : outside(limit);
        divisor_ = is_op(limit, "FloorDiv") ? outside(input_of(limit, 1)) : nullptr;
        if (is_op(limit, "FloorDiv") && !divisor_) return false;
      } else {
        return false;
      }
    }
    return most_ && count_;
  }

  // ---- whether nobody sees that the loop ends early

  template <class F>
  static bool all_readers(const Value* v, F&& matches) {
    std::vector<const Value*> work{v};
    while (!work.empty()) {
      const Value* at = work.back();
      work.pop_back();
      if (at->is_graph_output()) return false;
      for (const ir::Use& u : at->uses())
        if (tfgraph::is_identity(*u.node))
          work.push_back(u.node->output());
        else if (!matches(u.node->output()))
          return false;
    }
    return true;
  }
  // All readers are of this operator, and its results have the readers that `then` accepts.
  template <class F>
  static bool leads_to(const Value* v, std::string_view op, F&& then) {
    return all_readers(v, [&](const Value* y) { return is_op(y, op) && all_readers(y, then); });
  }

  bool is_most(Value* v) const {
    const auto number = known_ints(v);
    return v == through_identities(most_) || (number && number == known_ints(most_));
  }

  // min(counts, most), or a comparison of counts with 0 ... most - 1
  bool limits_counts(const Value* y) const {
    if (is_op(y, "Minimum")) return is_most(input_of(y, 0)) || is_most(input_of(y, 1));
    if (!is_op(y, "Reshape")) return false;
    return all_readers(y, [&](const Value* less) {
      if (!is_op(less, "Less") || !is_op(input_of(less, 0), "Reshape")) return false;
      const Value* range = input_of(input_of(less, 0), 0);
      return is_op(range, "Range") && known_ints(input_of(range, 0)) == Ints{0} &&
             is_most(input_of(range, 1)) && known_ints(input_of(range, 2)) == Ints{1};
    });
  }

  // n - i for the box i
  static bool is_falling(const Value* v) {
    const Value* range = is_op(v, "ExpandDims") || is_op(v, "Reshape") ? input_of(v, 0) : v;
    return is_op(range, "Range") && known_ints(input_of(range, 1)) == Ints{0} &&
           known_ints(input_of(range, 2)) == Ints{-1};
  }

  // top_k(any(boxes > 0, 2) * falling, most): the loop ends early when each image has as many in the tiles
  // before, where the factors are higher.
  bool picks_first(const Value* boxes) const {
    const auto picks = [&](const Value* top) {
      return is_op(top, "TopKV2") && is_most(input_of(top, 1)) && !top->producer()->output(1)->is_used();
    };
    const auto ranks = [&](const Value* y) {
      return is_op(y, "Mul") && (is_falling(input_of(y, 0)) || is_falling(input_of(y, 1))) &&
             all_readers(y, picks);
    };
    const auto is_any = [&](const Value* y) {
      return is_op(y, "Any") && known_ints(input_of(y, 1)) == Ints{2} && leads_to(y, "Cast", ranks);
    };
    return all_readers(boxes, [&](const Value* y) {
      return is_op(y, "Greater") && known_scalar(input_of(y, 1)) == 0.0 && input_of(y, 0) != input_of(y, 1) &&
             all_readers(y, is_any);
    });
  }

  bool hides_end() const {
    return picks_first(node_.output(*boxes_)) &&
           all_readers(node_.output(*counts_), [&](const Value* y) { return limits_counts(y); });
  }

  static Value* input_of(const Value* v, std::size_t i) {
    return through_identities(v->producer()->input(i));
  }

  // A value of the condition that no round changes, as a value around the loop; null if it is none.
  Value* outside(Value* v) const {
    if (v->constant()) return v;
    const int i = loop_.variable(v);
    return i >= 0 && loop_.is_constant_argument(static_cast<std::size_t>(i))
               ? loop_.initial(static_cast<std::size_t>(i))
               : nullptr;
  }
  Value* around(Rewrite& r, Value* v) const { return v->constant() ? r.constant(v->constant()) : v; }

  void replace() {
    Rewrite r(g_, node_);
    Value *boxes = node_.output(*boxes_), *counts = node_.output(*counts_);
    Value *most = around(r, most_), *count = around(r, count_);
    if (divisor_)
      count = r.make(tf::op_spec("FloorDiv", {count, around(r, divisor_)}, {}, {Shape::scalar()}));
    ir::NodeSpec spec{
        .op = std::string(tfgraph::kSuppressBoxes),
        .inputs = {loop_.initial(*boxes_), most, count},
        .attrs = {{"iou_threshold", tiles_.threshold()},
                  {"tile_size", tiles_.tile()},
                  {"skips_negative", std::int64_t{tiles_.skips_negative()}},
                  {"hides_end", std::int64_t{hides_end()}}},
        .outputs = {{{}, boxes->dtype(), loop_.initial(*boxes_)->shape()}, {{}, DType::i32, {}}}};
    const ir::Node& made = *r.make(std::move(spec))->producer();
    if (counts->is_used()) replace_value(g_, counts, number(r, made.output(0), made.output(1)));
    replace_value(g_, boxes, made.output(0));
    for (std::size_t i = 0; i < loop_.size(); ++i)
      if (node_.output(i)->is_used()) replace_value(g_, node_.output(i), loop_.initial(i));
  }

  // The number of kept boxes that have a positive coordinate.
  static Value* number(Rewrite& r, Value* boxes, Value* reached) {
    const auto axis = [&](std::int32_t a) { return r.constant(Tensor::of<std::int32_t>({1}, {a})); };
    Value* zero = r.constant(Tensor::scalar(0.0f));
    Value* positive = r.make(tf::op_spec("Greater", {boxes, zero}));
    Value* any = r.make(tf::op_spec("Any", {positive, axis(2)}));
    Value* flags = r.make(tf::op_spec("Cast", {any}, {{"DstT", DType::i32}}));
    Value* counted = r.make(tf::op_spec("Mul", {flags, reached}));
    return r.make(tf::op_spec("Sum", {counted, axis(1)}));
  }

  ir::Graph& g_;
  ir::Node& node_;
  const Loop& loop_;
  TiledNms tiles_;
  std::optional<std::size_t> boxes_, counts_, index_;
  Value *most_ = nullptr, *count_ = nullptr, *divisor_ = nullptr;
};

bool replace(ir::Graph& g, ir::Node& n) {
  if (n.op() != "While" && n.op() != "StatelessWhile") return false;
  const auto loop = Loop::view(n);
  const char* why = loop ? PaddedNms(g, n, *loop).run() : "its graphs do not fit together";
  trace_match("padded_nms", n.output(), why ? why : "replaced");
  return !why;
}

}  // namespace

Rewriter padded_nms() { return for_each_node("padded_nms", {"While", "StatelessWhile"}, replace); }

}  // namespace t2o::rewriters
