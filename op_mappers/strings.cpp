#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

Values full_match(MapperContext& c, const std::string& pattern) {
  return {c.emit("RegexFullMatch", {c.in(0)}, {{"pattern", pattern}})};
}

Values map_static_regex_full_match(MapperContext& c) { return full_match(c, c.attr<std::string>("pattern")); }

Values map_regex_full_match(MapperContext& c) {
  const TensorPtr& pattern = c.in(1)->constant();
  if (!pattern || pattern->elements() != 1)
    c.fail(Code::not_constant, "the pattern is computed when the model runs", "make the pattern a constant");
  return full_match(c, pattern->strings()[0]);
}

Values map_string_join(MapperContext& c) {
  const auto separator = c.attr_or<std::string>("separator", "");
  if (c.input_count() == 0) c.fail(Code::bad_model, "StringJoin needs an input");
  Value* between = nullptr;
  if (!separator.empty()) between = c.constant(std::make_shared<Tensor>(Ints{}, Strings{separator}));
  Value* y = c.in(0);
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    if (between) y = c.emit("StringConcat", {y, between});
    y = c.emit("StringConcat", {y, c.in(i)});
  }
  return {y};
}

Values map_string_to_number(MapperContext& c) { return {c.cast(c.in(0), c.attr_or("out_type", DType::f32))}; }

}  // namespace

void register_strings(OpRegistry& r) {
  r.op("StaticRegexFullMatch").since(20).by(map_static_regex_full_match);
  r.op("RegexFullMatch").since(20).note("constant pattern").by(map_regex_full_match);
  r.op("StringJoin").since(20).ignores({"N"}).by(map_string_join);
  r.op("StringToNumber").by(map_string_to_number);
}

}  // namespace t2o::op_mappers
