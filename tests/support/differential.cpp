#include "differential.h"

#include <algorithm>

#include "op_mappers/plain_type.h"
#include "verify/compare.h"

namespace t2o::test {

std::string_view name(Mode mode) {
  switch (mode) {
    case Mode::fixed:
      return "static shapes";
    case Mode::batch:
      return "unknown batch";
    case Mode::dims:
      return "unknown dims";
    case Mode::rank:
      break;
  }
  return "unknown rank";
}

Shape shape_in(Mode mode, const Ints& dims) {
  Ints shape = dims;
  switch (mode) {
    case Mode::fixed:
      break;
    case Mode::batch:
      if (!shape.empty()) shape[0] = kUnknownDim;
      break;
    case Mode::dims:
      return Shape::unknown_dims(static_cast<int>(dims.size()));
    case Mode::rank:
      return {};
  }
  return Shape(std::move(shape));
}

Bytes as_bytes(const std::string& s) { return std::as_bytes(std::span(s.data(), s.size())); }

TensorPtr as_onnx(const TensorPtr& t) {
  const DType plain = plain_type(t->dtype());
  return plain == t->dtype() ? verify::complex_as_pairs(t) : t->with_dtype(plain);
}

bool has_f32(const ir::Graph& graph) {
  std::vector<const ir::Graph*> todo = {&graph};
  while (!todo.empty()) {
    const ir::Graph& g = *todo.back();
    todo.pop_back();
    for (const ir::Node& n : g.nodes()) {
      if (std::any_of(n.outputs().begin(), n.outputs().end(), [](const Value* v) { return v->dtype() == DType::f32; })) return true;
      ir::for_each_subgraph(n, [&](const ir::Graph& inner) { todo.push_back(&inner); });
    }
  }
  return false;
}

std::string declared_problem(const Value& declared, const Tensor& got) {
  const std::string what = "the exported graph declares output " + declared.name() + " ";
  if (declared.dtype() != got.dtype())
    return what + "as " + std::string(t2o::name(declared.dtype())) + ", but it is " +
           std::string(t2o::name(got.dtype()));
  if (!declared.shape().ranked()) return "";
  const Ints& dims = declared.shape().dims();
  bool fits = dims.size() == got.dims().size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) fits = !is_known(dims[i]) || dims[i] == got.dims()[i];
  return fits ? ""
              : what + "with shape " + verify::shape_text(dims) + ", but it is " +
                    verify::shape_text(got.dims());
}

}  // namespace t2o::test
