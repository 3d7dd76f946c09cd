#include "rewriters/tf/tiled_nms.h"

namespace t2o::rewriters {

// ---- values

Value* TiledNms::see(Value* v) const {
  for (bool moves = true; moves;) {
    v = through_identities(v);
    moves = false;
    for (const Loop* l : loops_) {
      const int i = v ? l->variable(v) : -1;
      if (i < 0) continue;
      const auto variable = static_cast<std::size_t>(i);
      moves = l->is_constant_argument(variable);
      v = moves ? l->initial(variable) : l->body().inputs()[variable];
      break;
    }
  }
  return v;
}

Value* TiledNms::operand(Value* v, std::string_view op, std::size_t index) const {
  v = v ? see(v) : nullptr;
  return v && is_op(v, op) && index < v->producer()->input_count() ? see(v->producer()->input(index))
                                                                   : nullptr;
}

template <class F>
bool TiledNms::either(Value* v, std::string_view op, F&& matches) const {
  Value *a = operand(v, op, 0), *b = operand(v, op, 1);
  return a && b && (matches(a, b) || matches(b, a));
}

bool TiledNms::is_reduced(Value* v, std::string_view op, const Ints& axes, Value*& of, bool keeps) const {
  of = operand(v, op, 0);
  return of && is_known(operand(v, op, 1), axes) &&
         (int_attr(*see(v)->producer(), "keep_dims") != 0) == keeps;
}

Value* TiledNms::element(Value* dims, std::size_t index) const { return operand(dims, "Pack", index); }

std::optional<std::int64_t> TiledNms::known_element(Value* dims, std::size_t index) const {
  Value* v = element(dims, index);
  const auto all = known_ints(v ? v : see(dims));
  const std::size_t at = v ? 0 : index;
  return all && at < all->size() ? std::optional((*all)[at]) : std::nullopt;
}

// Whether the dim is the size of this axis of the boxes, or is inferred and so has to be.
bool TiledNms::is_size_at(Value* dims, std::size_t index, int axis) const {
  if (Value* v = element(dims, index); v && is_size(v, axis)) return true;
  const auto n = known_element(dims, index);
  const Shape& s = boxes_->shape();
  return n && (*n == -1 || (s.ranked() && axis < s.rank() && t2o::is_known(s[axis]) && *n == s[axis]));
}

Value* TiledNms::transposed(Value* v) const {
  Value* perm = operand(v, "Transpose", 1);
  return perm && is_known(perm, Ints{0, 2, 1}) ? operand(v, "Transpose", 0) : nullptr;
}

Value* TiledNms::column(Value* v) const {
  bool has_axis = false;
  for (;;) {
    if (Value* x = operand(v, "Cast", 0)) {
      v = x;
      continue;
    }
    Value* axis = operand(v, "ExpandDims", 1);
    Value* dims = operand(v, "Reshape", 1);
    const bool adds =
        axis ? is_known(axis, Ints{2}) : dims && is_element(dims, 1, -1) && is_element(dims, 2, 1);
    if (!adds) return has_axis ? see(v) : nullptr;
    if (has_axis) return nullptr;
    has_axis = true;
    v = operand(v, axis ? "ExpandDims" : "Reshape", 0);
  }
}

bool TiledNms::is_size(Value* v, int axis) const {
  const auto e = extent_value(see(v));
  if (!e) return false;
  if (e->root) return e->axis == axis && see(const_cast<Value*>(e->root)) == boxes_;
  const Shape& s = boxes_->shape();
  return e->dim != kUnknownDim && s.ranked() && axis < s.rank() && e->dim == s[axis];
}

bool TiledNms::is_count_of_tiles(Value* dims, std::size_t index) const {
  if (Value* v = element(dims, index)) return is_count_of_tiles(v);
  const auto n = known_element(dims, index);
  const Shape& s = boxes_->shape();
  return n && s.ranked() && s.rank() == 3 && t2o::is_known(s[1]) && *n == s[1] / tile_;
}

bool TiledNms::is_count_of_tiles(Value* v) const {
  Value *size = operand(v, "FloorDiv", 0), *tile = operand(v, "FloorDiv", 1);
  if (size) return is_size(size, 1) && is_known(tile, Ints{tile_});
  const Shape& s = boxes_->shape();
  return s.ranked() && s.rank() == 3 && t2o::is_known(s[1]) && is_known(v, Ints{s[1] / tile_});
}

bool TiledNms::is_range(Value* v, Value*& limit) const {
  limit = operand(v, "Range", 1);
  return limit && is_known(operand(v, "Range", 0), Ints{0}) && is_known(operand(v, "Range", 2), Ints{1});
}

bool TiledNms::is_range_of_tile(Value* v, const Ints& dims) const {
  Value *range = operand(v, "Reshape", 0), *limit = nullptr;
  return range && is_known(operand(v, "Reshape", 1), dims) && is_range(range, limit) &&
         is_known(limit, Ints{tile_});
}

// ---- the overlap of boxes: intersection / (area of a + area of b - intersection + a little)

TiledNms::Corner TiledNms::corner(Value* v) const {
  v = see(v);
  if (!is_op(v, "Split") || v->producer()->outputs().size() != 4) return {};
  Value* axis = operand(v, "Split", 0);
  if (!is_known(axis, Ints{2}) && !is_known(axis, Ints{-1})) return {};
  return {operand(v, "Split", 1), v->index()};
}

bool TiledNms::is_side(Value* v, Corner& low) const {
  if (!operand(v, "Sub", 1)) return false;
  const Corner high = corner(operand(v, "Sub", 0));
  low = corner(operand(v, "Sub", 1));
  return low.boxes && low.boxes == high.boxes && high.index == low.index + 2;
}

bool TiledNms::is_area(Value* v, Value* boxes) const {
  return either(v, "Mul", [&](Value* a, Value* b) {
    Corner x, y;
    return is_side(a, x) && is_side(b, y) && x.boxes == boxes && y.boxes == boxes && x.index == 1 &&
           y.index == 0;
  });
}

// max(min(a_max, b_max) - max(a_min, b_min), 0)
bool TiledNms::is_span(Value* v, Value* a, Value* b, std::size_t axis) const {
  const auto is_bound = [&](Value* bound, std::string_view op, std::size_t index) {
    return either(bound, op, [&](Value* x, Value* y) {
      Value* of_b = transposed(y);
      const Corner p = corner(x), q = of_b ? corner(of_b) : Corner();
      return p.boxes == a && q.boxes == b && p.index == index && q.index == index;
    });
  };
  return either(v, "Maximum", [&](Value* difference, Value* zero) {
    return is_known(zero, 0.0) && operand(difference, "Sub", 1) &&
           is_bound(operand(difference, "Sub", 0), "Minimum", axis + 2) &&
           is_bound(operand(difference, "Sub", 1), "Maximum", axis);
  });
}

bool TiledNms::is_intersection(Value* v, Value* a, Value* b) const {
  return either(v, "Mul", [&](Value* x, Value* y) { return is_span(x, a, b, 1) && is_span(y, a, b, 0); });
}

// max(coordinates) < 0
bool TiledNms::is_negative(Value* v, Value* boxes) const {
  Value *most = operand(v, "Less", 0), *zero = operand(v, "Less", 1), *of = nullptr;
  return most && is_known(zero, 0.0) &&
         (is_reduced(most, "Max", {-1}, of, true) || is_reduced(most, "Max", {2}, of, true)) && of == boxes;
}

// The overlap where negative boxes have -1: that is below each threshold.
Value* TiledNms::without_mask(Value* v, Value* a, Value* b, bool& has_a, bool& has_b) const {
  while (Value* where = operand(v, "SelectV2", 0)) {
    Value* ones = operand(operand(v, "SelectV2", 1), "Neg", 0);
    if (!ones || !is_ones(ones)) return nullptr;
    const auto is_b = [&](Value* x) {
      Value* of = transposed(x);
      return of && is_negative(of, b);
    };
    const bool of_a = is_negative(where, a);
    const bool of_b = is_b(where) || either(where, "LogicalOr",
                                            [&](Value* x, Value* none) { return is_zero(none) && is_b(x); });
    if (!of_a && !of_b) return nullptr;
    has_a = has_a || of_a;
    has_b = has_b || of_b;
    v = operand(v, "SelectV2", 2);
  }
  return v;
}

bool TiledNms::is_overlap(Value* v, Value* a, Value* b) {
  bool has_a = false, has_b = false;
  v = without_mask(v, a, b, has_a, has_b);
  if (!v || has_a != has_b || (has_overlap_ && has_a != skips_negative_)) return false;
  has_overlap_ = true;
  skips_negative_ = has_a;
  Value* shared = operand(v, "RealDiv", 0);
  return shared && is_intersection(shared, a, b) &&
         either(operand(v, "RealDiv", 1), "AddV2", [&](Value* all, Value* little) {
           const auto size = known_scalar(little);
           return size && *size >= 0 && *size <= 1.1e-8 && operand(all, "Sub", 1) == shared &&
                  either(operand(all, "Sub", 0), "AddV2", [&](Value* x, Value* y) {
                    Value* of_b = transposed(y);
                    return is_area(x, a) && of_b && is_area(of_b, b);
                  });
         });
}

// ---- the loop

// boxes[:, index * tile : (index + 1) * tile]
bool TiledNms::is_tile(Value* v, Value* index) {
  Value *begin = operand(v, "Slice", 1), *size = operand(v, "Slice", 2);
  if (!begin || operand(v, "Slice", 0) != boxes_ || !element(begin, 1)) return false;
  const auto tile = known_element(size, 1);
  if (!tile || *tile < 1 || (tile_ != 0 && *tile != tile_)) return false;
  tile_ = *tile;
  return is_element(begin, 0, 0) && is_element(begin, 2, 0) && is_size_at(size, 0, 0) &&
         is_element(size, 2, 4) && either(element(begin, 1), "Mul", [&](Value* i, Value* by) {
           return i == index && is_known(by, Ints{tile_});
         });
}

bool TiledNms::compares(Value* v, std::string_view op, Value*& of) {
  of = operand(v, op, 0);
  const auto with = of ? known_scalar(operand(v, op, 1)) : std::nullopt;
  if (!with || !(*with > 0 && *with <= 1) || (threshold_ != 0 && *with != threshold_)) return false;
  threshold_ = static_cast<float>(*with);
  return true;
}

// Whether all overlaps are 0, where each one is 0 or reaches the threshold.
bool TiledNms::is_low(Value* v, Value*& of) const {
  for (const char* op : {"Less", "LessEqual"}) {
    of = operand(v, op, 0);
    if (!of) continue;
    const auto with = known_scalar(operand(v, op, 1));
    const bool strict = op == std::string_view("Less");
    return with && (strict ? *with > 0 && *with <= threshold_ : *with >= 0 && *with < threshold_);
  }
  return false;
}

// The column is behind the row.
bool TiledNms::is_upper(Value* v) const {
  Value* greater = operand(v, "ExpandDims", 0);
  return greater && is_known(operand(v, "ExpandDims", 1), Ints{0}) && operand(greater, "Greater", 1) &&
         is_range_of_tile(operand(greater, "Greater", 0), {1, -1}) &&
         is_range_of_tile(operand(greater, "Greater", 1), {-1, 1});
}

bool TiledNms::is_kept(Value* v, Value*& boxes) const {
  Value *counts = nullptr, *positive = nullptr;
  if (!is_reduced(v, "Sum", {1}, counts) || !operand(counts, "Cast", 0) ||
      !is_reduced(operand(counts, "Cast", 0), "Any", {2}, positive))
    return false;
  boxes = operand(positive, "Greater", 0);
  return boxes && is_known(operand(positive, "Greater", 1), 0.0);
}

const Loop* TiledNms::inner(Value* result) {
  const auto loop = result && result->producer() ? Loop::view(*result->producer()) : std::nullopt;
  if (!loop) return nullptr;
  inner_.push_back(std::make_unique<Loop>(*loop));
  loops_.push_back(inner_.back().get());
  return loops_.back();
}

// slice *= all(overlap(earlier tile, slice) < threshold, 1), for each earlier tile
bool TiledNms::reads_cross(Value* slice) {
  const Loop* loop = inner(slice);
  if (!loop) return false;
  const std::size_t at = slice->index();
  Value* before = loop->body().inputs()[at];
  const Values condition = tfgraph::conjuncts(loop->condition().outputs()[0]);
  if (condition.size() != 1 || operand(condition[0], "Less", 1) != index_) return false;
  Value* index = operand(condition[0], "Less", 0);
  const int counter = loop->argument(index);
  if (counter < 0 || !loop->is_counter(static_cast<std::size_t>(counter))) return false;
  if (!is_tile(loop->initial(at), index_)) return false;
  Value *less = nullptr, *overlap = nullptr;
  const bool is_masked = either(loop->result(at), "Mul", [&](Value* keeps, Value* of) {
    Value* all = of == before ? column(keeps) : nullptr;
    return all && is_reduced(all, "All", {1}, less) && compares(less, "Less", overlap);
  });
  if (!is_masked) return false;
  for (const ir::Node& n : loop->body().nodes())
    if (n.op() == "Slice" && is_tile(n.output(), index) && is_overlap(overlap, n.output(), before))
      return true;
  return false;
}

// What the loop over the boxes of one tile does: see padded_nms.cpp.
bool TiledNms::reads_self_body(const Loop& loop, std::size_t overlap) const {
  Value* before = loop.body().inputs()[overlap];
  Value* after = loop.result(overlap);
  const auto is_product = [&](Value* v, auto&& is_factor) {
    return either(v, "Mul", [&](Value* factor, Value* of) {
      Value* flags = of == before ? column(factor) : nullptr;
      Value* most = nullptr;
      return flags && is_low(flags, most) && is_factor(most);
    });
  };
  const auto is_free = [&](Value* most) {
    Value* of = nullptr;
    return is_reduced(most, "Max", {1}, of) && of == before;
  };
  const auto is_unsuppressed = [&](Value* most) {
    Value* of = nullptr;
    return is_reduced(most, "Max", {1}, of) && is_product(of, is_free);
  };
  if (!is_product(after, is_unsuppressed)) return false;
  const int going = loop.variable(through_identities(loop.condition().outputs()[0]));
  if (going < 0) return false;
  const auto at = static_cast<std::size_t>(going);
  const TensorPtr first = see(loop.initial(at))->constant();
  Value *differs = nullptr, *now = nullptr, *then = nullptr;
  if (!first || first->elements() != 1 || first->int_at(0) == 0 ||
      !is_reduced(loop.result(at), "Any", {0}, differs) || !operand(differs, "Greater", 1))
    return false;
  const auto least = known_scalar(operand(differs, "Greater", 1));
  Value* difference = operand(differs, "Greater", 0);
  const int sums = loop.argument(operand(difference, "Sub", 0));
  if (!least || *least < 0 || *least > threshold_ || sums < 0) return false;
  return is_reduced(operand(difference, "Sub", 1), "Sum", {1, 2}, now) && now == see(after) &&
         is_reduced(loop.initial(static_cast<std::size_t>(sums)), "Sum", {1, 2}, then) &&
         then == see(loop.initial(overlap)) &&
         operand(difference, "Sub", 1) == see(loop.result(static_cast<std::size_t>(sums)));
}

// overlap * (upper & overlap >= threshold) at first
bool TiledNms::reads_self(Value* result, Value* slice) {
  const Loop* loop = inner(result);
  if (!loop) return false;
  Value* first = see(loop->initial(result->index()));
  const bool begins = either(first, "Mul", [&](Value* overlap, Value* factor) {
    Value* both = operand(factor, "Cast", 0);
    return both && is_overlap(overlap, slice, slice) &&
           either(both, "LogicalAnd", [&](Value* upper, Value* reaches) {
             Value* of = nullptr;
             return is_upper(upper) && compares(reaches, "GreaterEqual", of) && of == overlap;
           });
  });
  return begins && reads_self_body(*loop, result->index());
}

// boxes with the slice in place of the tile, by a mask of tiles
bool TiledNms::is_update(Value* after, Value* slice) const {
  Value *all = operand(after, "Reshape", 0), *dims = operand(after, "Reshape", 1);
  if (!all) return false;
  const bool is_flat = operand(dims, "Shape", 0) == boxes_ ||
                       (is_size_at(dims, 0, 0) && is_size_at(dims, 1, 1) && is_element(dims, 2, 4));
  const auto is_mask = [&](Value* mask) {
    Value* equal = operand(operand(mask, "Reshape", 0), "Cast", 0);
    Value* limit = nullptr;
    return equal && is_known(operand(mask, "Reshape", 1), Ints{1, -1, 1, 1}) &&
           either(equal, "Equal", [&](Value* range, Value* index) {
             return index == index_ && is_range(range, limit) && is_count_of_tiles(limit);
           });
  };
  const auto is_new = [&](Value* v, Value* mask) {
    Value *row = operand(v, "Tile", 0), *times = operand(v, "Tile", 1);
    return row && operand(row, "ExpandDims", 0) == slice &&
           is_known(operand(row, "ExpandDims", 1), Ints{1}) && is_element(times, 0, 1) &&
           is_count_of_tiles(times, 1) && is_element(times, 2, 1) && is_element(times, 3, 1) && is_mask(mask);
  };
  const auto is_old = [&](Value* v, Value* others, Value* mask) {
    Value* split = operand(v, "Reshape", 1);
    return split && operand(v, "Reshape", 0) == boxes_ && is_size_at(split, 0, 0) &&
           is_element(split, 2, tile_) && is_element(split, 3, 4) && operand(others, "Sub", 1) == mask &&
           is_known(operand(others, "Sub", 0), 1.0);
  };
  return is_flat && either(all, "AddV2", [&](Value* x, Value* y) {
           return either(x, "Mul", [&](Value* tiles, Value* mask) {
             return is_new(tiles, mask) &&
                    either(y, "Mul", [&](Value* old, Value* others) { return is_old(old, others, mask); });
           });
         });
}

const char* TiledNms::read(std::size_t boxes, std::size_t counts, std::size_t index) {
  boxes_ = outer_.body().inputs()[boxes];
  index_ = outer_.body().inputs()[index];
  Value* slice = nullptr;
  Value* before = outer_.body().inputs()[counts];
  if (!either(outer_.result(counts), "AddV2",
              [&](Value* x, Value* kept) { return x == before && is_kept(kept, slice); }))
    return "it does not count the boxes that have a positive coordinate";
  Value *crossed = nullptr, *overlaps = nullptr;
  const bool is_masked = either(slice, "Mul", [&](Value* x, Value* column) {
    Value* free = operand(column, "ExpandDims", 0);
    Value* suppressed = free ? operand(operand(free, "Sub", 1), "Cast", 0) : nullptr;
    Value* sum = suppressed ? operand(suppressed, "Greater", 0) : nullptr;
    crossed = x;
    return sum && is_known(operand(column, "ExpandDims", 1), Ints{2}) &&
           is_known(operand(free, "Sub", 0), 1.0) && is_known(operand(suppressed, "Greater", 1), 0.0) &&
           is_reduced(sum, "Sum", {1}, overlaps);
  });
  if (!is_masked) return "it does not clear the suppressed boxes of a tile";
  if (!reads_cross(crossed)) return "boxes of earlier tiles do not suppress those of the tile";
  if (!reads_self(overlaps, crossed)) return "boxes of a tile do not suppress each other";
  if (!is_update(outer_.result(boxes), slice)) return "it does not put the tile back into the boxes";
  return nullptr;
}

}  // namespace t2o::rewriters
