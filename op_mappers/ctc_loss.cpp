#include "op_mappers/ctc_loss.h"

#include <limits>

#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

// -log of the probability that the classes of all steps, without repetitions and blanks, are the labels. A
// sequence with n labels has 2 n + 1 states: blank, label, blank, label ... blank.
namespace t2o::op_mappers {
namespace {

Value* minus_infinity(Emitter& e, const Value* like) {
  return e.scalar_like(like, -std::numeric_limits<double>::infinity());
}

Value* log_sum(Emitter& e, const Values& terms) {
  Value* most = e.emit("Max", terms);
  Value* none = e.equal(most, minus_infinity(e, most));
  Value* base = e.where(none, e.scalar_like(most, 0), most);
  Value* sum = e.exp(e.sub(terms[0], base));
  for (std::size_t i = 1; i < terms.size(); ++i) sum = e.add(sum, e.exp(e.sub(terms[i], base)));
  return e.add(base, e.log(sum));
}

struct Labels {
  Value* counts;    // [batch, 1]
  Value* states;    // [batch, 2 * longest + 1]: the class of each state
  Value* is_label;  // [2 * longest + 1]
};

// What is no class but the blank ends the labels, where the blank is the last class.
Labels labels_of(MapperContext& c, Value* batch, Value* blank, bool blank_first) {
  Value* at = c.in(1);
  Value* one = c.i64(1);
  Value* columns = c.add(c.slice(at, {1}, {2}, {1}), one);
  Value* longest = c.reduce("ReduceMax", c.concat({c.ints({0}), c.reshape(columns, {-1})}, 0), Ints{0}, true);
  Value* sizes = c.concat({batch, longest}, 0);
  Value* classes = c.cast(c.in(2), DType::i64);
  Value* counted =
      blank_first ? c.expand(one, c.shape_of(classes)) : c.cast(c.less(classes, blank), DType::i64);
  if (!blank_first) classes = c.minimum(classes, blank);
  Value* dense = c.emit("ScatterND", {c.expand(blank, sizes), at, classes});
  Value* present = c.emit("ScatterND", {c.expand(c.i64(0), sizes), at, counted});
  Labels l{};
  l.counts = c.reduce("ReduceSum", present, Ints{1}, true);
  Value* ends = c.concat({batch, c.ints({1})}, 0);
  Value* wide = c.concat({dense, c.expand(blank, ends)}, 1);  // each label behind a blank
  Value* columns_of_both = c.unsqueeze(wide, {2});
  Value* pairs = c.concat({c.expand(blank, c.shape_of(columns_of_both)), columns_of_both}, 2);
  Value* doubled = c.add(c.add(longest, longest), c.i64(2));
  Value* flat = c.reshape_to(pairs, c.concat({batch, doubled}, 0));
  l.states = c.slice(flat, {0}, {-1}, {1});
  Value* numbers = iota(c, c.dim(l.states, 1));
  l.is_label = c.equal(c.mod(numbers, c.i64(2)), one);
  return l;
}

Value* moved(Emitter& e, Value* x, std::int64_t by) {  // right, with -inf from the left
  Value* edge = e.expand(minus_infinity(e, x), e.concat({e.dims(x, 0, 1), e.ints({by})}, 0));
  Value* kept = e.slice(x, {0}, {-by}, {1});
  return e.concat({edge, kept}, 1);
}

// What both directions read.
struct Trellis {
  Labels labels;
  Value *scores, *lengths;  // log of the probabilities of the classes [time, batch, classes]; [batch, 1]
  Value *numbers, *jumps;   // of the states; which may follow the one two before them
  bool merge;               // a label may be that of several steps
};

// A label may follow the one before it without a blank, unless they are the same.
Trellis trellis_of(MapperContext& c) {
  Trellis t{};
  t.merge = c.attr_or<std::int64_t>("ctc_merge_repeated", 1) != 0;
  const bool blank_first = c.node().op() == "CTCLossV2";
  Value* logits = c.in(0);  // [time, batch, classes]
  Value* classes = c.dim(logits, 2);
  Value* blank = c.i64(0);
  if (!blank_first) blank = c.sub(classes, c.i64(1));
  t.labels = labels_of(c, c.dims(logits, 1, 2), blank, blank_first);
  t.scores = c.softmax(logits, -1, true);
  t.lengths = c.unsqueeze(c.cast(c.in(3), DType::i64), {1});
  Value* states = t.labels.states;
  t.numbers = iota(c, c.dim(states, 1));
  Value* edge = c.concat({c.dims(states, 0, 1), c.ints({2})}, 0);
  Value* before = c.concat({c.expand(c.i64(-1), edge), states}, 1);
  Value* other = c.logical_not(c.equal(states, c.slice(before, {0}, {-2}, {1})));
  t.jumps = t.merge ? c.logical_and(t.labels.is_label, other) : t.labels.is_label;
  return t;
}

Value* scores_at(Emitter& e, const Trellis& t, Value* k) {  // of the states
  Value* step = e.squeeze(e.gather(t.scores, k, 0), {0});
  return e.emit("GatherElements", {step, t.labels.states}, {{"axis", 1}});
}

// Of what ends in each state after step k; once more for each step, where that is wanted.
Values forward(MapperContext& c, const Trellis& t, bool collect) {
  Value* start = c.expand(minus_infinity(c, c.in(0)), c.shape_of(t.labels.states));
  const auto step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    Value* x = state[0];
    Value* score = scores_at(e, t, k);
    Value* stay = t.merge ? x : e.where(t.labels.is_label, minus_infinity(e, x), x);
    Value* jump = e.where(t.jumps, moved(e, x, 2), minus_infinity(e, x));
    Value* any = log_sum(e, {stay, moved(e, x, 1), jump});
    Value* opening = e.where(e.less(t.numbers, e.i64(2)), e.scalar_like(x, 0), minus_infinity(e, x));
    Value* is_first = e.equal(k, e.i64(0));
    Value* next = e.add(e.where(is_first, opening, any), score);
    Value* y = e.where(e.less(k, t.lengths), next, x);
    return collect ? Values{y, y} : Values{y};
  };
  return counted_loop(c, c.dim(c.in(0), 0), {start}, step);
}

Value* moved_left(Emitter& e, Value* x, std::int64_t by) {  // with -inf from the right
  Value* edge = e.expand(minus_infinity(e, x), e.concat({e.dims(x, 0, 1), e.ints({by})}, 0));
  Value* kept = e.slice(x, {by}, {std::numeric_limits<std::int64_t>::max()}, {1});
  return e.concat({kept, edge}, 1);
}

// d loss / d logits = p - the share of each class in the paths of the labels, step by step from the last one.
// The state of the loop says what follows each state, its own step included. A sequence without a path has p
// alone.
Value* gradient(MapperContext& c, const Trellis& t, Value* ends, Value* all, Value* loss, Value* is_zero) {
  Value* classes = c.dim(c.in(0), 2);
  Value* each = c.equal(c.unsqueeze(t.labels.states, {2}), iota(c, classes));
  Value* members = c.cast_like(each, c.in(0));  // [batch, states, classes]
  Value* one = c.i64(1);
  Value* last = c.sub(c.dim(c.in(0), 0), one);
  Value* none = minus_infinity(c, c.in(0));
  Value* at_end = c.where(ends, c.scalar_like(none, 0), none);
  Value* impossible = c.emit("IsInf", {loss});
  const auto step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    Value* time = e.sub(last, k);
    Value* x = state[0];
    Value* stay = t.merge ? x : e.where(t.labels.is_label, minus_infinity(e, x), x);
    Value* jump = moved_left(e, e.where(t.jumps, x, minus_infinity(e, x)), 2);
    Value* any = log_sum(e, {stay, moved_left(e, x, 1), jump});
    Value* behind = e.where(e.equal(e.add(time, one), t.lengths), at_end, any);
    Value* both = e.add(e.squeeze(e.gather(all, time, 0), {0}), behind);
    Value* share = e.where(impossible, e.scalar_like(both, 0), e.exp(e.add(both, loss)));
    Value* shares = e.squeeze(e.matmul(e.unsqueeze(share, {1}), members), {1});
    Value* p = e.exp(e.squeeze(e.gather(t.scores, time, 0), {0}));
    Value* is_none = e.logical_or(is_zero, e.greater_equal(time, t.lengths));
    Value* slope = e.where(is_none, e.scalar_like(p, 0), e.sub(p, shares));
    Value* next = e.where(e.less(time, t.lengths), e.add(behind, scores_at(e, t, time)), x);
    return {next, slope};
  };
  Value* start = c.expand(none, c.shape_of(t.labels.states));
  Value* backwards = counted_loop(c, c.dim(c.in(0), 0), {start}, step)[1];
  const Ints begin{-1}, end{std::numeric_limits<std::int64_t>::min()}, axis{0}, by{-1};
  return c.slice(backwards, begin, end, axis, by);
}

}  // namespace

