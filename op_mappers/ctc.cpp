#include "op_mappers/all.h"
#include "op_mappers/ctc_beams.h"
#include "op_mappers/ctc_loss.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

// [batch, time] of bool: the steps of the sequence whose class is written. A step repeats the last one when
// that has the same class, blank or not.
Value* written(MapperContext& c, Value* best, Value* in_sequence, Value* blank) {
  Value* keep = c.logical_and(in_sequence, c.logical_not(c.equal(best, blank)));
  if (!c.flag("merge_repeated")) return keep;
  Value* none = c.expand(c.i64(-1), c.concat({c.dims(best, 0, 1), c.ints({1})}, 0));
  Value* before = c.concat({none, c.slice(best, {0}, {-1}, {1})}, 1);
  return c.logical_and(keep, c.logical_not(c.equal(best, before)));
}

// The best class of each step; a sparse matrix [batch, longest] of what is left without blanks and
// repetitions.
Values map_greedy(MapperContext& c) {
  Value* logits = c.in(0);  // [time, batch, classes]
  const auto index = c.attr_or<std::int64_t>("blank_index", -1);
  Value* blank = c.constant(index);
  if (index < 0) blank = c.add(c.dim(logits, 2), blank);
  Value* best = c.emit("ArgMax", {logits}, {{"axis", 2}, {"keepdims", 0}});
  best = c.transpose(best, {1, 0});
  Value* time = iota(c, c.dim(logits, 0));
  Value* length = c.unsqueeze(c.cast(c.in(1), DType::i64), {1});
  Value* in_sequence = c.less(time, length);
  Value* keep = written(c, best, in_sequence, blank);

  Values out = sparse_labels(c, best, keep);

  Value* score = c.transpose(c.reduce("ReduceMax", logits, {2}, false), {1, 0});
  Value* counted_score = c.where(in_sequence, score, c.scalar_like(score, 0));
  Value* sum = c.reduce("ReduceSum", counted_score, {1}, true);
  out.push_back(c.neg(sum));
  return out;
}

}  // namespace

void register_ctc(OpRegistry& r) {
  r.op("CTCGreedyDecoder").by(map_greedy);
  r.op("CTCBeamSearchDecoder")
      .note("which beams drop out is found in five rounds, tested but not proved to be enough")
      .by(map_beam_decoder);
  r.op("CTCLoss", "CTCLossV2").note("no preprocess_collapse_repeated").by(map_ctc_loss);
}

}  // namespace t2o::op_mappers
