#include "op_mappers/onnx_recurrent.h"

namespace t2o::op_mappers {
namespace {

using tfgraph::Activation;
using tfgraph::CellKind;
using tfgraph::RecurrentLayer;

Strings usual_activations(CellKind kind) {
  if (kind == CellKind::lstm) return {"Sigmoid", "Tanh", "Tanh"};
  return kind == CellKind::gru ? Strings{"Sigmoid", "Tanh"} : Strings{"Tanh"};
}

// ONNX's lists of alpha and beta have values only for the functions that take them.
void add_activations(const RecurrentLayer& l, Attrs& attrs) {
  const Strings usual = usual_activations(l.kind);
  bool is_usual = true;
  Strings names;
  Floats alphas, betas;
  for (const Activation& a : l.activations) {
    is_usual = is_usual && a.name == usual[names.size() % usual.size()];
    names.push_back(a.name);
    if (contains({"Affine", "LeakyRelu", "ScaledTanh", "HardSigmoid", "Elu"}, a.name))
      alphas.push_back(a.alpha);
    if (contains({"Affine", "ScaledTanh", "HardSigmoid"}, a.name)) betas.push_back(a.beta);
  }
  if (is_usual) return;
  attrs.push_back({"activations", names});
  if (!alphas.empty()) attrs.push_back({"activation_alpha", alphas});
  if (!betas.empty()) attrs.push_back({"activation_beta", betas});
}

}  // namespace

Values emit_recurrent(Emitter& e, const RecurrentLayer& l, const OnnxRecurrent& from) {
  Values in{from.x, from.kernels, from.recurrent_kernels, from.biases, from.lengths, from.h};
  if (l.kind == CellKind::lstm) in.insert(in.end(), {from.c, from.peepholes});
  while (!in.back()) in.pop_back();
  Attrs attrs{{"hidden_size", l.units}};
  if (l.direction != tfgraph::Direction::forward)
    attrs.push_back({"direction", std::string(tfgraph::name(l.direction))});
  add_activations(l, attrs);
  if (l.kind == CellKind::gru) attrs.push_back({"linear_before_reset", l.linear_before_reset});
  return e.emit_n(std::string(l.onnx_op()), in, attrs, l.states() + 1);
}

}  // namespace t2o::op_mappers
