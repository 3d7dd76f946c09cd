#include <cmath>

#include "op_mappers/all.h"
#include "tfgraph/internal_ops.h"

namespace t2o::op_mappers {
namespace {

// x / 2 * (1 + erf(x / sqrt(2)))
Value* exact(MapperContext& c, Value* x) {
  Value* scaled = c.mul(x, c.scalar_like(x, std::sqrt(0.5)));
  Value* e = c.emit("Erf", {scaled});
  return c.add(e, c.scalar_like(x, 1));
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x^2)))
Value* by_tanh(MapperContext& c, Value* x) {
  Value* square = c.mul(x, x);
  Value* bend = c.mul(square, c.scalar_like(x, 0.044715));
  Value* bracket = c.add(bend, c.scalar_like(x, 1));
  Value* straight = c.mul(x, c.scalar_like(x, std::sqrt(2 / 3.14159265358979323846)));
  Value* t = c.emit("Tanh", {c.mul(straight, bracket)});
  return c.add(t, c.scalar_like(x, 1));
}

Values gelu(MapperContext& c, bool approximate) {
  Value* x = c.in(0);
  Value* doubled = approximate ? by_tanh(c, x) : exact(c, x);
  Value* half = c.mul(x, c.scalar_like(x, 0.5));
  return {c.mul(half, doubled)};
}

Values map_gelu_11(MapperContext& c) { return gelu(c, c.attr<std::string>("approximate") == "tanh"); }

// TensorFlow Addons'
bool is_approximate(MapperContext& c) { return c.attr_or<std::int64_t>("approximate", 1) != 0; }
Values map_addons_11(MapperContext& c) { return gelu(c, is_approximate(c)); }
Values map_addons_20(MapperContext& c) {
  return {c.emit("Gelu", {c.in(0)}, {{"approximate", std::string(is_approximate(c) ? "tanh" : "none")}})};
}

}  // namespace

void register_gelu(OpRegistry& r) {
  r.op(tfgraph::kGelu).by(map_gelu_11);
  r.op(tfgraph::kGelu).since(20).to("Gelu", {"approximate"});
  r.op("Addons>Gelu").by(map_addons_11);
  r.op("Addons>Gelu").since(20).by(map_addons_20);
}

}  // namespace t2o::op_mappers
