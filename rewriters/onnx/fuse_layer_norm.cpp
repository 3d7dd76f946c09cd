#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/schema.h"
#include "rewriters/all.h"
#include "rewriters/onnx/norm_pattern.h"

namespace t2o::rewriters {
namespace {

// The first of the axes when they are the last ones of x.
std::optional<int> first_axis(const Value* mean, const Shape& x) {
  const auto axes = x.ranked() ? axes_of_mean(mean, x.rank()) : std::nullopt;
  if (!axes || axes->empty()) return std::nullopt;
  for (std::size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != x.rank() - static_cast<int>(axes->size() - i) || x[static_cast<int>((*axes)[i])] == 0)
      return std::nullopt;  // kernels want an element
  return static_cast<int>((*axes)[0]);
}

// Ones in the shape of the axes from `first` on; null where these are unknown.
Value* ones(ir::Graph& g, const Value* x, int first) {
  const Ints dims(x->shape().dims().begin() + first, x->shape().dims().end());
  if (!std::ranges::all_of(dims, is_known) || x->dtype() != DType::f32) return nullptr;
  return g.add_constant(
      x->name() + "/ones",
      Tensor::of<float>(dims, std::vector<float>(static_cast<std::size_t>(element_count(dims)), 1.0F)));
}

// ONNX's offset is optional, but several runtimes read it without asking.
Value* zeros_like(ir::Graph& g, const Value* factor, const std::string& of) {
  const std::vector<std::byte> zero(byte_size(factor->dtype(), 1));
  return g.add_constant(of + "/zeros", Tensor::filled(factor->dtype(), factor->shape().dims(), zero));
}

// What a normalization over the axes from `first` on multiplies with or adds, in their shape; null when it is
// something else.
Value* weights(ir::Graph& g, Value* v, const Shape& x, int first) {
  const Ints dims(x.dims().begin() + first, x.dims().end());
  if (!std::ranges::all_of(dims, is_known)) return nullptr;
  if (!v->constant()) return v->shape() == Shape(dims) ? v : nullptr;
  const Tensor& t = *v->constant();
  const auto extra =
      static_cast<std::size_t>(t.rank()) - std::min(dims.size(), static_cast<std::size_t>(t.rank()));
  if (t.elements() == 1 && element_count(dims) != 1)
    return g.add_constant(v->name(), Tensor::filled(t.dtype(), dims, t.bytes()));
  if (Ints(t.dims().begin() + static_cast<std::ptrdiff_t>(extra), t.dims().end()) != dims ||
      t.elements() != element_count(dims))
    return nullptr;
  if (t.dims() == dims) return v;
  Value* flat = g.add_constant(v->name(), v->constant()->with_dims(dims));
  g.derive(flat, v, {ir::Alteration::reshape(flat->shape())});
  return flat;
}

// The same, as far as both are known.
bool may_be(const Shape& a, const Shape& b) {
  return a.ranked() && b.ranked() && a.rank() == b.rank() && merge(a, b);
}

struct LayerNorm : NormPattern {
  onnx::DTypeSet types;  // that the operator has kernels for
  explicit LayerNorm(onnx::DTypeSet t) : types(t) {}

  Value* replace(const Match& m, Rewrite& r) const {
    Value* data = m[x];
    const auto axis = first_axis(m[mean], data->shape());
    if (!axis || !types.has(data->dtype()) ||
        axes_of_mean(m[variance], data->shape().rank()) != axes_of_mean(m[mean], data->shape().rank()) ||
        !may_be(m.root()->shape(), data->shape()))
      return nullptr;
    Value* factor =
        m[gamma] ? weights(r.graph(), m[gamma], data->shape(), *axis) : ones(r.graph(), data, *axis);
    Value* offset = m[beta] ? weights(r.graph(), m[beta], data->shape(), *axis) : nullptr;
    if (!factor || (m[beta] && !offset)) return nullptr;
    if (!offset) offset = zeros_like(r.graph(), factor, data->name());
    const Values in{data, factor, offset};
    const float eps = static_cast<float>(m.constant(epsilon)->float_at(0));
    return r.make("LayerNormalization", in,
                  {{"axis", std::int64_t{*axis} - data->shape().rank()}, {"epsilon", eps}});
  }
};

// x / sqrt(mean(x * x) + epsilon) * gamma
struct RmsNorm {
  onnx::DTypeSet types;
  const Pat x = any(), gamma = any(), epsilon = constant().where(is_scalar_constant);
  const Pat mean = mean_of(squared(x)), deviation = op("Sqrt", op("Add", mean, epsilon));
  const Pat normal = op("Mul", x, op("Reciprocal", deviation)) | op("Div", x, deviation);
  const Pat scaled = op("Mul", normal, gamma) | op("Mul", x, op("Mul", op("Reciprocal", deviation), gamma));

  Value* replace(const Match& m, Rewrite& r) const {
    Value* data = m[x];
    const auto axis = first_axis(m[mean], data->shape());
    Value* factor = !axis      ? nullptr
                    : m[gamma] ? weights(r.graph(), m[gamma], data->shape(), *axis)
                               : ones(r.graph(), data, *axis);
    if (!factor || !types.has(data->dtype()) || !may_be(m.root()->shape(), data->shape())) return nullptr;
    const float eps = static_cast<float>(m.constant(epsilon)->float_at(0));
    return r.make("RMSNormalization", {data, factor},
                  {{"axis", std::int64_t{*axis} - data->shape().rank()}, {"epsilon", eps}});
  }
};

}  // namespace

// The longest form first: the shorter ones are parts of it.
Rewriter fuse_layer_norm(const onnx::Target& target) {
  std::vector<Rewriter> forms;
  const std::string name = "fuse_layer_norm";
  if (const auto types = kernel_types("LayerNormalization", target); !types.empty()) {
    const LayerNorm n{types};
    const Replace replace = [n](const Match& m, Rewrite& r) { return n.replace(m, r); };
    for (const Pat& root : {n.shifted(), n.scaled(), n.shifted_only(), n.plain()})
      forms.push_back(rewriter(name, root, replace));
  }
  if (const auto types = kernel_types("RMSNormalization", target); !types.empty()) {
    const RmsNorm n{types};
    for (const Pat& root : {n.scaled, n.normal})
      forms.push_back(rewriter(name, root, [n](const Match& m, Rewrite& r) { return n.replace(m, r); }));
  }
  return in_turn(name, std::move(forms), {"ReduceMean", "ReduceSum"});
}

}  // namespace t2o::rewriters
