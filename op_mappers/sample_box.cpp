#include <cstdint>

#include "op_mappers/all.h"
#include "op_mappers/random_source.h"

// SampleDistortedBoundingBox: all attempts are drawn at once, the first one that fits is taken.
namespace t2o::op_mappers {
namespace {

Value* number(Emitter& e, double v) { return e.scalar(DType::f32, v); }

// Rows of random numbers in [0, 1), [1, attempts] each.
Values draw(MapperContext& c, const RandomSource& from) {
  Value* numbers = from.uniform(c, c.ints({4, c.attr_or<std::int64_t>("max_attempts", 100)}), DType::f32);
  return c.split(numbers, {1, 1, 1, 1}, 0);
}

struct Crops {
  Value *y, *x, *height, *width;  // [1, attempts]
  Value* possible;
};

struct Image {
  Value *height, *width;
};

struct Bounds {
  float low, high;
};

Bounds bounds(MapperContext& c, const char* attr, Bounds fallback) {
  const auto v = c.attr_or(attr, Floats{fallback.low, fallback.high});
  if (v.size() != 2) c.fail(Code::bad_model, std::string(attr) + " needs two entries");
  return {v[0], v[1]};
}

Value* rounded_width(Emitter& e, Value* height, Value* aspect) { return e.round(e.mul(height, aspect)); }

// The heights that a crop of this aspect may have, by area and by the size of the image.
Value* highest(Emitter& e, const Image& image, Value* aspect, Value* max_area) {
  Value* by_area = e.round(e.sqrt(e.div(max_area, aspect)));
  Value* by_width = e.floor(e.div(e.add(image.width, number(e, 0.5)), aspect));
  Value* over = e.greater(rounded_width(e, by_width, aspect), image.width);
  by_width = e.sub(by_width, e.cast(over, DType::f32));
  return e.minimum(e.minimum(by_area, by_width), image.height);
}

Crops crops(MapperContext& c, const Image& image, const RandomSource& from) {
  const Values u = draw(c, from);
  const Bounds ratio = bounds(c, "aspect_ratio_range", {0.75f, 1.33f});
  const Bounds area = bounds(c, "area_range", {0.05f, 1});
  const double span = static_cast<double>(ratio.high) - static_cast<double>(ratio.low);
  Value* aspect = c.add(c.mul(u[0], number(c, span)), c.constant(ratio.low));
  Value* whole = c.mul(image.height, image.width);
  Value* min_area = c.mul(c.constant(area.low), whole);
  Value* max_area = c.mul(c.constant(area.high), whole);
  Value* most = highest(c, image, aspect, max_area);
  Value* least = c.minimum(c.round(c.sqrt(c.div(min_area, aspect))), most);
  Value* choices = c.add(c.sub(most, least), number(c, 1));
  Value* height = c.add(least, c.floor(c.mul(u[1], choices)));
  // one pixel up or down, where rounding left the area
  Value* small = c.less(c.mul(height, rounded_width(c, height, aspect)), min_area);
  height = c.add(height, c.cast(small, DType::f32));
  Value* large = c.greater(c.mul(height, rounded_width(c, height, aspect)), max_area);
  height = c.sub(height, c.cast(large, DType::f32));
  Value* width = rounded_width(c, height, aspect);
  Value* covered = c.mul(height, width);
  Value* area_fits = c.logical_and(c.greater_equal(covered, min_area), c.less_equal(covered, max_area));
  Value* size_fits = c.logical_and(c.less_equal(height, image.height), c.less_equal(width, image.width));
  Value* not_empty = c.greater_equal(covered, number(c, 1));
  Value* possible = c.logical_and(c.logical_and(area_fits, size_fits), not_empty);
  Value* y = c.floor(c.mul(u[2], c.sub(image.height, height)));
  Value* x = c.floor(c.mul(u[3], c.sub(image.width, width)));
  return {y, x, height, width, possible};
}

Value* overlap(Emitter& e, Value* begin_a, Value* end_a, Value* begin_b, Value* end_b) {
  return e.emit("Relu", {e.sub(e.minimum(end_a, end_b), e.maximum(begin_a, begin_b))});
}

// [1, attempts]: whether the crop covers enough of one of the boxes, [boxes, 4]
Value* covers(MapperContext& c, const Crops& crop, const Image& image, Value* boxes, Value* counts,
              Value* least) {
  const Values side = c.split(boxes, {1, 1, 1, 1}, 1);
  Value* top = c.floor(c.mul(side[0], image.height));
  Value* left = c.floor(c.mul(side[1], image.width));
  Value* bottom = c.floor(c.mul(side[2], image.height));
  Value* right = c.floor(c.mul(side[3], image.width));
  Value* area = c.mul(c.sub(bottom, top), c.sub(right, left));
  Value* rows = overlap(c, crop.y, c.add(crop.y, crop.height), top, bottom);
  Value* columns = overlap(c, crop.x, c.add(crop.x, crop.width), left, right);
  Value* covered = c.greater_equal(c.div(c.mul(rows, columns), area), least);
  Value* is_object = c.greater_equal(area, number(c, 1));
  if (counts) is_object = c.logical_and(is_object, counts);
  Value* good = c.cast(c.logical_and(covered, is_object), DType::i32);
  return c.greater(c.reduce("ReduceMax", good, Ints{0}, true), c.scalar(DType::i32, 0));
}

Values sample(MapperContext& c, Value* least, const RandomSource& from) {
  const bool whole_image = c.flag("use_image_if_no_bounding_boxes");
  Value* size = c.cast(c.in(0), DType::f32);
  const Image image{c.slice(size, {0}, {1}, {0}), c.slice(size, {1}, {2}, {0})};
  Value* boxes = c.reshape(c.in(1), {-1, 4});
  Value* counts = nullptr;
  if (whole_image) {  // counts as a box only where there is no other
    Value* none = c.equal(c.size_of(c.in(1)), c.i64(0));
    Value* others = c.expand(c.logical_not(none), c.concat({c.dims(boxes, 0, 1), c.ints({1})}, 0));
    counts = c.concat({others, c.reshape(none, {1, 1})}, 0);
    boxes = c.concat({boxes, c.constant<float>({1, 4}, {0, 0, 1, 1})}, 0);
  }
  const Crops crop = crops(c, image, from);
  Value* good =
      c.cast(c.logical_and(crop.possible, covers(c, crop, image, boxes, counts, least)), DType::i32);
  Value* first = c.emit("ArgMax", {good}, {{"axis", 1}, {"keepdims", 0}});
  Value* found = c.greater(c.reduce("ReduceMax", good, Ints{1}, false), c.scalar(DType::i32, 0));
  const auto taken = [&](Value* v, Value* otherwise) {
    return c.where(found, c.reshape(c.gather(v, first, 1), {1}), otherwise);
  };
  Value* zero = c.constant<float>({1}, {0});
  Value* y = taken(crop.y, zero);
  Value* x = taken(crop.x, zero);
  Value* height = taken(crop.height, image.height);
  Value* width = taken(crop.width, image.width);
  const DType type = c.in(0)->dtype();
  Value* begin = c.cast(c.concat({y, x, zero}, 0), type);
  Value* extent = c.cast(c.concat({height, width, c.constant<float>({1}, {-1})}, 0), type);
  Value* bottom = c.div(c.add(y, height), image.height);
  Value* right = c.div(c.add(x, width), image.width);
  Value* top = c.div(y, image.height);
  Value* box = c.concat({top, c.div(x, image.width), bottom, right}, 0);
  return {begin, extent, c.reshape(box, {1, 1, 4})};
}

Values map_sample(MapperContext& c, const RandomSource& from) {
  return sample(c, c.constant(c.attr_or("min_object_covered", 0.1f)), from);
}
Values map_sample_v2(MapperContext& c, const RandomSource& from) { return sample(c, c.in(2), from); }

}  // namespace

void register_sample_box(OpRegistry& r) {
  const std::string note = "other numbers of the same distribution";
  using SourcedMapper = Values (*)(MapperContext&, const RandomSource&);
  const auto rows = [&](const char* op, SourcedMapper map) {
    r.op(op).note(note).by([map](MapperContext& c) { return map(c, kRandomOperators); });
    r.op(op).since(22).note(note).by([map](MapperContext& c) { return map(c, random_source(c)); });
  };
  rows("SampleDistortedBoundingBox", map_sample);
  rows("SampleDistortedBoundingBoxV2", map_sample_v2);
}

}  // namespace t2o::op_mappers
