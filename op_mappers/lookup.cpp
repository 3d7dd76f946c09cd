#include <unordered_set>

#include "op_mappers/all.h"
#include "tfgraph/internal_ops.h"

// t2o.Lookup: a table whose contents are known.
namespace t2o::op_mappers {
namespace {

const Tensor& known(const MapperContext& c, std::size_t i) {
  const TensorPtr& t = c.in(i)->constant();
  if (!t) c.fail(Code::not_constant, "the contents of its table are not known");
  return *t;
}

// Of keys that stand in the table twice the first counts.
template <class Key>
std::vector<std::size_t> first_places(const std::vector<Key>& keys) {
  std::unordered_set<Key> seen;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (seen.insert(keys[i]).second) places.push_back(i);
  return places;
}

template <class T>
std::vector<T> chosen(const std::vector<T>& all, const std::vector<std::size_t>& places) {
  std::vector<T> some;
  for (const std::size_t i : places) some.push_back(all[i]);
  return some;
}

Values lookup(MapperContext& c) {
  const Tensor &keys = known(c, 1), &values = known(c, 2), &missing = known(c, 3);
  if (keys.elements() == 0 || keys.elements() != values.elements() || missing.elements() != 1)
    c.fail(Code::bad_model, "its table has " + std::to_string(keys.elements()) + " keys and " +
                                std::to_string(values.elements()) + " values");
  Attrs attrs;
  if (keys.dtype() == DType::string && values.dtype() == DType::i64) {
    const auto places = first_places(keys.strings());
    attrs = {{"keys_strings", chosen(keys.strings(), places)},
             {"values_int64s", chosen(values.to_ints(), places)},
             {"default_int64", missing.int_at(0)}};
  } else if (keys.dtype() == DType::i64 && values.dtype() == DType::string) {
    const auto places = first_places(keys.to_ints());
    attrs = {{"keys_int64s", chosen(keys.to_ints(), places)},
             {"values_strings", chosen(values.strings(), places)},
             {"default_string", missing.strings().at(0)}};
  } else {
    c.fail(Code::unsupported_type,
           "ONNX has tables of strings by integers and of integers by strings, not of " +
               std::string(name(values.dtype())) + " by " + std::string(name(keys.dtype())));
  }
  return {c.emit("ai.onnx.ml::LabelEncoder", {c.in(0)}, attrs)};
}

}  // namespace

void register_lookup(OpRegistry& r) { r.op(tfgraph::kLookup).by(lookup); }

}  // namespace t2o::op_mappers
