#include <algorithm>
#include <bit>
#include <limits>

#include "op_mappers/all.h"

// The specification is a list of entries, one for each item between the brackets of x[1, ..., None, 2:7:3].
// Axes before the ellipsis count from the front, those after it from the back, so the rank of x is not
// needed.
namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min(),
                       kLast = std::numeric_limits<std::int64_t>::max();

constexpr std::size_t kMostEntries = 2 * 254;  // TensorFlow's axes, and as many new ones

enum class Kind : std::uint8_t { range, index, new_axis, ellipsis };

struct Entry {
  Kind kind;
  std::size_t at;          // in begin, end and strides
  std::int64_t axis = 0;   // of x
  std::int64_t place = 0;  // in the result
};

struct Masks {
  std::int64_t begin, end, ellipsis, new_axis, shrink;
};
bool has(std::int64_t mask, std::size_t bit) { return bit < 63 && ((mask >> bit) & 1) != 0; }

std::vector<Entry> entries(const Masks& m, std::size_t n) {
  std::vector<Entry> list;
  for (std::size_t i = 0; i < n; ++i) {
    Kind kind = Kind::range;
    if (has(m.ellipsis, i))
      kind = Kind::ellipsis;
    else if (has(m.new_axis, i))
      kind = Kind::new_axis;
    else if (has(m.shrink, i))
      kind = Kind::index;
    list.push_back({kind, i});
  }
  const auto front = std::ranges::find_if(list, [](const Entry& e) { return e.kind == Kind::ellipsis; });
  std::int64_t axis = 0, place = 0;
  for (auto e = list.begin(); e != front; ++e) {
    e->axis = axis, e->place = place;
    if (e->kind != Kind::new_axis) ++axis;
    if (e->kind != Kind::index) ++place;
  }
  axis = place = 0;
  for (auto e = list.end(); e != front && --e != front;) {
    if (e->kind != Kind::new_axis) --axis;
    if (e->kind != Kind::index) --place;
    e->axis = axis, e->place = place;
  }
  return list;
}

// One bound of each entry: a number where it is known, else the element of the runtime vector.
class Bounds {
 public:
  Bounds(MapperContext& c, std::size_t input) : c_(&c), input_(c.in(input)) {
    if (input_->constant())
      known_ = input_->constant()->to_ints();
    else if (input_->known_elements())
      known_ = *input_->known_elements(), symbolic_ = true;
  }
  std::optional<std::int64_t> known(std::size_t i) const {
    if (i >= known_.size() || (symbolic_ && known_[i] < 0)) return std::nullopt;
    return known_[i];
  }
  Value* vector(std::size_t i) {  // one element, 1-D
    if (const auto k = known(i)) return c_->ints({*k});
    if (!wide_) wide_ = c_->cast(input_, DType::i64);
    return c_->gather(wide_, c_->ints({static_cast<std::int64_t>(i)}), 0);
  }
  Value* scalar(std::size_t i) {
    if (const auto k = known(i)) return c_->constant(*k);
    if (!wide_) wide_ = c_->cast(input_, DType::i64);
    return c_->gather(wide_, c_->i64(static_cast<std::int64_t>(i)), 0);
  }

 private:
  MapperContext* c_;
  Value* input_;
  Value* wide_ = nullptr;
  Ints known_;
  bool symbolic_ = false;
};

Value* joined(MapperContext& c, const Values& parts) {
  Ints all;
  for (const Value* p : parts) {
    if (!p->constant()) return c.concat(parts, 0);
    all.push_back(p->constant()->int_at(0));
  }
  return c.ints(all);
}

// The one end if the stride is positive, the other if it is negative.
Value* open_end(MapperContext& c, Bounds& strides, std::size_t i, std::int64_t forward,
                std::int64_t backward) {
  if (const auto step = strides.known(i)) return c.ints({*step > 0 ? forward : backward});
  Value* goes_on = c.greater(strides.vector(i), c.ints({0}));
  Value* one = c.ints({forward});
  Value* other = c.ints({backward});
  return c.where(goes_on, one, other);
}

constexpr std::int64_t kBehind = kLast - 1;  // no size, nor an open end as kLast is

// An end behind the last element, from which a step back takes nothing, must not be the highest i32 or i64:
// an open end may be written as these.
Value* plain_end(MapperContext& c, Bounds& end, std::optional<std::int64_t> step, std::size_t at) {
  const auto known = end.known(at);
  const bool would_be_open = known && *known >= std::numeric_limits<std::int32_t>::max() && step && *step < 0;
  return would_be_open ? c.ints({kBehind}) : end.vector(at);
}

// A step back from a begin before the first element takes nothing in TensorFlow, the first one in ONNX: then
// the end is put behind the last.
Value* end_of_range(MapperContext& c, const Entry& e, Bounds& begin, Bounds& strides, Value* end) {
  const auto step = strides.known(e.at), first = begin.known(e.at);
  if ((step && *step > 0) || (first && *first >= -1)) return end;
  Value* x = c.in(0);
  const bool in_front = e.axis >= 0;
  Value* size = in_front || c.has_rank(0) ? c.reshape(c.dim(x, static_cast<int>(e.axis)), {1})
                                          : c.gather(c.shape_of(x), c.ints({e.axis}), 0);
  Value* before = c.less(c.add(begin.vector(e.at), size), c.ints({0}));
  if (!step) before = c.logical_and(before, c.less(strides.vector(e.at), c.ints({0})));
  if (const auto known = constant_ints(before)) return (*known)[0] != 0 ? c.ints({kBehind}) : end;
  return c.where(before, c.ints({kBehind}), end);
}

