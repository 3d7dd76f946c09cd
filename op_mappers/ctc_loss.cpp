#include "op_mappers/ctc_loss.h"

#include <limits>

#include "op_mappers/loop.h"
#include "op_mappers/segments.h"

// -log of the probability that the classes of all steps, without repetitions and blanks, are the labels. The
// states of a sequence with n labels are the 2 n + 1 of: blank, label, blank, label ... blank.
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
  Value* one = c.constant<std::int64_t>(1);
  Value* columns = c.add(c.slice(at, {1}, {2}, {1}), one);
  Value* longest = c.reduce("ReduceMax", c.concat({c.ints({0}), c.reshape(columns, {-1})}, 0), Ints{0}, true);
  Value* sizes = c.concat({batch, longest}, 0);
  Value* classes = c.cast(c.in(2), DType::i64);
  Value* counted =
      blank_first ? c.expand(one, c.shape_of(classes)) : c.cast(c.less(classes, blank), DType::i64);
  if (!blank_first) classes = c.minimum(classes, blank);
  Value* dense = c.emit("ScatterND", {c.expand(blank, sizes), at, classes});
  Value* present = c.emit("ScatterND", {c.expand(c.constant<std::int64_t>(0), sizes), at, counted});
  Labels l{};
  l.counts = c.reduce("ReduceSum", present, Ints{1}, true);
  Value* ends = c.concat({batch, c.ints({1})}, 0);
  Value* wide = c.concat({dense, c.expand(blank, ends)}, 1);  // each label behind a blank
  Value* columns_of_both = c.unsqueeze(wide, {2});
  Value* pairs = c.concat({c.expand(blank, c.shape_of(columns_of_both)), columns_of_both}, 2);
  Value* doubled = c.add(c.add(longest, longest), c.constant<std::int64_t>(2));
  Value* flat = c.reshape_to(pairs, c.concat({batch, doubled}, 0));
  l.states = c.slice(flat, {0}, {-1}, {1});
  Value* numbers = iota(c, c.dim(l.states, 1));
  l.is_label = c.equal(c.emit("Mod", {numbers, c.constant<std::int64_t>(2)}), one);
  return l;
}

Value* moved(Emitter& e, Value* x, std::int64_t by) {  // right, with -inf from the left
  Value* edge = e.expand(minus_infinity(e, x), e.concat({e.dims(x, 0, 1), e.ints({by})}, 0));
  Value* kept = e.slice(x, {0}, {-by}, {1});
  return e.concat({edge, kept}, 1);
}

}  // namespace

Values map_ctc_loss(MapperContext& c) {
  if (c.flag("preprocess_collapse_repeated"))
    c.fail(Code::unsupported_attr, "preprocess_collapse_repeated is not supported",
           "collapse repeated labels before");
  const bool merge = c.attr_or<std::int64_t>("ctc_merge_repeated", 1) != 0;
  const bool blank_first = c.node().op() == "CTCLossV2";
  Value* logits = c.in(0);  // [time, batch, classes]
  Value* one = c.constant<std::int64_t>(1);
  Value* zero = c.constant<std::int64_t>(0);
  Value* blank = blank_first ? zero : c.sub(c.dim(logits, 2), one);
  const Labels l = labels_of(c, c.dims(logits, 1, 2), blank, blank_first);
  Value* scores = c.softmax(logits, -1, true);
  Value* lengths = c.unsqueeze(c.cast(c.in(3), DType::i64), {1});
  Value* numbers = iota(c, c.dim(l.states, 1));
  Value* none = minus_infinity(c, logits);
  // a label may follow the one before it without a blank, unless they are the same
  Value* before = c.concat(
      {c.expand(c.constant<std::int64_t>(-1), c.concat({c.dims(l.states, 0, 1), c.ints({2})}, 0)), l.states},
      1);
  Value* other = c.logical_not(c.equal(l.states, c.slice(before, {0}, {-2}, {1})));
  Value* jumps = merge ? c.logical_and(l.is_label, other) : l.is_label;

  Value* start = c.expand(none, c.shape_of(l.states));
  const Values last =
      counted_loop(c, c.dim(logits, 0), {start}, [&](Emitter& e, Value* k, const Values& state) -> Values {
        Value* x = state[0];
        Value* step = e.squeeze(e.gather(scores, k, 0), {0});
        Value* score = e.emit("GatherElements", {step, l.states}, {{"axis", std::int64_t{1}}});
        Value* stay = merge ? x : e.where(l.is_label, minus_infinity(e, x), x);
        Value* jump = e.where(jumps, moved(e, x, 2), minus_infinity(e, x));
        Value* any = log_sum(e, {stay, moved(e, x, 1), jump});
        Value* opening =
            e.where(e.less(numbers, e.constant<std::int64_t>(2)), e.scalar_like(x, 0), minus_infinity(e, x));
        Value* is_first = e.equal(k, e.constant<std::int64_t>(0));
        Value* next = e.add(e.where(is_first, opening, any), score);
        return {e.where(e.less(k, lengths), next, x)};
      });
  Value* end = c.add(l.counts, l.counts);
  Value* is_end = c.logical_or(c.equal(numbers, end), c.equal(numbers, c.sub(end, one)));
  Value* ends = c.where(is_end, last[0], none);
  Value* most = c.reduce("ReduceMax", ends, Ints{1}, true);
  Value* base = c.where(c.equal(most, none), c.scalar_like(most, 0), most);
  Value* sum = c.reduce("ReduceSum", c.exp(c.sub(ends, base)), Ints{1}, true);
  Value* loss = c.neg(c.add(base, c.log(sum)));
  Value* is_zero = c.less(lengths, one);
  if (c.flag("ignore_longer_outputs_than_inputs")) is_zero = c.logical_or(is_zero, c.less(lengths, l.counts));
  loss = c.where(is_zero, c.scalar_like(loss, 0), loss);
  return {c.squeeze(loss, {1}), nullptr};
}

}  // namespace t2o::op_mappers