Values map_ctc_loss(MapperContext& c) {
  if (c.flag("preprocess_collapse_repeated"))
    c.fail(Code::unsupported_attr, "preprocess_collapse_repeated is not supported",
           "collapse repeated labels before");
  const Trellis t = trellis_of(c);
  const ir::Value* slopes = c.node().output(1);
  const bool with_gradient = slopes->is_used() || slopes->is_graph_output();
  const Values last = forward(c, t, with_gradient);
  Value* one = c.i64(1);
  Value* none = minus_infinity(c, c.in(0));
  Value* end = c.add(t.labels.counts, t.labels.counts);
  Value* is_end = c.logical_or(c.equal(t.numbers, end), c.equal(t.numbers, c.sub(end, one)));
  Value* ends = c.where(is_end, last[0], none);
  Value* most = c.reduce("ReduceMax", ends, Ints{1}, true);
  Value* base = c.where(c.equal(most, none), c.scalar_like(most, 0), most);
  Value* sum = c.reduce("ReduceSum", c.exp(c.sub(ends, base)), Ints{1}, true);
  Value* loss = c.neg(c.add(base, c.log(sum)));
  Value* is_zero = c.less(t.lengths, one);
  if (c.flag("ignore_longer_outputs_than_inputs"))
    is_zero = c.logical_or(is_zero, c.less(t.lengths, t.labels.counts));
  Value* slope = with_gradient ? gradient(c, t, is_end, last[1], loss, is_zero) : nullptr;
  loss = c.where(is_zero, c.scalar_like(loss, 0), loss);
  return {c.squeeze(loss, {1}), slope};
}

}  // namespace t2o::op_mappers
