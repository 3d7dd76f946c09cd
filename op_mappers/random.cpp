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
                                                            {"Multinomial", map_multinomial}};
  for (const auto& [op, map] : rows) {
    r.op(op).note(note).by(map);
    r.op(op).since(22).note(note).by(unless_ort(map));
  }
}

}  // namespace t2o::op_mappers
