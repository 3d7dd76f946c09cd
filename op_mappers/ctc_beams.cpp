#include "op_mappers/ctc_beams.h"

#include <limits>

#include "op_mappers/linalg.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

// The beam search of TensorFlow. A beam is a prefix: labels, with the probability of all alignments that give
// them and end with the last label, or with a blank. A round of the loop is a step of time: each beam is
// continued as it is and by each label; of all these prefixes, the most probable ones are the next beams,
// ordered.
//
// To know which beam is what another one continues, `common` has of each two of them how many labels they
// begin with in common. Slots that no beam has yet have the probability 0 and the length kNone.
namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kNone = -10;
constexpr int kRounds = 5;  // see without_forgotten()

struct Beams {                   // N to each sequence of the batch
  Value *total, *blank, *label;  // [batch, N], logarithms
  Value *last, *length;          // [batch, N]
  Value* labels;                 // [batch, N, time], -1 behind the last
  Value* common;                 // [batch, N, N]

  static Beams of(const Values& v) { return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]}; }
  Values all() const { return {total, blank, label, last, length, labels, common}; }
};

struct Search {
  std::int64_t width;
  Value *blank_class, *classes;  // the same number: how many classes before the blank one, i64, rank 0
  Value *cells, *time;           // width * classes; rank 0
  Value* nothing;                // log 0
};

Value* count(Emitter& e, std::int64_t n) { return e.i64(n); }
Value* numbers(Emitter& e, std::int64_t n) { return iota(e, count(e, n)); }

Value* picked(Emitter& e, Value* x, Value* at, std::int64_t axis = 1) {
  return e.emit("GatherElements", {x, at}, {{"axis", axis}});
}
Value* picked_rows(Emitter& e, Value* x, Value* at) {  // of [batch, N, ..] those of `at`, [batch, N]
  Value* column = e.unsqueeze(at, {2});
  return picked(e, x, e.expand(column, e.shape_of(x)));
}

// log(exp a + exp b)
Value* sum_of(Emitter& e, Value* a, Value* b) {
  Value* most = e.maximum(a, b);
  Value* least = e.minimum(a, b);
  Value* below = e.sub(least, e.maximum(most, lowest(e, a->dtype())));
  return e.add(most, e.log(e.add(e.exp(below), e.scalar_like(a, 1))));
}

struct Continued {
  Value *total, *blank, *label;  // [batch, N]: beams as they are
  Value* place;                  // [batch, N]: the beam that this one continues by a label, or -1
  Value* by_label;  // [batch, width * classes + 1], 0 where that is a beam already, and at the end
  Value* at;        // [batch, N]: the place of beams in by_label
};

Continued continued(Emitter& e, const Search& s, const Beams& b, Value* now) {
  Value* of_blank = e.gather(now, e.reshape(s.blank_class, {1}), 1);
  Value* of_labels = columns_before(e, now, s.classes);
  Value* first_class = count(e, 0);
  Value* of_last = picked(e, now, e.maximum(b.last, first_class));
  // the beam along axis 1 is the one along axis 2 and a label
  Value* length = e.unsqueeze(b.length, {1});
  Value* is_next = e.equal(e.unsqueeze(b.length, {2}), e.add(length, count(e, 1)));
  Value* is_parent = e.logical_and(is_next, e.equal(b.common, length));
  Value* last = e.unsqueeze(b.last, {2});
  Value* is_repeated = e.equal(last, e.unsqueeze(b.last, {1}));
  Value* blank_across = e.unsqueeze(b.blank, {1});
  Value* through = e.where(is_repeated, blank_across, e.unsqueeze(b.total, {1}));
  Value* from_parent = e.reduce("ReduceMax", e.where(is_parent, through, s.nothing), Ints{2}, false);

  Continued c{};
  c.place = e.where(is_parent, numbers(e, s.width), count(e, -1));
  c.place = e.reduce("ReduceMax", c.place, Ints{2}, false);
  c.label = e.add(sum_of(e, b.label, from_parent), of_last);
  c.blank = e.add(b.total, of_blank);
  c.total = sum_of(e, c.blank, c.label);

  Value* is_same = e.equal(last, iota(e, s.classes));
  Value* blank_down = e.unsqueeze(b.blank, {2});
  Value* before = e.where(is_same, blank_down, e.unsqueeze(b.total, {2}));
  Value* grown = e.add(before, e.unsqueeze(of_labels, {1}));
  Value* batch = e.dims(now, 0, 1);
  Value* flat = e.reshape_to(grown, e.concat({batch, e.reshape(s.cells, {1})}, 0));
  flat = e.concat({flat, e.expand(s.nothing, e.concat({batch, e.ints({1})}, 0))}, 1);
  Value* cell = e.add(e.mul(c.place, s.classes), b.last);
  c.at = e.where(e.less(c.place, first_class), s.cells, cell);
  Value* none = e.expand(s.nothing, e.shape_of(c.at));
  c.by_label = e.emit("ScatterElements", {flat, c.at, none}, {{"axis", 1}});
  return c;
}

