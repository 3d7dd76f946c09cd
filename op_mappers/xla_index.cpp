#include "op_mappers/xla_index.h"

#include <algorithm>

#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kMostOffsets = 1 << 16;  // made at conversion time

// Where element i along that batch axis is: i, for every other index.
Value* counted(MapperContext& c, Value* values, int axis) {
  Value* index = iota(c, c.dim(values, axis));
  Ints behind;
  for (int a = axis + 1; a < values->shape().rank(); ++a) behind.push_back(a - axis);
  Value* along = behind.empty() ? index : c.unsqueeze(index, behind);
  Value* batch = c.dims(values, 0, values->shape().rank() - 1);
  Value* dims = c.concat({batch, c.ints({1})}, 0);
  return c.expand(along, dims);
}

// Of each place in the windows its way from their first, for all axes.
std::vector<std::int64_t> offsets(const Ints& sizes, const std::vector<bool>& windows, std::int64_t places) {
  std::vector<std::int64_t> all;
  for (std::int64_t p = 0; p < places; ++p) {
    Ints index(sizes.size(), 0);
    std::int64_t rest = p;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      if (!windows[i]) continue;
      index[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    append(all, index);
  }
  return all;
}

// The same when the model runs, one axis after the other.
Value* moved(MapperContext& c, Value* spread, const std::vector<bool>& windows, std::int64_t fresh,
             Value* runtime) {
  std::int64_t behind = fresh;  // axes from this one's on, without the coordinates'
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (!windows[i]) continue;
    Value* size = c.gather(runtime, c.i64(static_cast<std::int64_t>(i)), 0);
    Ints axes, own(windows.size(), 0);
    for (std::int64_t a = 1; a <= behind; ++a) axes.push_back(a);
    own[i] = 1;
    Value* along = c.unsqueeze(iota(c, size), axes);
    spread = c.add(spread, c.mul(along, c.ints(own)));
    --behind;
  }
  return spread;
}

}  // namespace

Coordinates read_coordinates(MapperContext& c, Value* indices, const Ints& axes, std::int64_t vector_axis,
                             const Ints& own_axes, const Ints& batch_axes) {
  if (!indices->shape().ranked())
    c.fail(Code::not_constant, "the rank of its indices must be known", "{shapes} | {cut}");
  const int rank = indices->shape().rank();
  if (vector_axis < 0 || vector_axis > rank)
    c.fail(Code::bad_model, "index_vector_dim is beyond the indices' axes");
  if (own_axes.size() != batch_axes.size()) c.fail(Code::bad_model, "dimension_numbers pairs axes with none");
  Value* v = c.cast(indices, DType::i64);
  if (vector_axis == rank) {
    v = c.unsqueeze(v, {rank});
  } else {
    Ints perm;
    for (int a = 0; a < rank; ++a)
      if (a != vector_axis) perm.push_back(a);
    perm.push_back(vector_axis);
    v = c.transpose(v, perm);
  }
  const int batch_rank = v->shape().rank() - 1;
  const Dim count = v->shape()[batch_rank];
  if (is_known(count) && count != static_cast<Dim>(axes.size()))
    c.fail(Code::bad_model, "the indices have other coordinates than dimension_numbers says");
  check_axes(c, batch_axes, rank, "dimension_numbers");
  Coordinates r{axes.empty() ? nullptr : v, axes, batch_rank};
  for (std::size_t i = 0; i < own_axes.size(); ++i) {
    const std::int64_t at = batch_axes[i] - (batch_axes[i] > vector_axis ? 1 : 0);
    if (at >= batch_rank || batch_axes[i] == vector_axis)
      c.fail(Code::bad_model, "dimension_numbers takes the coordinates for a batch axis");
    Value* own = counted(c, v, static_cast<int>(at));
    r.values = r.values ? c.concat({r.values, own}, -1) : own;
    r.axes.push_back(own_axes[i]);
  }
  return r;
}

Value* with_windows(MapperContext& c, const Coordinates& at, const Ints& sizes, Value* runtime,
                    const std::vector<bool>& windows) {
  Ints dims, fresh;
  auto count = static_cast<std::int64_t>(sizes.size());
  bool known = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!windows[i]) continue;
    fresh.push_back(at.batch_rank + static_cast<std::int64_t>(fresh.size()));
    dims.push_back(sizes[i]);
    known = known && is_known(sizes[i]) &&
            !__builtin_mul_overflow(count, std::max<std::int64_t>(sizes[i], 1), &count) &&
            count <= kMostOffsets;
  }
  if (dims.empty()) return at.values;
  Value* spread = c.unsqueeze(at.values, fresh);
  if (std::ranges::all_of(dims, [](std::int64_t d) { return d == 1; })) return spread;
  if (!known) return moved(c, spread, windows, static_cast<std::int64_t>(fresh.size()), runtime);
  const std::int64_t places = element_count(dims);
  dims.push_back(static_cast<std::int64_t>(sizes.size()));
  return c.add(spread, c.constant<std::int64_t>(dims, offsets(sizes, windows, places)));
}

}  // namespace t2o::op_mappers
