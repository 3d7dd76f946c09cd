#include "op_mappers/window_gather.h"

namespace t2o::op_mappers {

Value* pad_for_windows(Emitter& e, Value* x, const Window& w, int first_axis, Value* fill) {
  if (w.padding == "VALID") return x;
  const auto n = static_cast<int>(w.spatial());
  Value *begins = nullptr, *ends = nullptr;
  if (w.padding == "EXPLICIT") {
    begins = e.ints(w.pad_begin);
    ends = e.ints(w.pad_end);
  } else {
    Value* pads = runtime_same_pads(e, x, w, first_axis);
    begins = e.slice(pads, {0}, {n}, {0});
    ends = e.slice(pads, {n}, {2 * n}, {0});
  }
  Value* before = e.ints(Ints(static_cast<std::size_t>(first_axis), 0));
  Value* behind = e.ints(Ints(static_cast<std::size_t>(2 - first_axis), 0));
  return e.pad(x, e.concat({before, begins, behind, before, ends, behind}, 0), fill);
}

// positions[o, k] = o * stride + k * rate, for every window o that fits into a padded axis
Value* gather_windows(Emitter& e, Value* padded, const Window& w, std::size_t i, int axis) {
  const auto number = [&](std::int64_t v) { return e.scalar(DType::i64, static_cast<double>(v)); };
  Value* size = e.dim(padded, axis);
  Value* last = e.sub(size, number(w.extent(i) - w.strides[i]));
  Value* count = e.div(last, number(w.strides[i]));
  Value* index = e.range(number(0), count, number(1));
  Value* starts = e.reshape(e.mul(index, number(w.strides[i])), {-1, 1});
  Ints offsets;
  for (std::int64_t k = 0; k < w.kernel[i]; ++k) offsets.push_back(k * w.dilations[i]);
  return e.gather(padded, e.add(starts, e.ints(offsets)), axis);
}

}  // namespace t2o::op_mappers