struct Candidates {
  Value *total,
      *at;  // [batch, some]: those of by_label that may be among the next beams, and their places there
};

// TensorFlow's search visits the beams in order, and drops the least probable one as soon as it has something
// better. If a beam is dropped before the turn of the beam that it continues, it is forgotten: it is not
// continued, and causes no other beam to be dropped or forgotten. So which beams are forgotten depends on
// which others are. Assuming that none is forgotten, then those that follow from that, and so on, gives upper
// and lower bounds in turn. Tests with thousands of random beams show that the bounds meet after kRounds, but
// there is no proof: for some probabilities TensorFlow may keep other beams.
Value* without_forgotten(Emitter& e, const Search& s, const Continued& c, const Candidates& k) {
  Value* own = e.unsqueeze(c.total, {2});
  Value* is_above = e.greater(e.unsqueeze(k.total, {1}), own);
  Value* is_before = e.less(e.unsqueeze(k.at, {1}), e.unsqueeze(c.at, {2}));
  Value* counts = e.cast(e.logical_and(is_above, is_before), DType::f32);
  Value* better = e.cast(e.greater(e.unsqueeze(c.total, {1}), own), DType::f32);
  better = e.reduce("ReduceSum", better, Ints{2}, false);
  Value* missing = e.sub(e.constant(static_cast<float>(s.width)), better);
  Value* is_later = e.less(c.place, numbers(e, s.width));
  Value* place = e.maximum(c.place, count(e, 0));
  Value* may_be = e.cast(e.logical_and(is_later, e.equal(c.place, place)), DType::f32);
  Value* parent = e.div(k.at, e.maximum(s.classes, count(e, 1)));
  parent = e.minimum(parent, count(e, s.width - 1));
  Value* one = e.constant(1.0F);
  Value *counted = counts, *can_be = may_be, *kept = nullptr;
  for (int round = 0;; ++round) {
    Value* many = e.reduce("ReduceSum", counted, Ints{2}, false);
    Value* is_out = e.cast(e.logical_not(e.less(many, missing)), DType::f32);
    Value* is_kept = e.sub(one, e.mul(can_be, is_out));  // [batch, N]
    kept = picked(e, is_kept, parent);
    if (round + 1 == kRounds) break;
    counted = e.mul(counts, e.unsqueeze(kept, {1}));
    can_be = e.mul(may_be, picked(e, is_kept, place));
  }
  return e.where(e.cast(kept, DType::boolean), k.total, s.nothing);
}

// What is not above the least beam cannot be among the next.
Candidates candidates(Emitter& e, const Continued& c) {
  Value* least = e.reduce("ReduceMin", c.total, Ints{1}, true);
  Value* is_above = e.cast(e.greater(c.by_label, least), DType::i64);
  Value* counts = e.reduce("ReduceSum", is_above, Ints{1}, false);
  Value* most = e.reduce("ReduceMax", e.concat({counts, e.ints({1})}, 0), Ints{0}, true);
  const Values best = e.topk(c.by_label, most, 1, true);
  return {best[0], best[1]};
}

