#include "op_mappers/window_gather.h"
#include "op_mappers/numbers.h"

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
  Value* before = e.ints(repeated(0, first_axis));
  Value* behind = e.ints(repeated(0, 2 - first_axis));
  return e.pad(x, e.concat({before, begins, behind, before, ends, behind}, 0), fill);
}

// positions[o, k] = o * stride + k * rate, for every window o that fits into a padded axis
Value* gather_windows(Emitter& e, Value* padded, const Window& w, std::size_t i, int axis) {
  const auto number = [&](std::int64_t v) { return e.scalar(DType::i64, static_cast<double>(v)); };
  Value* size = e.dim(padded, axis);
  Value* last = e.sub(size, number(w.extent(i) - w.strides[i]));
  Value* count = e.div(last, number(w.strides[i]));
  Value* index = iota(e, count);
  Value* starts = e.reshape(e.mul(index, number(w.strides[i])), {-1, 1});
  return e.gather(padded, e.add(starts, e.ints(w.offsets(i))), axis);
}

Value* integer_convolution(Emitter& e, Value* x, Value* kernel, const Window& w, std::int64_t groups) {
  const int n = static_cast<int>(w.spatial());
  Ints perm{0}, windows{1}, back{0, n + 1};
  for (int i = 0; i < n; ++i) {  // [N, C, places, elements of the window, places, ...]
    x = gather_windows(e, x, w, static_cast<std::size_t>(i), 2 + 2 * i);
    perm.push_back(2 + 2 * i);
    windows.push_back(3 + 2 * i);
    back.push_back(i + 1);
  }
  append(perm, windows);
  x = e.transpose(x, perm);
  Value* places = e.dims(x, 0, n + 1);
  Value* elements = e.product(e.dims(kernel, 1, n + 2));
  Value* filters = e.dims(kernel, 0, 1);
  Value* own = e.div(filters, e.ints({groups}));
  Value* rows = e.reshape_to(x, e.concat({places, e.ints({groups, 1}), elements}, 0));
  Value* columns = e.reshape_to(kernel, e.concat({e.ints({groups}), own, elements}, 0));
  Value* y = e.matmul(rows, e.transpose(columns, {0, 2, 1}));
  return e.transpose(e.reshape_to(y, e.concat({places, filters}, 0)), back);
}

}  // namespace t2o::op_mappers
