#pragma once
#include <memory>
#include <optional>

#include "rewriters/pattern.h"
#include "rewriters/tf/loop.h"

namespace t2o::rewriters {

// Reads the body of a loop that suppresses the boxes of one tile in each round; padded_nms.cpp says how.
class TiledNms {
 public:
  explicit TiledNms(const Loop& outer) : outer_(outer), loops_{&outer} {}

  // The arguments are the variables with the boxes, the counts of kept boxes and the number of the tile. Returns null if the body
  // is such a loop, else why it is not.
  const char* read(std::size_t boxes, std::size_t counts, std::size_t index);

  float threshold() const { return threshold_; }  // overlaps from here on suppress
  std::int64_t tile() const { return tile_; }
  bool skips_negative() const { return skips_negative_; }  // boxes whose coordinates are all negative overlap nothing

 private:
  struct Corner {
    Value* boxes = nullptr;
    std::size_t index = 0;  // of y_min, x_min, y_max, x_max
  };

  // A value without identities; what no round of a loop changes is what it is around the loop.
  Value* see(Value*) const;
  Value* operand(Value*, std::string_view op, std::size_t index) const;  // null if the value is of another operator
  template <class F> bool either(Value*, std::string_view op, F&& matches) const;  // the operands in either order
  bool is_known(Value* v, const Ints& elements) const { return v && known_ints(see(v)) == elements; }
  bool is_known(Value* v, double scalar) const { return v && known_scalar(see(v)) == scalar; }
  bool is_reduced(Value*, std::string_view op, const Ints& axes, Value*& of, bool keeps = false) const;
  Value* element(Value* dims, std::size_t index) const;  // of a Pack; null if it is none
  std::optional<std::int64_t> known_element(Value* dims, std::size_t index) const;  // of a Pack or of known integers
  bool is_element(Value* dims, std::size_t index, std::int64_t n) const { return known_element(dims, index) == n; }
  bool is_size_at(Value* dims, std::size_t index, int axis) const;
  Value* transposed(Value*) const;
  Value* column(Value*) const;  // x of x[:, :, None], of any type
  bool is_size(Value*, int axis) const;  // of the boxes
  bool is_count_of_tiles(Value*) const;
  bool is_count_of_tiles(Value* dims, std::size_t index) const;
  bool is_range(Value*, Value*& limit) const;
  bool is_range_of_tile(Value*, const Ints& dims) const;

  Corner corner(Value*) const;
  bool is_side(Value*, Corner& low) const;
  bool is_area(Value*, Value* boxes) const;
  bool is_span(Value*, Value* a, Value* b, std::size_t axis) const;
  bool is_intersection(Value*, Value* a, Value* b) const;
  bool is_overlap(Value*, Value* a, Value* b);  // [batch, a, b]
  bool is_negative(Value*, Value* boxes) const;
  Value* without_mask(Value*, Value* a, Value* b, bool& has_a, bool& has_b) const;

  bool is_tile(Value*, Value* index);
  bool compares(Value*, std::string_view op, Value*& of);  // with the threshold
  bool is_low(Value*, Value*& of) const;
  bool is_upper(Value*) const;
  bool is_kept(Value*, Value*& boxes) const;  // the number of boxes with a positive coordinate
  bool reads_cross(Value* slice);
  bool reads_self(Value* overlap, Value* slice);
  bool reads_self_body(const Loop&, std::size_t overlap) const;
  bool is_update(Value* after, Value* slice) const;
  const Loop* inner(Value* result);

  const Loop& outer_;
  std::vector<const Loop*> loops_;
  std::vector<std::unique_ptr<Loop>> inner_;
  Value *boxes_ = nullptr, *index_ = nullptr;
  float threshold_ = 0;
  std::int64_t tile_ = 0;
  bool skips_negative_ = false, has_overlap_ = false;
};

}  // namespace t2o::rewriters
