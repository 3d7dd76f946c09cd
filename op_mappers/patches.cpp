#include "op_mappers/all.h"
#include "op_mappers/window_gather.h"

namespace t2o::op_mappers {
namespace {

// [n, h, w, c] -> [n, out h, kernel h, out w, kernel w, c] -> [n, out h, out w, kernel h * kernel w * c]
Value* patches(MapperContext& c, Value* x, const Window& w) {
  const auto n = static_cast<int>(w.spatial());
  x = pad_for_windows(c, x, w, 1, c.scalar_like(x, 0));
  Ints perm{0};
  for (int i = 0; i < n; ++i) {
    const int axis = 1 + 2 * i;
    x = gather_windows(c, x, w, static_cast<std::size_t>(i), axis);
    perm.push_back(axis);
  }
  for (int i = 0; i < n; ++i) perm.push_back(2 + 2 * i);
  perm.push_back(2 * n + 1);
  Value* y = c.transpose(x, perm);
  Value* depth = c.product(c.dims(y, n + 1, 2 * n + 2));
  return c.reshape_to(y, c.concat({c.dims(y, 0, n + 1), depth}, 0));
}

Values map_patches(MapperContext& c, std::size_t spatial) {
  Window w = read_window(c, Layout::channels_last, spatial);
  w.kernel = spatial_entries(c, c.attr<Ints>("ksizes"), Layout::channels_last, spatial, "ksizes");
  const Ints rates = c.attr_or("rates", Ints(spatial + 2, 1));
  w.dilations = spatial_entries(c, rates, Layout::channels_last, spatial, "rates");
  w.crops = spatial == 3;
  for (const std::int64_t k : w.kernel)
    if (k > 1'000'000) c.fail(Code::bad_model, "ksizes is too large");
  return {patches(c, c.in(0), w)};
}
Values map_image_patches(MapperContext& c) { return map_patches(c, 2); }
Values map_volume_patches(MapperContext& c) { return map_patches(c, 3); }

}  // namespace

void register_patches(OpRegistry& r) {
  r.op("ExtractImagePatches").by(map_image_patches);
  r.op("ExtractVolumePatches").by(map_volume_patches);
}

}  // namespace t2o::op_mappers
