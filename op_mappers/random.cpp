#include <cmath>
#include <cstdint>
#include <numbers>

#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

std::uint64_t seed_of(MapperContext& c) {
  const auto seed = static_cast<std::uint64_t>(c.attr<std::int64_t>("seed"));
  const auto seed2 = static_cast<std::uint64_t>(c.attr<std::int64_t>("seed2"));
  return (seed * 1'000'003 + seed2) % (1 << 24);
}

// Two zeros mean a new seed at each run, as ONNX means it by no seed.
bool is_seeded(MapperContext& c) {
  return c.attr<std::int64_t>("seed") != 0 || c.attr<std::int64_t>("seed2") != 0;
}

DType work_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

Value* asked_dims(MapperContext& c) { return c.cast(c.in(0), DType::i64); }
Value* with_axis(MapperContext& c, std::int64_t size, Value* dims) {
  return c.concat({c.ints({size}), dims}, 0);
}

// Where uniform and normal numbers of a type come from, for 1-D dims.
struct Source {
  Value* (*uniform)(MapperContext&, Value* dims, DType);
  Value* (*normal)(MapperContext&, Value* dims, DType);
};

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
constexpr Source kOperators = {
    [](MapperContext& c, Value* dims, DType type) { return by_operator(c, "RandomUniform", dims, type); },
    [](MapperContext& c, Value* dims, DType type) { return by_operator(c, "RandomNormal", dims, type); }};

// The mask of a Dropout in training mode is a row of random bits; sum of bit_k * 2^-k, as many as the type
// holds.
Value* uniform_of_bits(MapperContext& c, Value* dims, DType type) {
  const std::int64_t bits = type == DType::f64 ? 53 : 24;
  std::vector<double> weights;
  for (int k = 1; k <= bits; ++k) weights.push_back(std::ldexp(1.0, -k));
  Value* count = c.reduce("ReduceProd", dims, Ints{0}, true);
  Value* ones = c.expand(c.scalar(DType::f32, 1), c.concat({count, c.ints({bits})}, 0));
  Attrs attrs;
  if (is_seeded(c)) attrs.push_back({"seed", static_cast<std::int64_t>(seed_of(c))});
  Value* half = c.scalar(DType::f32, 0.5);
  const Values dropped =
      c.emit_n("Dropout", {ones, half, c.constant(Tensor::of<bool>({}, {true}))}, attrs, 2);
  Value* scales = c.cast(c.constant<double>({bits, 1}, weights), type);
  return c.reshape_to(c.emit("MatMul", {c.cast(dropped[1], type), scales}), dims);
}

// sqrt(-2 log(1 - u)) cos(2 pi v)
Value* normal_of_bits(MapperContext& c, Value* dims, DType type) {
  Value* two = uniform_of_bits(c, with_axis(c, 2, dims), type);
  Value* u = c.gather(two, c.constant<std::int64_t>(0), 0);
  Value* v = c.gather(two, c.constant<std::int64_t>(1), 0);
  Value* radius = c.sqrt(c.mul(c.log(c.sub(c.scalar(type, 1), u)), c.scalar(type, -2)));
  return c.mul(radius, c.emit("Cos", {c.mul(v, c.scalar(type, 2 * std::numbers::pi))}));
}
constexpr Source kBits = {uniform_of_bits, normal_of_bits};

Values map_uniform(MapperContext& c, const Source& from) {
  Value* u = from.uniform(c, asked_dims(c), work_type(c.output_dtype()));
  return {c.cast(u, c.output_dtype())};
}

Values map_normal(MapperContext& c, const Source& from) {
  Value* x = from.normal(c, asked_dims(c), work_type(c.output_dtype()));
  return {c.cast(x, c.output_dtype())};
}

// low + floor(u * (high - low)), u in [0, 1)
Values map_uniform_int(MapperContext& c, const Source& from) {
  Value* u = from.uniform(c, asked_dims(c), DType::f64);
  Value* low = c.cast(c.in(1), DType::f64);
  Value* span = c.sub(c.cast(c.in(2), DType::f64), low);
  Value* offset = c.emit("Floor", {c.mul(u, span)});
  return {c.cast(c.add(low, offset), c.output_dtype())};
}

// The first of several normals that lies within 2; that none of 6 does has a probability of 1e-8.
Values map_truncated_normal(MapperContext& c, const Source& from) {
  constexpr std::int64_t kTries = 6;
  const DType type = work_type(c.output_dtype());
  Value* draws = from.normal(c, with_axis(c, kTries, asked_dims(c)), type);
  Value* result = c.clip(c.gather(draws, c.constant(kTries - 1), 0), -2, 2);
  Value* bound = c.scalar(type, 2);
  for (std::int64_t i = kTries - 2; i >= 0; --i) {
    Value* x = c.gather(draws, c.constant(i), 0);
    result = c.where(c.less(c.abs(x), bound), x, result);
  }
  return {c.cast(result, c.output_dtype())};
}

// In the order of random numbers, one for each row.
Values map_shuffle(MapperContext& c, const Source& from) {
  Value* n = c.dims(c.in(0), 0, 1);
  Value* order = c.topk(from.uniform(c, n, DType::f32), n, 0, false)[1];
  return {c.gather(c.in(0), order, 0)};
}

// The class of the highest logit - log(-log(u)).
Values map_multinomial(MapperContext& c, const Source& from) {
  Value* logits = c.cast(c.in(0), DType::f32);
  Value* samples = c.reshape(c.cast(c.in(1), DType::i64), {1});
  Value* batch = c.dims(logits, 0, 1);
  Value* u = from.uniform(c, c.concat({batch, samples, c.dims(logits, 1, 2)}, 0), DType::f32);
  Value* spread = c.log(c.neg(c.log(u)));
  Value* scores = c.sub(c.unsqueeze(logits, {1}), spread);
  Value* drawn = c.emit("ArgMax", {scores}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
  return {c.cast(drawn, c.output_dtype())};
}

Values map_multinomial_by_operator(MapperContext& c, const Source& from) {
  const auto samples = c.maybe_ints(1);
  if (!samples || samples->size() != 1) return map_multinomial(c, from);
  Attrs attrs{{"dtype", DType::i32}, {"sample_size", samples->front()}};
  if (is_seeded(c)) attrs.push_back({"seed", static_cast<float>(seed_of(c))});
  return {c.cast(c.emit("Multinomial", {c.cast(c.in(0), DType::f32)}, attrs), c.output_dtype())};
}

using SourcedMapper = Values (*)(MapperContext&, const Source&);

}  // namespace

// ONNX Runtime has no kernel for ONNX's own operators of random numbers at opset 22 and above.
void register_random(OpRegistry& r) {
  const std::string note = "other numbers of the same distribution";
  struct Row {
    std::string op;
    SourcedMapper map, with_bits;
  };
  const std::vector<Row> rows = {{"RandomUniform", map_uniform, map_uniform},
                                 {"RandomStandardNormal", map_normal, map_normal},
                                 {"RandomUniformInt", map_uniform_int, map_uniform_int},
                                 {"TruncatedNormal", map_truncated_normal, map_truncated_normal},
                                 {"RandomShuffle", map_shuffle, map_shuffle},
                                 {"Multinomial", map_multinomial_by_operator, map_multinomial}};
  for (const Row& row : rows) {
    r.op(row.op).note(note).by([row](MapperContext& c) { return row.map(c, kOperators); });
    r.op(row.op).since(22).note(note).by([row](MapperContext& c) {
      return c.target().for_ort() ? row.with_bits(c, kBits) : row.map(c, kOperators);
    });
  }
}

}  // namespace t2o::op_mappers
