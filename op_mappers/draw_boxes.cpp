#include <cstdint>

#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

// DrawBoundingBoxes: box after box, each a mask of its four sides.
namespace t2o::op_mappers {
namespace {

// Colors of the boxes, RGBA; the first channel is the whole of a gray image.
constexpr std::int64_t kColors = 10;
const std::vector<float> kTable = {1,   1,   0, 1, 0,   0, 1, 1, 1, 0, 0,   1, 0, 1, 0, 1, 0.5, 0, 0.5, 1,
                                   0.5, 0.5, 0, 1, 0.5, 0, 0, 1, 0, 0, 0.5, 1, 0, 1, 1, 1, 1,   0, 1,   1};

Value* default_colors(MapperContext& c, Value* depth) {
  std::vector<float> gray = kTable;
  for (std::size_t i = 0; i < gray.size(); i += 4) gray[i] = 1;
  Value* colored = c.constant<float>({kColors, 4}, kTable);
  Value* is_gray = c.equal(depth, c.i64(1));
  return c.where(is_gray, c.constant<float>({kColors, 4}, gray), colored);
}

struct Colors {
  Value *table, *count;
};

// Those given, if there are any; of the image's channels.
Colors colors_of(MapperContext& c, Value* channels) {
  Value* ten = c.constant(kColors);
  Value* from = c.ints({0});
  Value* along = c.ints({1});
  Value* preset = c.slice(default_colors(c, c.squeeze(channels, {0})), from, channels, along);
  if (c.input_count() < 3) return {preset, ten};
  Value* given = c.dim(c.in(2), 0);
  Value* has_none = c.equal(given, c.i64(0));
  Value* table = c.concat({c.slice(c.in(2), from, channels, along), preset}, 0);
  return {table, c.where(has_none, ten, given)};
}

struct Range {
  Value *first, *last;  // [batch, 1, 1, 1]: pixels along an axis, in the image or not
};

// The fraction of the axis, cut off.
Range range_of(Emitter& e, Value* box, std::int64_t low, std::int64_t high, Value* size) {
  Value* last = e.cast(e.sub(size, e.i64(1)), DType::f32);
  const auto pixel = [&](std::int64_t side) {
    Value* fraction = e.unsqueeze(e.gather(box, e.ints({side}), 2), {3});
    return e.cast(e.mul(e.cast(fraction, DType::f32), last), DType::i64);
  };
  Value* first = pixel(low);
  return {first, pixel(high)};
}

Value* within(Emitter& e, Value* places, Range r) {
  Value* not_before = e.greater_equal(places, r.first);
  return e.logical_and(not_before, e.less_equal(places, r.last));
}

Value* at_ends(Emitter& e, Value* places, Range r) {
  Value* first = e.equal(places, r.first);
  return e.logical_or(first, e.equal(places, r.last));
}

Value* is_seen(Emitter& e, Range r, Value* size) {
  Value* begins = e.less(r.first, size);
  Value* ends = e.greater_equal(r.last, e.i64(0));
  return e.logical_and(e.logical_and(begins, ends), e.less_equal(r.first, r.last));
}

Values map_draw(MapperContext& c) {
  Value* images = c.in(0);
  Value* boxes = c.in(1);
  Value* height = c.dim(images, 1);
  Value* width = c.dim(images, 2);
  const Colors colors = colors_of(c, c.dims(images, 3, 4));
  Value* table = c.cast_like(colors.table, images);
  Value* y = c.reshape(iota(c, height), {1, -1, 1, 1});
  Value* x = c.reshape(iota(c, width), {1, 1, -1, 1});
  const auto step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    Value* box = e.gather(boxes, k, 1);
    const Range rows = range_of(e, box, 0, 2, height);
    const Range columns = range_of(e, box, 1, 3, width);
    Value* ends = at_ends(e, y, rows);
    Value* across = e.logical_and(ends, within(e, x, columns));
    Value* sides = at_ends(e, x, columns);
    Value* down = e.logical_and(sides, within(e, y, rows));
    Value* rows_seen = is_seen(e, rows, height);
    Value* seen = e.logical_and(rows_seen, is_seen(e, columns, width));
    Value* color = e.gather(table, e.mod(k, colors.count), 0);
    Value* mask = e.logical_and(e.logical_or(across, down), seen);
    return {e.where(mask, color, state[0])};
  };
  return {counted_loop(c, c.dim(boxes, 1), {images}, step)[0]};
}

}  // namespace

void register_draw_boxes(OpRegistry& r) { r.op("DrawBoundingBoxes", "DrawBoundingBoxesV2").by(map_draw); }

}  // namespace t2o::op_mappers
