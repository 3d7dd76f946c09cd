#include <cmath>
#include <cstdint>

#include "op_mappers/all.h"
#include "op_mappers/random_source.h"

namespace t2o::op_mappers {
namespace {

DType work_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// The ops of tf.random.Generator have the generator's state first, and most of them an algorithm.
std::size_t dims_at(MapperContext& c) {
  const auto& op = c.node().op();
  return !op.starts_with("Stateful") ? 0 : op == "StatefulStandardNormal" ? 1 : 2;
}

Value* asked_dims(MapperContext& c) { return c.cast(c.in(dims_at(c)), DType::i64); }

Values map_uniform(MapperContext& c, const RandomSource& from) {
  Value* u = from.uniform(c, asked_dims(c), work_type(c.output_dtype()));
  return {c.cast(u, c.output_dtype())};
}

Values map_normal(MapperContext& c, const RandomSource& from) {
  Value* x = from.normal(c, asked_dims(c), work_type(c.output_dtype()));
  return {c.cast(x, c.output_dtype())};
}

// low + floor(u * (high - low)), u in [0, 1)
Values map_uniform_int(MapperContext& c, const RandomSource& from) {
  Value* u = from.uniform(c, asked_dims(c), DType::f64);
  const std::size_t first = dims_at(c) + 1;
  Value* low = c.cast(c.in(first), DType::f64);
  Value* span = c.sub(c.cast(c.in(first + 1), DType::f64), low);
  Value* offset = c.floor(c.mul(u, span));
  return {c.cast(c.add(low, offset), c.output_dtype())};
}

// All bits of an integer, 32 at a time.
Values map_full_int(MapperContext& c, const RandomSource& from) {
  const DType type = c.output_dtype();
  Value* u = from.uniform(c, with_axis(c, 2, asked_dims(c)), DType::f64);
  Value* words = c.cast(c.floor(c.mul(u, c.scalar(DType::f64, std::exp2(32)))), DType::i64);
  Value* upper = c.gather(words, c.i64(0), 0);
  if (type == DType::u32) return {c.cast(upper, type)};
  Value* centered = c.sub(upper, c.constant(std::int64_t{1} << 31));
  if (type == DType::i32) return {c.cast(centered, type)};
  Value* shifted = c.mul(centered, c.constant(std::int64_t{1} << 32));
  return {c.cast(c.add(shifted, c.gather(words, c.i64(1), 0)), type)};
}

// The first of several normals that lies within 2; that none of 6 does has a probability of 1e-8.
Values map_truncated_normal(MapperContext& c, const RandomSource& from) {
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

// A generator's state: the counter in two numbers and the key, of 52 random bits each.
Values map_state(MapperContext& c, const RandomSource& from) {
  Value* u = from.uniform(c, c.ints({3}), DType::f64);
  return {c.cast(c.mul(u, c.scalar(DType::f64, std::exp2(52))), DType::i64)};
}

// In the order of random numbers, one for each row.
Values map_shuffle(MapperContext& c, const RandomSource& from) {
  Value* n = c.dims(c.in(0), 0, 1);
  Value* order = c.topk(from.uniform(c, n, DType::f32), n, 0, false)[1];
  return {c.gather(c.in(0), order, 0)};
}

// The class of the highest logit - log(-log(u)).
Values map_multinomial(MapperContext& c, const RandomSource& from) {
  Value* logits = c.cast(c.in(0), DType::f32);
  Value* samples = c.reshape(c.cast(c.in(1), DType::i64), {1});
  Value* batch = c.dims(logits, 0, 1);
  Value* u = from.uniform(c, c.concat({batch, samples, c.dims(logits, 1, 2)}, 0), DType::f32);
  Value* spread = c.log(c.neg(c.log(u)));
  Value* scores = c.sub(c.unsqueeze(logits, {1}), spread);
  Value* drawn = c.emit("ArgMax", {scores}, {{"axis", -1}, {"keepdims", 0}});
  return {c.cast(drawn, c.output_dtype())};
}

Values map_multinomial_by_operator(MapperContext& c, const RandomSource& from) {
  const auto samples = c.maybe_ints(1);
  if (&from != &kRandomOperators || !samples || samples->size() != 1) return map_multinomial(c, from);
  Attrs attrs{{"dtype", DType::i32}, {"sample_size", samples->front()}};
  if (is_seeded(c)) attrs.push_back({"seed", static_cast<float>(seed_of(c))});
  return {c.cast(c.emit("Multinomial", {c.cast(c.in(0), DType::f32)}, attrs), c.output_dtype())};
}

using SourcedMapper = Values (*)(MapperContext&, const RandomSource&);

}  // namespace

// There may be no kernels for ONNX's own operators of random numbers at opset 22 and above.
void register_random(OpRegistry& r) {
  const std::string note = "other numbers of the same distribution";
  struct Row {
    std::string op;
    SourcedMapper map;
  };
  const std::vector<Row> rows = {
      {"RandomUniform", map_uniform},           {"RandomStandardNormal", map_normal},
      {"RandomUniformInt", map_uniform_int},    {"TruncatedNormal", map_truncated_normal},
      {"StatefulUniform", map_uniform},         {"StatefulStandardNormal", map_normal},
      {"StatefulStandardNormalV2", map_normal}, {"StatefulTruncatedNormal", map_truncated_normal},
      {"StatefulUniformInt", map_uniform_int},  {"StatefulUniformFullInt", map_full_int},
      {"NonDeterministicInts", map_full_int},   {"RngReadAndSkip", map_state},
      {"RandomShuffle", map_shuffle},           {"Multinomial", map_multinomial_by_operator}};
  for (const Row& row : rows) {
    r.op(row.op).note(note).by([row](MapperContext& c) { return row.map(c, kRandomOperators); });
    r.op(row.op).since(22).note(note).by([row](MapperContext& c) { return row.map(c, random_source(c)); });
  }
}

}  // namespace t2o::op_mappers
