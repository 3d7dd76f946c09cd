#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/schema.h"
#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

bool keeps_dims(const Value* v) {
  const auto* keep = v->producer()->attr_if<std::int64_t>("keepdims");
  return !keep || *keep == 1;
}

// Axes are an attribute or, since opset 18, an input.
Pat mean_of(const Pat& x) { return (op("ReduceMean", x, constant()) | op("ReduceMean", x)).where(keeps_dims); }

std::optional<Ints> axes_of_mean(const Value* mean) {
  const ir::Node& n = *mean->producer();
  if (const auto* a = n.attr_if<Ints>("axes")) return *a;
  return n.input(1) && n.input(1)->constant() ? std::optional(n.input(1)->constant()->to_ints()) : std::nullopt;
}

// The first of the axes when they are the last ones of x.
std::optional<int> first_axis(const Value* mean, const Shape& x) {
  auto axes = axes_of_mean(mean);
  if (!axes || axes->empty() || !x.ranked()) return std::nullopt;
  for (std::int64_t& a : *axes)
    if (a < 0) a += x.rank();
  std::sort(axes->begin(), axes->end());
  for (std::size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != x.rank() - static_cast<int>(axes->size() - i)) return std::nullopt;
  return static_cast<int>((*axes)[0]);
}

bool is_scalar_constant(const Value* v) { return v->constant() && v->constant()->elements() == 1 && is_float(v->dtype()); }

// What a normalization over the axes from `first` on multiplies with or adds, in their shape; null when it is something else.
Value* weights(ir::Graph& g, Value* v, const Shape& x, int first) {
  const Ints dims(x.dims().begin() + first, x.dims().end());
  if (!std::all_of(dims.begin(), dims.end(), is_known)) return nullptr;
  if (!v->constant()) return v->shape() == Shape(dims) ? v : nullptr;
  const Tensor& t = *v->constant();
  const auto extra = static_cast<std::size_t>(t.rank()) - std::min(dims.size(), static_cast<std::size_t>(t.rank()));
  if (t.elements() == 1 && element_count(dims) != 1) return g.add_constant(v->name(), Tensor::filled(t.dtype(), dims, t.bytes()));
  if (Ints(t.dims().begin() + static_cast<std::ptrdiff_t>(extra), t.dims().end()) != dims || t.elements() != element_count(dims)) return nullptr;
  return t.dims() == dims ? v : g.add_constant(v->name(), v->constant()->with_dims(dims));
}

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, in the ways that it is written.
struct LayerNorm {
  onnx::DTypeSet types;  // that the operator has kernels for
  const Pat x = any(), gamma = any(), beta = any(), epsilon = constant().where(is_scalar_constant);
  const Pat mean = mean_of(x), difference = op("Sub", x, mean);
  const Pat square = op("Mul", difference, difference) | op("Pow", difference, constant().where([](const Value* v) { return is_scalar_constant(v) && v->constant()->float_at(0) == 2; }));
  const Pat variance = mean_of(square), deviation = op("Sqrt", op("Add", variance, epsilon));
  const Pat inverse = op("Reciprocal", deviation), scale = op("Mul", inverse, gamma);

  Pat plain() const { return op("Mul", difference, inverse) | op("Div", difference, deviation); }
  Pat scaled() const {
    return op("Mul", plain(), gamma) | op("Mul", difference, scale) | op("Add", op("Mul", x, scale), op("Mul", op("Neg", mean), scale)) |
           op("Sub", op("Mul", x, scale), op("Mul", mean, scale));
  }
  Pat shifted() const {
    return op("Add", op("Mul", plain(), gamma) | op("Mul", difference, scale), beta) | op("Add", op("Mul", x, scale), op("Sub", beta, op("Mul", mean, scale))) |
           op("Add", op("Mul", x, scale), op("Add", op("Mul", op("Neg", mean), scale), beta));
  }
  Pat shifted_only() const { return op("Add", plain(), beta) | op("Add", op("Mul", x, inverse), op("Sub", beta, op("Mul", mean, inverse))); }