Value* ranges(MapperContext& c, const std::vector<Entry>& list, const Masks& m, Bounds& begin, Bounds& end,
              Bounds& strides) {
  Values starts, ends, steps;
  Ints axes;
  bool plain = true;
  for (const Entry& e : list) {
    const auto step = strides.known(e.at);
    if (e.kind != Kind::range) continue;
    if (step == std::int64_t{0}) c.fail(Code::bad_model, "a stride of 0");
    const bool from_first = has(m.begin, e.at) || (step > 0 && begin.known(e.at) == std::int64_t{0});
    if (from_first && has(m.end, e.at) && step == 1) continue;
    starts.push_back(has(m.begin, e.at) ? open_end(c, strides, e.at, 0, kLast) : begin.vector(e.at));
    Value* last =
        has(m.end, e.at) ? open_end(c, strides, e.at, kLast, kFirst) : plain_end(c, end, step, e.at);
    ends.push_back(has(m.begin, e.at) ? last : end_of_range(c, e, begin, strides, last));
    steps.push_back(strides.vector(e.at));
    axes.push_back(e.axis);
    plain = plain && step == 1;
  }
  if (axes.empty()) return c.in(0);
  Value* start = joined(c, starts);
  Value* limit = joined(c, ends);
  Value* axis = c.ints(axes);
  return c.slice(c.in(0), start, limit, axis, plain ? nullptr : joined(c, steps));
}

// Takes the indices so that the axes of those still to come keep their numbers: from the ellipsis outwards.
Value* indices(MapperContext& c, Value* x, std::vector<Entry> list, Bounds& begin) {
  std::erase_if(list, [](const Entry& e) { return e.kind != Kind::index; });
  const auto back =
      std::stable_partition(list.begin(), list.end(), [](const Entry& e) { return e.axis >= 0; });
  std::reverse(list.begin(), back);
  for (const Entry& e : list) x = c.gather(x, begin.scalar(e.at), e.axis);
  return x;
}

Value* new_axes(MapperContext& c, Value* x, const std::vector<Entry>& list) {
  Ints places;
  for (const Entry& e : list)
    if (e.kind == Kind::new_axis) places.push_back(e.place);
  return c.unsqueeze(x, places);
}

std::optional<std::size_t> entry_count(MapperContext& c) {
  for (const std::size_t i : {3U, 1U, 2U})
    if (c.has_rank(i) && c.in(i)->shape().rank() == 1 && is_known(c.in(i)->shape()[0]))
      return static_cast<std::size_t>(c.in(i)->shape()[0]);
  return std::nullopt;
}

// As many ranges, and nothing else, as begin turns out to have.
Value* ranges_of_any_count(MapperContext& c, const Masks& m) {
  if ((m.ellipsis | m.new_axis | m.shrink) != 0)
    c.fail(Code::not_constant, "how many axes are sliced is only known at run time",
           "give begin, end or strides a known length");
  const auto vector = [&](std::size_t i) { return c.reshape(c.cast(c.in(i), DType::i64), {-1}); };
  Value *begin = vector(1), *end = vector(2), *step = vector(3);
  Value* zero = c.i64(0);
  Value* axes = c.range(zero, c.size_of(begin), c.i64(1));
  Value* size = c.gather(c.shape_of(c.in(0)), axes, 0);
  Value* backward = c.less(step, zero);
  Value* is_before = c.logical_and(backward, c.less(c.add(begin, size), zero));
  end = c.where(is_before, c.constant(kBehind), end);
  const auto opened = [&](Value* bound, std::int64_t mask, std::int64_t forward, std::int64_t other) {
    std::vector<std::uint8_t> bits;
    for (std::size_t i = 0; i < 64; ++i) bits.push_back(has(mask, i) ? 1 : 0);
    Value* is_open = c.cast(c.gather(c.constant({64}, bits), axes, 0), DType::boolean);
    Value* open = c.where(backward, c.constant(other), c.constant(forward));
    return mask == 0 ? bound : c.where(is_open, open, bound);
  };
  Value* first = opened(begin, m.begin, 0, kLast);
  Value* last = opened(end, m.end, kLast, kFirst);
  return c.slice(c.in(0), first, last, axes, step);
}

Values map_strided_slice(MapperContext& c) {
  const auto mask = [&](const char* name) { return c.attr<std::int64_t>(name); };
  const Masks m{mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
                mask("shrink_axis_mask")};
  if (std::popcount(static_cast<std::uint64_t>(m.ellipsis)) > 1)
    c.fail(Code::bad_model, "more than one ellipsis");
  const auto count = entry_count(c);
  if (!count) return {ranges_of_any_count(c, m)};
  if (*count > kMostEntries)
    c.fail(Code::bad_model, std::to_string(*count) + " entries, more than a tensor can have axes");
  const std::vector<Entry> list = entries(m, *count);
  Bounds begin(c, 1), end(c, 2), strides(c, 3);
  Value* x = ranges(c, list, m, begin, end, strides);
  x = indices(c, x, list, begin);
  return {new_axes(c, x, list)};
}

}  // namespace

void register_strided_slice(OpRegistry& r) {
  r.op("StridedSlice")
      .note("indices, new axes and an ellipsis: as many entries as known at conversion time")
      .by(map_strided_slice);
}

}  // namespace t2o::op_mappers
