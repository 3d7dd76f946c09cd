#include "op_mappers/random_source.h"

#include <cmath>
#include <numbers>

#include "onnx/schema.h"

namespace t2o::op_mappers {

std::uint64_t seed_of(MapperContext& c) {
  const auto seed = static_cast<std::uint64_t>(c.attr_or<std::int64_t>("seed", 0));
  const auto seed2 = static_cast<std::uint64_t>(c.attr_or<std::int64_t>("seed2", 0));
  return (seed * 1'000'003 + seed2) % (1 << 24);
}

// Two zeros mean a new seed at each run, as ONNX means it by no seed.
bool is_seeded(MapperContext& c) {
  return c.attr_or<std::int64_t>("seed", 0) != 0 || c.attr_or<std::int64_t>("seed2", 0) != 0;
}

Value* with_axis(MapperContext& c, std::int64_t size, Value* dims) {
  return c.concat({c.ints({size}), dims}, 0);
}

namespace {

// `op`: RandomUniform or RandomNormal, which take a known shape; `op`Like takes the shape of a tensor.
Value* by_operator(MapperContext& c, const std::string& op, Value* dims, DType type) {
  Attrs attrs{{"dtype", type}};
  if (is_seeded(c)) attrs.push_back({"seed", static_cast<float>(seed_of(c))});
  if (const auto known = constant_ints(dims)) {
    attrs.push_back({"shape", *known});
    return c.emit(op, {}, attrs);
  }
  return c.emit(op + "Like", {c.expand(c.scalar(type, 0), dims)}, attrs);
}

// The mask of a Dropout in training mode is a row of random bits; sum of bit_k * 2^-k, as many as the type
// holds.
Value* uniform_of_bits(MapperContext& c, Value* dims, DType type) {
  const std::int64_t bits = type == DType::f64 ? 53 : 24;
  std::vector<double> weights;
  for (int k = 1; k <= bits; ++k) weights.push_back(std::ldexp(1.0, -k));
  Value* count = c.product(dims);
  Value* ones = c.expand(c.scalar(DType::f32, 1), c.concat({count, c.ints({bits})}, 0));
  Attrs attrs;
  if (is_seeded(c)) attrs.push_back({"seed", static_cast<std::int64_t>(seed_of(c))});
  Value* half = c.scalar(DType::f32, 0.5);
  const Values dropped =
      c.emit_n("Dropout", {ones, half, c.constant(Tensor::of<bool>({}, {true}))}, attrs, 2);
  Value* scales = c.cast(c.constant<double>({bits, 1}, weights), type);
  return c.reshape_to(c.matmul(c.cast(dropped[1], type), scales), dims);
}

// sqrt(-2 log(1 - u)) cos(2 pi v)
Value* normal_of_bits(MapperContext& c, Value* dims, DType type) {
  Value* two = uniform_of_bits(c, with_axis(c, 2, dims), type);
  Value* u = c.gather(two, c.i64(0), 0);
  Value* v = c.gather(two, c.i64(1), 0);
  Value* radius = c.sqrt(c.mul(c.log(c.sub(c.scalar(type, 1), u)), c.scalar(type, -2)));
  return c.mul(radius, c.cos(c.mul(v, c.scalar(type, 2 * std::numbers::pi))));
}

}  // namespace

const RandomSource kRandomOperators = {
    [](MapperContext& c, Value* dims, DType type) { return by_operator(c, "RandomUniform", dims, type); },
    [](MapperContext& c, Value* dims, DType type) { return by_operator(c, "RandomNormal", dims, type); }};
const RandomSource kRandomBits = {uniform_of_bits, normal_of_bits};

// A target has kernels for all of ONNX's operators of random numbers, or for none.
const RandomSource& random_source(const MapperContext& c) {
  return onnx::kernel_types("RandomUniform", c.target()).empty() ? kRandomBits : kRandomOperators;
}

}  // namespace t2o::op_mappers