  Value* replace(const Match& m, Rewrite& r) const {
    Value* data = m[x];
    const auto axis = first_axis(m[mean], data->shape());
    if (!axis || !types.has(data->dtype()) || axes_of_mean(m[variance]) != axes_of_mean(m[mean]) || m.root()->shape() != data->shape()) return nullptr;
    Value* factor = m[gamma] ? weights(r.graph(), m[gamma], data->shape(), *axis) : ones(r.graph(), data, *axis);
    Value* offset = m[beta] ? weights(r.graph(), m[beta], data->shape(), *axis) : nullptr;
    if (!factor || (m[beta] && !offset)) return nullptr;
    Values in{data, factor};
    if (offset) in.push_back(offset);
    const float eps = static_cast<float>(m.constant(epsilon)->float_at(0));
    return r.make("LayerNormalization", std::move(in), {{"axis", std::int64_t{*axis} - data->shape().rank()}, {"epsilon", eps}});
  }

  static Value* ones(ir::Graph& g, const Value* x, int first) {
    const Ints dims(x->shape().dims().begin() + first, x->shape().dims().end());
    if (!std::all_of(dims.begin(), dims.end(), is_known) || x->dtype() != DType::f32) return nullptr;
    return g.add_constant(x->name() + "/ones", Tensor::of<float>(dims, std::vector<float>(static_cast<std::size_t>(element_count(dims)), 1.0F)));
  }
};

// x / sqrt(mean(x * x) + epsilon) * gamma
struct RmsNorm {
  onnx::DTypeSet types;
  const Pat x = any(), gamma = any(), epsilon = constant().where(is_scalar_constant);
  const Pat mean = mean_of(op("Mul", x, x)), deviation = op("Sqrt", op("Add", mean, epsilon));
  const Pat normal = op("Mul", x, op("Reciprocal", deviation)) | op("Div", x, deviation);
  const Pat root = op("Mul", normal, gamma);

  Value* replace(const Match& m, Rewrite& r) const {
    Value* data = m[x];
    const auto axis = first_axis(m[mean], data->shape());
    Value* factor = axis ? weights(r.graph(), m[gamma], data->shape(), *axis) : nullptr;
    if (!factor || !types.has(data->dtype()) || m.root()->shape() != data->shape()) return nullptr;
    const float eps = static_cast<float>(m.constant(epsilon)->float_at(0));
    return r.make("RMSNormalization", {data, factor}, {{"axis", std::int64_t{*axis} - data->shape().rank()}, {"epsilon", eps}});
  }
};

onnx::DTypeSet kernel_types(const char* op, const onnx::Target& target) {
  const onnx::OpInfo* info = onnx::op_info(op, target.opset, target.ml_opset, target.for_ort());
  return info && info->has_kernel ? info->params[0].kernels : onnx::DTypeSet{};
}

int run_all(ir::Graph& g, const std::vector<Rewriter>& rewriters) {
  int changes = 0;
  for (const Rewriter& r : rewriters) changes += r.run(g);
  return changes;
}

}  // namespace

// The longest form first: the shorter ones are parts of it.
Rewriter fuse_layer_norm(const onnx::Target& target) {
  std::vector<Rewriter> forms;
  const std::string name = "fuse_layer_norm";
  if (const auto types = kernel_types("LayerNormalization", target); !types.empty()) {
    const LayerNorm n{types};
    const Replace replace = [n](const Match& m, Rewrite& r) { return n.replace(m, r); };
    for (const Pat& root : {n.shifted(), n.scaled(), n.shifted_only(), n.plain()}) forms.push_back(rewriter(name, root, replace));
  }
  if (const auto types = kernel_types("RMSNormalization", target); !types.empty()) {
    const RmsNorm n{types};
    forms.push_back(rewriter(name, n.root, [n](const Match& m, Rewrite& r) { return n.replace(m, r); }));
  }
  return {name, [forms](ir::Graph& g) { return run_all(g, forms); }, {"ReduceMean"}};
}

}  // namespace t2o::rewriters
