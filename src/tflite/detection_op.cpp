#include <algorithm>
#include <cmath>
#include <limits>

#include "tflite/custom.h"

// TFLite_Detection_PostProcess: boxes from their encodings, the best of those that overlap.
namespace t2o::tflite {
namespace {

struct Options {
  explicit Options(const Op& op) {
    const CustomOptions o(op);
    detections = o.number("max_detections");
    classes_per_detection = o.number("max_classes_per_detection");
    per_class = o.number("detections_per_class", 100);
    classes = o.number("num_classes");
    is_regular = o.number("use_regular_nms", 0) != 0;
    score = o.real("nms_score_threshold");
    overlap = o.real("nms_iou_threshold");
    const char* const names[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    for (std::size_t i = 0; i < 4; ++i) scales[i] = o.real(names[i]);
    if (detections < 1 || classes_per_detection < 1 || per_class < 1 || classes < 1 ||
        std::max(detections, classes) > (1 << 20))
      op.fail(Code::bad_model, "its options are out of range");
  }
  std::int64_t detections, classes_per_detection, per_class, classes;
  bool is_regular;
  double score, overlap, scales[4];
};

Value* columns(Op& op, Value* x, std::int64_t from, std::int64_t count) {
  return op.make("Slice", {x, op.ints({0, from}), op.ints({-1, count})});
}

// Encodings [1, n, 4 or more] and anchors [n, 4], both as y x h w -> corners [n, 4]
Value* decoded(Op& op, const Options& o) {
  const auto* dims = op.input(0).shape();
  if (count(dims) != 3)
    op.fail(Code::bad_model, "its encodings have " + std::to_string(count(dims)) + " axes");
  Value *all = op.reshape(op.in(0), {-1, dims->Get(2)}), *anchors = op.in(2);
  const Values anchor =
      op.make_all("Split", {op.scalar(DType::i32, 1), anchors}, {{"num_split", std::int64_t{2}}});
  const auto scale = [&](std::size_t i) {
    return op.constant(t2o::Tensor::of<float>(
        {2}, Floats{static_cast<float>(o.scales[i]), static_cast<float>(o.scales[i + 1])}));
  };
  Value* moved = op.make("Mul", {op.make("RealDiv", {columns(op, all, 0, 2), scale(0)}), anchor[1]});
  Value* center = op.make("AddV2", {moved, anchor[0]});
  Value* grown = op.make("Exp", {op.make("RealDiv", {columns(op, all, 2, 2), scale(2)})});
  Value* half = op.make("Mul", {op.make("Mul", {grown, op.scalar_like(grown, 0.5)}), anchor[1]});
  Value* low = op.make("Sub", {center, half});
  Value* high = op.make("AddV2", {center, half});
  return op.make("ConcatV2", {low, high, op.scalar(DType::i32, 1)});
}

// TensorFlow keeps scores above a threshold, this operator also those that are equal to it.
Value* threshold(Op& op, const Options& o) {
  const float score = static_cast<float>(o.score);
  const float below = score == 0 ? -std::numeric_limits<float>::min()
                                 : std::nextafter(score, -std::numeric_limits<float>::infinity());
  return op.scalar(DType::f32, static_cast<double>(below));
}

Value* with_first_axis(Op& op, Value* x) { return op.make("ExpandDims", {x, op.scalar(DType::i32, 0)}); }
Value* as_float(Op& op, Value* x) { return op.make("Cast", {x}, {{"DstT", DType::f32}}); }

// Each class by itself, then the best of all.
Values regular(Op& op, const Options& o, Value* boxes, Value* scores) {
  Value* all = op.make("ExpandDims", {with_first_axis(op, boxes), op.scalar(DType::i32, 2)});
  Value* per_class = op.scalar(DType::i32, static_cast<double>(o.per_class));
  Value* total = op.scalar(DType::i32, static_cast<double>(o.detections));
  Value* overlap = op.scalar(DType::f32, o.overlap);
  const Values found =
      op.make_all("CombinedNonMaxSuppression",
                  {all, with_first_axis(op, scores), per_class, total, overlap, threshold(op, o)},
                  {{"clip_boxes", std::int64_t{0}}});
  return {found[0], found[2], found[1], as_float(op, found[3])};
}

// [detections, n]: zeros behind the number of those that are found
Value* masked(Op& op, Value* is_found, Value* x) {
  return op.make("SelectV2", {is_found, x, op.scalar_like(x, 0)});
}

// By the best class of each box; each box that is found gets its best classes.
Values fast(Op& op, const Options& o, Value* boxes, Value* scores) {
  const std::int64_t each = std::min(o.classes_per_detection, o.classes);
  Value* k = op.scalar(DType::i32, static_cast<double>(each));
  const Values best = op.make_all("TopKV2", {scores, k});
  Value* highest = op.reshape(columns(op, best[0], 0, 1), {-1});
  Value* total = op.scalar(DType::i32, static_cast<double>(o.detections));
  Value* overlap = op.scalar(DType::f32, o.overlap);
  const Values found = op.make_all("NonMaxSuppressionV4", {boxes, highest, total, overlap, threshold(op, o)},
                                   {{"pad_to_max_output_size", std::int64_t{1}}});
  Value* axis = op.scalar(DType::i32, 0);
  Value* places = op.make("Range", {op.scalar(DType::i32, 0), total, op.scalar(DType::i32, 1)});
  Value* is_found = op.reshape(op.make("Less", {places, found[1]}), {-1, 1});
  Value* classes = masked(op, is_found, as_float(op, op.make("GatherV2", {best[1], found[0], axis})));
  Value* values = masked(op, is_found, op.make("GatherV2", {best[0], found[0], axis}));
  Value* corners = masked(op, is_found, op.make("GatherV2", {boxes, found[0], axis}));
  if (o.classes_per_detection > 1) {
    corners = op.make("Tile", {op.reshape(corners, {-1, 1, 4}), op.ints({1, each, 1})});
    const auto fill = [&](Value* x, const Ints& pads) {
      return each == o.classes_per_detection
                 ? x
                 : op.make("Pad", {x, op.constant(t2o::Tensor::of<std::int32_t>(
                                          {static_cast<std::int64_t>(pads.size()) / 2, 2},
                                          std::vector<std::int32_t>(pads.begin(), pads.end())))});
    };
    const std::int64_t more = o.classes_per_detection - each;
    corners = fill(corners, {0, 0, 0, more, 0, 0});
    classes = fill(classes, {0, 0, 0, more});
    values = fill(values, {0, 0, 0, more});
  }
  const std::int64_t all = o.detections * o.classes_per_detection;
  return {op.reshape(corners, {1, all, 4}), op.reshape(classes, {1, all}), op.reshape(values, {1, all}),
          as_float(op, op.reshape(found[1], {1}))};
}

}  // namespace

// Outputs: boxes, classes, scores, their number
Values detection_post_process(Op& op) {
  const Options o(op);
  Value* boxes = decoded(op, o);
  const auto* dims = op.input(1).shape();
  if (count(dims) != 3 || dims->Get(2) < o.classes || dims->Get(2) > o.classes + 1)
    op.fail(Code::bad_model, "its scores do not fit the number of its classes");
  Value* scores = op.reshape(op.in(1), {-1, dims->Get(2)});
  if (dims->Get(2) != o.classes)
    scores = columns(op, scores, 1, o.classes);  // the first one is the background
  return o.is_regular ? regular(op, o, boxes, scores) : fast(op, o, boxes, scores);
}

}  // namespace t2o::tflite
