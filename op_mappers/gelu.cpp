#include <cmath>

#include "op_mappers/all.h"

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

Values map_gelu_11(MapperContext& c) {
  Value* x = c.in(0);
  Value* doubled = c.attr<std::string>("approximate") == "tanh" ? by_tanh(c, x) : exact(c, x);
  Value* half = c.mul(x, c.scalar_like(x, 0.5));
  return {c.mul(half, doubled)};
}

}  // namespace

void register_gelu(OpRegistry& r) {
  r.op("t2o.Gelu").by(map_gelu_11);
  r.op("t2o.Gelu").since(20).to("Gelu", {"approximate"});
}

}  // namespace t2o::op_mappers