struct Choice {
  Value *source, *is_grown, *label;  // [batch, N]: of the next beams
};

// Two that both continue a beam part there. Where one continues a beam with which another begins, it has one
// more label in common with that, if that goes on with the same.
Value* next_common(Emitter& e, const Search& s, const Beams& b, const Beams& next, const Choice& d,
                   Value* length) {
  Value* down = picked_rows(e, b.common, d.source);
  Value* across = e.unsqueeze(d.source, {1});
  Value* common = picked(e, down, e.expand(across, e.shape_of(down)), 2);
  Value* shorter = e.unsqueeze(length, {1});
  Value* from = e.expand(e.maximum(shorter, count(e, 0)), e.shape_of(down));
  Value* following = picked(e, next.labels, from, 2);
  Value* is_prefix = e.logical_and(e.equal(common, shorter), e.unsqueeze(d.is_grown, {1}));
  Value* is_longer = e.greater(e.unsqueeze(length, {2}), shorter);
  Value* is_like = e.equal(following, e.unsqueeze(d.label, {1}));
  Value* more = e.logical_and(is_prefix, e.logical_and(is_longer, is_like));
  more = e.cast(more, DType::i64);
  common = e.add(common, e.add(more, e.transpose(more, {0, 2, 1})));
  Value* is_own = e.equal(row_numbers(e, count(e, s.width)), numbers(e, s.width));
  return e.where(is_own, e.unsqueeze(next.length, {2}), common);
}

Values next_beams(Emitter& e, const Search& s, const Beams& b, Value* now) {
  const Continued c = continued(e, s, b, now);
  const Candidates k = candidates(e, c);
  Value* all = e.concat({c.total, without_forgotten(e, s, c, k)}, 1);
  const Values best = e.topk(all, e.ints({s.width}), 1, true);

  Value* zero = count(e, 0);
  Value* one = count(e, 1);
  Value* behind = e.sub(best[1], count(e, s.width));
  Value* at = picked(e, k.at, e.maximum(behind, zero));
  Value* divisor = e.maximum(s.classes, one);
  Value* parent = e.div(at, divisor);
  Choice d{};
  d.is_grown = e.logical_not(e.less(behind, zero));
  d.label = e.sub(at, e.mul(parent, divisor));
  d.source = e.where(d.is_grown, e.minimum(parent, count(e, s.width - 1)), best[1]);

  Beams next{};
  next.total = best[0];
  next.blank = e.where(d.is_grown, s.nothing, picked(e, c.blank, d.source));
  next.label = e.where(d.is_grown, next.total, picked(e, c.label, d.source));
  next.last = e.where(d.is_grown, d.label, picked(e, b.last, d.source));
  Value* length = picked(e, b.length, d.source);
  Value* grown = e.add(length, e.cast(d.is_grown, DType::i64));
  next.length = e.where(e.greater(next.total, s.nothing), grown, count(e, kNone));
  Value* is_end = e.equal(e.unsqueeze(length, {2}), iota(e, s.time));
  is_end = e.logical_and(is_end, e.unsqueeze(d.is_grown, {2}));
  Value* end = e.unsqueeze(d.label, {2});
  next.labels = e.where(is_end, end, picked_rows(e, b.labels, d.source));
  next.common = next_common(e, s, b, next, d, length);
  return next.all();
}

Beams nothing_yet(MapperContext& c, const Search& s, Value* batch, DType type) {
  Value* is_first = c.equal(numbers(c, s.width), count(c, 0));
  Value* slots = c.concat({batch, c.ints({s.width})}, 0);
  const auto filled = [&](Value* v) { return c.expand(v, slots); };
  Beams b{};
  b.total = filled(c.where(is_first, c.scalar(type, 0), s.nothing));
  b.blank = b.total;
  b.label = filled(s.nothing);
  b.last = filled(count(c, -1));
  b.length = filled(c.where(is_first, count(c, 0), count(c, kNone)));
  b.labels = c.expand(count(c, -1), c.concat({slots, c.reshape(s.time, {1})}, 0));
  b.common = c.expand(count(c, 0), c.concat({slots, c.ints({s.width})}, 0));
  return b;
}

