#include <cmath>
#include <functional>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "tfgraph/internal_ops.h"

namespace t2o::op_mappers {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Value* as_f32(Emitter& e, Value* v) { return e.cast(v, DType::f32); }
Value* as_i64(Emitter& e, Value* v) { return e.cast(v, DType::i64); }

// TensorFlow takes scores that are strictly above the lowest number where it has no threshold; NaN never is.
Value* lowest_score(MapperContext& c) {
  if (c.in(1)->dtype() == DType::f16) return c.constant(-65504.0f);
  return c.constant(std::numeric_limits<float>::lowest());
}

struct Thresholds {
  Value *overlap, *score = nullptr;  // scalar f32; without one all scores count
};

// Its limits have the shape [1] by its description, and [] in most files. Every runtime takes [1]; a limit
// that is computed when the model runs stays as it is.
Value* suppress(MapperContext& c, Value* boxes, Value* scores, Value* most, const Thresholds& t) {
  Values in = {boxes, scores, as_i64(c, most), t.overlap};
  if (t.score) in.push_back(t.score);
  for (std::size_t i = 2; i < in.size(); ++i)
    if (in[i]->constant()) in[i] = c.reshape(in[i], {1});
  return c.emit("NonMaxSuppression", in);
}

// Indices of the chosen boxes, [k] of i64
Value* hard(MapperContext& c, const Thresholds& t) {
  Value* boxes = c.unsqueeze(as_f32(c, c.in(0)), {0});
  Value* scores = c.unsqueeze(as_f32(c, c.in(1)), {0, 1});
  Value* chosen = suppress(c, boxes, scores, c.in(2), t);
  return c.gather(chosen, c.i64(2), 1);
}

Value* as_output(MapperContext& c, Value* index) { return c.cast(index, DType::i32); }

Values map_v1(MapperContext& c) {
  Value* overlap = c.constant(c.attr_or("iou_threshold", 0.5f));
  return {as_output(c, hard(c, {overlap, lowest_score(c)}))};
}
Values map_v2(MapperContext& c) {
  Value* overlap = as_f32(c, c.in(3));
  return {as_output(c, hard(c, {overlap, lowest_score(c)}))};
}
Thresholds thresholds(MapperContext& c) {
  Value* overlap = as_f32(c, c.in(3));
  return {overlap, as_f32(c, c.in(4))};
}
Values map_v3(MapperContext& c) { return {as_output(c, hard(c, thresholds(c)))}; }

// [k] -> [max_output_size], zeros at the end
Value* padded(MapperContext& c, Value* v, Value* size) {
  Value* missing = c.sub(as_i64(c, c.in(2)), size);
  Value* pads = c.concat({c.ints({0}), c.unsqueeze(missing, {0})}, 0);
  return c.pad(v, pads, c.scalar_like(v, 0));
}

Values map_v4(MapperContext& c) {
  Value* index = as_output(c, hard(c, thresholds(c)));
  Value* size = c.size_of(index);
  Value* count = c.cast(size, DType::i32);
  return {c.flag("pad_to_max_output_size") ? padded(c, index, size) : index, count};
}

// ---- one box after the other: what ONNX's NonMaxSuppression does not compute

using Similarity = std::function<Value*(Emitter&, Value* best)>;  // of each box with the best, [n]
using Decay = std::function<Value*(Emitter&, Value* scores, Value* similarity)>;

struct Picked {
  Value *index, *score;  // [k] i64, [k] f32
};

Value* above(Emitter& e, Value* scores, Value* threshold) {
  Value* candidate = e.greater(scores, threshold);
  return e.where(candidate, scores, e.constant(-kInfinity));
}

// Takes the box with the best score, lowers the scores of the boxes similar to it, and repeats while a score
// is above the threshold. A box that is out has the score -inf.
GraphPtr picking_body(MapperContext& c, Value* indices, Value* threshold, const Similarity& similarity,
                      const Decay& decay) {
  GraphPtr body = c.graph().make_subgraph();
  const std::string prefix = c.origin().label() + "/";
  body->set_name(prefix + "pick");
  body->add_input(prefix + "iteration", DType::i64, Shape(Ints{}));
  body->add_input(prefix + "condition", DType::boolean, Shape(Ints{}));
  Value* scores = body->add_input(prefix + "scores", DType::f32, Shape::unknown_dims(1));
  Emitter e(*body, c.target(), c.shared_origin());
  Value* best = e.emit("ArgMax", {scores}, {{"axis", 0}, {"keepdims", 0}});
  Value* score = e.gather(scores, best, 0);
  Value* lowered = above(e, decay(e, scores, similarity(e, best)), threshold);
  Value* is_best = e.equal(indices, best);
  Value* rest = e.where(is_best, e.constant(-kInfinity), lowered);
  Value* next = e.reduce_all("ReduceMax", rest, false);
  Value* more = e.greater(next, threshold);
  body->set_outputs({more, rest, best, score});
  body->name_rest();
  return body;
}

Picked pick(MapperContext& c, Value* threshold, const Similarity& similarity, const Decay& decay) {
  Value* scores = above(c, as_f32(c, c.in(1)), threshold);
  Value* indices = iota(c, c.size_of(scores));
  Value* never = c.constant<float>({1}, {-kInfinity});
  Value* first = c.reduce_all("ReduceMax", c.concat({scores, never}, 0), false);  // there may be no box
  Value* any = c.greater(first, threshold);
  GraphPtr body = picking_body(c, indices, threshold, similarity, decay);
  Value* most = as_i64(c, c.in(2));
  const Shape vector = Shape::unknown_dims(1);
  ir::NodeSpec loop{"Loop", {most, any, scores}, {{"body", body}}, {}, c.shared_origin(), {}, true};
  loop.outputs = {{"", DType::f32, vector}, {"", DType::i64, vector}, {"", DType::f32, vector}};
  const Values out = c.graph().add(std::move(loop)).outputs();
  return {out[1], out[2]};
}

struct Boxes {
  Value *low, *high, *area;  // corners [n, 2], [n]
};

Boxes corners(Emitter& e, Value* boxes) {
  Value* first = e.slice(boxes, {0}, {2}, {1});
  Value* second = e.slice(boxes, {2}, {4}, {1});
  Value* low = e.minimum(first, second);
  Value* high = e.maximum(first, second);
  return {low, high, e.reduce("ReduceProd", e.sub(high, low), {1}, false)};
}

// intersection / union with the best box; 0 where one of the two has no area
Value* overlap_with(Emitter& e, const Boxes& b, Value* best) {
  Value* high = e.minimum(b.high, e.gather(b.high, best, 0));
  Value* low = e.maximum(b.low, e.gather(b.low, best, 0));
  Value* common = e.reduce("ReduceProd", e.emit("Relu", {e.sub(high, low)}), {1}, false);
  Value* area = e.gather(b.area, best, 0);
  Value* all = e.sub(e.add(b.area, area), common);
  Value* zero = e.constant(0.0f);
  Value* both = e.greater(e.minimum(b.area, area), zero);
  return e.where(both, e.div(common, all), zero);
}

Value* hard_decay(Emitter& e, Value* scores, Value* similarity, Value* threshold) {
  Value* stays = e.less_equal(similarity, threshold);
  return e.where(stays, scores, e.constant(-kInfinity));
}

// score * exp(-similarity^2 / (2 sigma))
Value* soft_decay(Emitter& e, Value* scores, Value* similarity, Value* sigma) {
  Value* square = e.mul(similarity, similarity);
  Value* exponent = e.div(e.mul(square, e.constant(-0.5f)), sigma);
  return e.mul(scores, e.exp(exponent));
}

Picked pick_softly(MapperContext& c, const Thresholds& t, Value* sigma) {
  const Boxes boxes = corners(c, as_f32(c, c.in(0)));
  const auto similarity = [boxes](Emitter& e, Value* best) { return overlap_with(e, boxes, best); };
  const auto decay = [t, sigma](Emitter& e, Value* scores, Value* s) {
    Value* soft = soft_decay(e, scores, s, sigma);
    if (sigma->constant()) return soft;
    Value* is_soft = e.greater(sigma, e.constant(0.0f));
    return e.where(is_soft, soft, hard_decay(e, scores, s, t.overlap));
  };
  return pick(c, t.score, similarity, decay);
}

Values map_v5(MapperContext& c) {
  const Thresholds t = thresholds(c);
  Value* sigma = as_f32(c, c.in(5));
  Value *index = nullptr, *score = nullptr;
  if (sigma->constant() && sigma->constant()->elements() == 1 && !(sigma->constant()->float_at(0) > 0)) {
    Value* chosen = hard(c, t);
    score = c.gather(c.in(1), chosen, 0);
    index = as_output(c, chosen);
  } else {
    const Picked p = pick_softly(c, t, sigma);
    index = as_output(c, p.index);
    score = c.cast(p.score, c.in(1)->dtype());
  }
  Value* size = c.size_of(index);
  Value* count = c.cast(size, DType::i32);
  if (!c.flag("pad_to_max_output_size")) return {index, score, count};
  index = padded(c, index, size);
  return {index, padded(c, score, size), count};
}

Values map_with_overlaps(MapperContext& c) {
  const Thresholds t = thresholds(c);
  Value* overlaps = c.in(0);
  const auto similarity = [overlaps](Emitter& e, Value* best) { return e.gather(overlaps, best, 1); };
  const auto decay = [t](Emitter& e, Value* scores, Value* s) { return hard_decay(e, scores, s, t.overlap); };
  return {as_output(c, pick(c, t.score, similarity, decay).index)};
}

// ---- several classes of several images

struct Ranking {
  Value *scores, *boxes;  // [batch, classes * n], -inf where not chosen; [batch, n or classes * n, 4]
  bool shared;            // the classes share the boxes
};

Value* chosen_scores(MapperContext& c, Value* boxes, Value* scores) {
  Value* chosen = suppress(c, boxes, scores, c.in(2), {c.in(4), c.in(5)});
  Value* none = c.expand(c.constant(-kInfinity), c.shape_of(scores));
  Value* kept = c.emit("GatherND", {scores, chosen});
  return c.emit("ScatterND", {none, chosen, kept});
}

Value* product(MapperContext& c, Value* a, Value* b) { return c.unsqueeze(c.mul(a, b), {0}); }

Ranking rank_boxes(MapperContext& c, Value* classes, Value* count) {
  Value* boxes = c.in(0);
  Value* scores = c.transpose(c.in(1), {0, 2, 1});  // [batch, classes, n]
  Value* batch = c.dims(scores, 0, 1);
  Value* flat = c.concat({batch, product(c, classes, count)}, 0);
  const Shape& s = boxes->shape();
  if (s.ranked() && s[2] == 1) {
    boxes = c.squeeze(boxes, {2});
    return {c.reshape_to(chosen_scores(c, boxes, scores), flat), boxes, true};
  }
  // a batch of batch * classes images with one class each
  Value* by_class = c.transpose(boxes, {0, 2, 1, 3});
  Value* four = c.ints({4});
  Value* all = c.concat({c.dims(scores, 0, 3), four}, 0);
  const Dim sets = by_class->shape().ranked() ? by_class->shape()[1] : kUnknownDim;
  const auto known_classes = constant_ints(classes);
  if (!known_classes || sets != known_classes->front()) by_class = c.expand(by_class, all);
  Value* images = c.unsqueeze(c.mul(c.squeeze(batch, {0}), classes), {0});
  Value* n = c.unsqueeze(count, {0});
  Value* image_boxes = c.reshape_to(by_class, c.concat({images, n, four}, 0));
  Value* image_scores = c.reshape_to(scores, c.concat({images, c.ints({1}), n}, 0));
  Value* ranking = c.reshape_to(chosen_scores(c, image_boxes, image_scores), flat);
  return {ranking, c.reshape_to(by_class, c.concat({flat, four}, 0)), false};
}

Value* fill_up(MapperContext& c, Value* v, Value* missing, int rank) {
  Value* none = c.ints(repeated(0, rank + 1));
  Values pads{none, missing};
  if (rank == 3) pads.push_back(c.ints({0}));
  return c.pad(v, c.concat(pads, 0), c.scalar_like(v, 0));
}

Values map_combined(MapperContext& c) {
  Value* classes = c.dim(c.in(1), 2);
  Value* count = c.dim(c.in(1), 1);
  Value* size = as_i64(c, c.in(3));
  if (c.flag("pad_per_class")) size = c.minimum(size, c.mul(as_i64(c, c.in(2)), classes));
  const bool clip = c.attr_or<std::int64_t>("clip_boxes", 1) != 0;
  const Ranking r = rank_boxes(c, classes, count);
  Value* k = c.minimum(size, c.mul(classes, count));
  const Values top = c.topk(r.scores, k, 1, true);
  Value* valid = c.greater(top[0], c.constant(-kInfinity));
  Value* zero = c.constant(0.0f);
  Value* scores = c.where(valid, top[0], zero);
  Value* category = c.div(top[1], c.maximum(count, c.i64(1)));  // no boxes
  Value* labels = c.where(valid, as_f32(c, category), zero);
  Value* where = r.shared ? c.sub(top[1], c.mul(category, count)) : top[1];
  Value* index = c.expand(c.unsqueeze(where, {2}), c.concat({c.dims(where, 0, 2), c.ints({4})}, 0));
  Value* boxes = c.emit("GatherElements", {r.boxes, index}, {{"axis", 1}});
  if (clip) boxes = c.clip(boxes, 0, 1);
  boxes = c.where(c.unsqueeze(valid, {2}), boxes, zero);
  Value* detections = c.reduce("ReduceSum", c.cast(valid, DType::i32), {1}, false);
  Value* missing = c.unsqueeze(c.sub(size, k), {0});
  boxes = fill_up(c, boxes, missing, 3);
  scores = fill_up(c, scores, missing, 2);
  return {boxes, scores, fill_up(c, labels, missing, 2), detections};
}

// ---- tile by tile: t2o.SuppressBoxes

// The boxes as NonMaxSuppression takes them. It exchanges the corners of a box that has them the wrong way
// round; TensorFlow's formula finds no overlap for such a box, as for one without an area.
Value* boxes_with_area(MapperContext& c, Value* highest) {
  Value* boxes = c.in(0);
  if (c.flag("skips_negative")) {
    Value* zero = c.constant(0.0f);
    boxes = c.where(c.less(highest, zero), zero, boxes);
  }
  const Values corners = c.split(boxes, {2, 2}, 2);
  Value* high = c.maximum(corners[0], corners[1]);
  return c.concat({corners[0], high}, 2);
}

// How many boxes NonMaxSuppression has to choose. Where no reader sees the end, enough of those with a
// positive coordinate: they are among as many and all the others.
Value* most_chosen(MapperContext& c, Value* highest, Value* count) {
  const auto enough = constant_ints(c.in(1)), all = constant_ints(count);
  if (!c.flag("hides_end") || (enough && all && enough->front() >= all->front() / 2)) return count;
  Value* others = c.less_equal(highest, c.constant(0.0f));
  Value* of_image = c.reduce("ReduceSum", as_i64(c, others), {1, 2}, false);
  return c.add(c.reduce("ReduceMax", of_image, {0}, false), as_i64(c, c.in(1)));
}

// The boxes, with zeros for those that one before them suppresses. The scores fall from box to box.
Value* suppressed(MapperContext& c) {
  Value *boxes = c.in(0), *sizes = c.dims(boxes, 0, 2), *count = c.dim(boxes, 1),
        *batch = c.dims(boxes, 0, 1);
  Value* scores = c.neg(as_f32(c, iota(c, count)));
  scores = c.expand(scores, c.concat({batch, c.ints({1}), as_vector(c, count)}, 0));
  // ONNX suppresses above the threshold, TensorFlow from the threshold on
  Value* below = c.constant(std::nextafter(c.attr<float>("iou_threshold"), 0.0f));
  Value* highest = c.reduce("ReduceMax", boxes, {2}, true);
  Value* valid = boxes_with_area(c, highest);
  Value* most = most_chosen(c, highest, count);
  Value* chosen = suppress(c, valid, scores, most, {below});  // [k, 3]: image, class, box
  Value* where = c.gather(chosen, c.ints({0, 2}), 1);
  Value* ones = c.expand(c.constant(1.0f), c.dims(chosen, 0, 1));
  Value* none = c.expand(c.constant(0.0f), sizes);
  Value* kept = c.emit("ScatterND", {none, where, ones});
  return c.mul(boxes, c.unsqueeze(kept, {2}));
}

// Whether the loop reaches each box, [count] of i32: it takes a tile if an image has too few boxes before it.
Value* reached(MapperContext& c, Value* kept) {
  const std::int64_t tile = c.attr<std::int64_t>("tile_size");
  const Shape& s = kept->shape();
  const auto tiles = constant_ints(c.in(2)), enough = constant_ints(c.in(1));
  const Dim count = s.ranked() && is_known(s[1]) ? s[1] / tile : kUnknownDim;
  const bool has_all = tiles && is_known(count) && tiles->front() >= count;
  const bool hides_end = c.flag("hides_end"), takes_first = enough && enough->front() > 0;
  if (has_all && (hides_end || (takes_first && count == 1))) return c.constant(std::int32_t{1});
  Value* positive = c.greater(c.reduce("ReduceMax", kept, {2}, false), c.constant(0.0f));
  Value* by_tile = c.reshape(c.cast(positive, DType::i32), {0, -1, tile});
  Value* before = c.cumsum(c.reduce("ReduceSum", by_tile, {2}, false), c.i64(1), true, false);
  Value* least = c.reduce("ReduceMin", before, {0}, false);  // of all images
  Value* open = c.less(least, c.cast(c.in(1), DType::i32));
  if (!has_all) {
    Value* index = iota(c, c.dim(by_tile, 1));
    open = c.logical_and(open, c.less(index, as_i64(c, c.in(2))));
  }
  Value* rows = c.unsqueeze(c.cast(open, DType::i32), {1});
  return c.reshape(c.expand(rows, c.ints({1, tile})), {-1});
}

Values map_suppress_boxes(MapperContext& c) {
  Value* kept = suppressed(c);
  Value* taken = reached(c, kept);
  if (taken->constant()) return {kept, taken};
  return {c.where(c.cast(c.unsqueeze(taken, {1}), DType::boolean), kept, c.in(0)), taken};
}

}  // namespace

void register_nms(OpRegistry& r) {
  const std::string note = "float16 is computed in float32";
  r.op("NonMaxSuppression").by(map_v1);
  r.op("NonMaxSuppressionV2").note(note).by(map_v2);
  r.op("NonMaxSuppressionV3").note(note).by(map_v3);
  r.op("NonMaxSuppressionV4").note(note).by(map_v4);
  r.op("NonMaxSuppressionV5").note(note + "; soft suppression as a Loop").by(map_v5);
  r.op("NonMaxSuppressionWithOverlaps").note("as a Loop").by(map_with_overlaps);
  r.op("CombinedNonMaxSuppression").by(map_combined);
  r.op(tfgraph::kSuppressBoxes).by(map_suppress_boxes);
}

}  // namespace t2o::op_mappers
