#include <cstdint>

#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

// Two zeros mean a new seed at each run, as ONNX means it by no seed.
Attrs seeded(MapperContext& c, Attrs attrs) {
  const auto seed = static_cast<std::uint64_t>(c.attr<std::int64_t>("seed"));
  const auto seed2 = static_cast<std::uint64_t>(c.attr<std::int64_t>("seed2"));
  if (seed != 0 || seed2 != 0)
    attrs.push_back({"seed", static_cast<float>((seed * 1'000'003 + seed2) % (1 << 24))});
  return attrs;
}

DType work_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }

// `op`: RandomUniform or RandomNormal, which take a known shape; `op`Like takes the shape of a tensor.
Value* random(MapperContext& c, const std::string& op, DType type) {
  Attrs attrs = seeded(c, {{"dtype", type}});
  if (const auto dims = c.maybe_ints(0)) {
    attrs.push_back({"shape", *dims});
    return c.emit(op, {}, attrs);
  }
  Value* shaped = c.expand(c.scalar(type, 0), c.cast(c.in(0), DType::i64));
  return c.emit(op + "Like", {shaped}, attrs);
}

Value* random_float(MapperContext& c, const std::string& op) {
  return c.cast(random(c, op, work_type(c.output_dtype())), c.output_dtype());
}
Values map_uniform(MapperContext& c) { return {random_float(c, "RandomUniform")}; }
Values map_normal(MapperContext& c) { return {random_float(c, "RandomNormal")}; }

// low + floor(u * (high - low)), u in [0, 1)
Values map_uniform_int(MapperContext& c) {
  Value* u = random(c, "RandomUniform", DType::f64);
  Value* low = c.cast(c.in(1), DType::f64);
  Value* span = c.sub(c.cast(c.in(2), DType::f64), low);
  Value* offset = c.emit("Floor", {c.mul(u, span)});
  return {c.cast(c.add(low, offset), c.output_dtype())};
}

// The first of several normals that lies within 2; that none of 6 does has a probability of 1e-8.
Values map_truncated_normal(MapperContext& c) {
  constexpr std::int64_t kTries = 6;
  const DType type = work_type(c.output_dtype());
  Attrs attrs = seeded(c, {{"dtype", type}});
  Value* draws = nullptr;
  if (auto dims = c.maybe_ints(0)) {
    dims->insert(dims->begin(), kTries);
    attrs.push_back({"shape", *dims});
    draws = c.emit("RandomNormal", {}, attrs);
  } else {
    Value* all = c.concat({c.ints({kTries}), c.cast(c.in(0), DType::i64)}, 0);
    draws = c.emit("RandomNormalLike", {c.expand(c.scalar(type, 0), all)}, attrs);
  }
  Value* result = c.clip(c.gather(draws, c.constant(kTries - 1), 0), -2, 2);
  for (std::int64_t i = kTries - 2; i >= 0; --i) {
    Value* x = c.gather(draws, c.constant(i), 0);
    result = c.where(c.less(c.abs(x), c.scalar(type, 2)), x, result);
  }
  return {c.cast(result, c.output_dtype())};
}

// In the order of random numbers, one for each row.
Values map_shuffle(MapperContext& c) {
  Value* n = c.dims(c.in(0), 0, 1);
  Value* blank = c.expand(c.scalar(DType::f32, 0), n);
  Value* keys = c.emit("RandomUniformLike", {blank}, seeded(c, {{"dtype", DType::f32}}));
  Value* order = c.topk(keys, n, 0, false)[1];
  return {c.gather(c.in(0), order, 0)};
}

Values map_multinomial(MapperContext& c) {
  Value* logits = c.cast(c.in(0), DType::f32);
  Attrs attrs = seeded(c, {{"dtype", DType::i32}, {"sample_size", c.const_int(1)}});
  return {c.cast(c.emit("Multinomial", {logits}, attrs), c.output_dtype())};
}

Mapper unless_ort(Mapper map) {  // ONNX Runtime has no kernel for them at opset 22 and above
  return [map](MapperContext& c) {
    if (c.target().for_ort())
      c.fail(Code::unsupported_op, "ONNX Runtime has no kernel for random numbers at opset 22 and above",
             "convert with --opset 21, or for another runtime with --target-runtime any");
    return map(c);
  };
}

}  // namespace

void register_random(OpRegistry& r) {
  const std::string note = "other numbers of the same distribution; not for ONNX Runtime since opset 22";
  const std::vector<std::pair<std::string, Mapper>> rows = {{"RandomUniform", map_uniform},
                                                            {"RandomStandardNormal", map_normal},
                                                            {"RandomUniformInt", map_uniform_int},
                                                            {"TruncatedNormal", map_truncated_normal},
                                                            {"RandomShuffle", map_shuffle},
                                                            {"Multinomial", map_multinomial}};
  for (const auto& [op, map] : rows) {
    r.op(op).note(note).by(map);
    r.op(op).since(22).note(note).by(unless_ort(map));
  }
}

}  // namespace t2o::op_mappers