// [time, batch, classes]: logarithms of probabilities; behind the end of a sequence the blank is certain.
Value* probabilities(MapperContext& c, Value* logits, Value* blank_class, Value* nothing) {
  Value* step = c.unsqueeze(row_numbers(c, c.dim(logits, 0)), {2});
  Value* lengths = c.unsqueeze(c.cast(c.in(1), DType::i64), {1});
  Value* is_blank = c.equal(iota(c, c.dim(logits, 2)), blank_class);
  Value* end = c.where(is_blank, c.scalar_like(logits, 0), nothing);
  return c.where(c.less(step, lengths), c.softmax(logits, -1, true), end);
}

}  // namespace

Values sparse_labels(MapperContext& c, Value* labels, Value* keep) {
  Value* ones = c.cast(keep, DType::i64);
  Value* counted = c.cumsum(ones, c.i64(1), true, false);
  Value* at = c.transpose(c.emit("NonZero", {keep}), {1, 0});  // [entries, 2]
  Value* row = c.slice(at, {0}, {1}, {1});
  Value* column = c.unsqueeze(c.emit("GatherND", {counted, at}), {1});
  Value* indices = c.concat({row, column}, 1);
  Value* values = c.emit("GatherND", {labels, at});
  Value* lengths = c.reduce("ReduceSum", ones, {1}, false);
  Value* longest = c.reduce("ReduceMax", lengths, {0}, true);
  return {indices, values, c.concat({c.dims(labels, 0, 1), longest}, 0)};
}

Values map_beam_decoder(MapperContext& c) {
  const auto width = c.attr<std::int64_t>("beam_width"), paths = c.attr<std::int64_t>("top_paths");
  const bool merge = c.attr_or<std::int64_t>("merge_repeated", 1) != 0;
  if (width < 1 || paths < 1 || paths > width || width > 100000)
    c.fail(Code::bad_model,
           "beam_width " + std::to_string(width) + " and top_paths " + std::to_string(paths));
  Value* logits = c.in(0);
  if (!logits->shape().ranked()) logits = c.reshape(logits, {0, 0, 0});
  Search s{};
  s.width = width;
  s.classes = s.blank_class = c.sub(c.dim(logits, 2), count(c, 1));
  s.cells = c.mul(s.classes, count(c, width));
  s.time = c.dim(logits, 0);
  s.nothing = c.scalar_like(logits, -std::numeric_limits<double>::infinity());
  Value* log_p = probabilities(c, logits, s.blank_class, s.nothing);
  const Values initial = nothing_yet(c, s, c.dims(logits, 1, 2), logits->dtype()).all();
  const auto step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    return next_beams(e, s, Beams::of(state), e.squeeze(e.gather(log_p, k, 0), {0}));
  };
  const Beams last = Beams::of(counted_loop(c, s.time, initial, step));

  Values out(static_cast<std::size_t>(3 * paths));
  for (std::int64_t i = 0; i < paths; ++i) {
    Value* labels = c.gather(last.labels, count(c, i), 1);
    Value* keep = c.greater(labels, count(c, -1));
    if (merge) {
      Value* none = c.expand(count(c, -1), c.concat({c.dims(labels, 0, 1), c.ints({1})}, 0));
      Value* next =
          c.concat({c.slice(labels, {1}, {std::numeric_limits<std::int64_t>::max()}, {1}), none}, 1);
      keep = c.logical_and(keep, c.logical_not(c.equal(labels, next)));
    }
    const Values sparse = sparse_labels(c, labels, keep);
    for (std::int64_t j = 0; j < 3; ++j) nth(out, j * paths + i) = nth(sparse, j);
  }
  out.push_back(c.slice(last.total, {0}, {paths}, {1}));
  return out;
}

}  // namespace t2o::op_mappers
