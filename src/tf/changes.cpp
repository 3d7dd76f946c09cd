#include <algorithm>
#include <array>

#include "tf/importer.h"
#include "tf/state_effects.h"

namespace t2o::tf {
namespace {

// What a change of a variable is as a function of its value: nothing but the new one, arithmetic, or what
// takes the change's own inputs behind the value. Rows are places of one index each.
enum class Form : std::uint8_t { value, arithmetic, same_inputs, rows };
struct Change {
  std::string_view op, function;
  Form form;
};

constexpr Change kChanges[] = {
    {"Assign", "", Form::value},
    {"AssignVariableOp", "", Form::value},
    {"AssignAdd", "AddV2", Form::arithmetic},
    {"AssignSub", "Sub", Form::arithmetic},
    {"AssignAddVariableOp", "AddV2", Form::arithmetic},
    {"AssignSubVariableOp", "Sub", Form::arithmetic},
    {"StridedSliceAssign", "TensorStridedSliceUpdate", Form::same_inputs},
    {"ResourceStridedSliceAssign", "TensorStridedSliceUpdate", Form::same_inputs},
    {"ScatterNdUpdate", "TensorScatterUpdate", Form::same_inputs},
    {"ScatterNdAdd", "TensorScatterAdd", Form::same_inputs},
    {"ScatterNdSub", "TensorScatterSub", Form::same_inputs},
    {"ResourceScatterNdUpdate", "TensorScatterUpdate", Form::same_inputs},
    {"ResourceScatterNdAdd", "TensorScatterAdd", Form::same_inputs},
    {"ResourceScatterNdSub", "TensorScatterSub", Form::same_inputs},
    {"ScatterUpdate", "TensorScatterUpdate", Form::rows},
    {"ScatterAdd", "TensorScatterAdd", Form::rows},
    {"ScatterSub", "TensorScatterSub", Form::rows},
    {"ResourceScatterUpdate", "TensorScatterUpdate", Form::rows},
    {"ResourceScatterAdd", "TensorScatterAdd", Form::rows},
    {"ResourceScatterSub", "TensorScatterSub", Form::rows},
};

// Of the change's attributes those that its function has too.
Attrs attrs_of(const Attrs& all, DType type) {
  constexpr std::array kKept = {"Index",         "Tindices",      "begin_mask",      "end_mask",
                                "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"};
  Attrs attrs{{"T", type}};
  for (const ir::NamedAttr& a : all)
    if (std::find(kKept.begin(), kKept.end(), a.name) != kKept.end()) attrs.push_back(a);
  return attrs;
}

}  // namespace

bool can_be_handed_on(std::string_view op) {
  return std::any_of(std::begin(kChanges), std::end(kChanges), [&](const Change& c) { return c.op == op; });
}

// What a variable is changed to: a node of its own.
Value* Importer::changed_value(Frame& f, std::uint32_t n, const std::vector<Item>& inputs) {
  const NodeDef& def = f.body->node(n);
  const auto* change =
      std::find_if(std::begin(kChanges), std::end(kChanges), [&](const Change& c) { return c.op == def.op; });
  if (change == std::end(kChanges) || inputs.size() < 2 || inputs[0].variable < 0)
    fail(Code::unsupported_op,
         std::string(def.op) + " changes a variable in a way that --stateful-io does not support",
         "Change it by assign, assign_add, assign_sub or scatter_update.");
  if (change->form == Form::value) return value(inputs[1]);
  const auto from = std::make_shared<const Origin>(origin(f, n));
  const auto add = [&](std::string_view op, Values in, Attrs attrs, ir::OutputSpec output, std::string name) {
    ir::NodeSpec spec{
        .op = std::string(op), .inputs = std::move(in), .attrs = std::move(attrs), .name = std::move(name)};
    spec.outputs = {std::move(output)};
    spec.origin = from;
    return f.graph->add(std::move(spec)).output();
  };
  Value* before = f.body->read_after.contains(n) ? changed(f, n) : value(inputs[0]);
  Values in{before};
  for (std::size_t i = 1; i < inputs.size(); ++i) in.push_back(value(inputs[i]));
  if (change->form == Form::rows) {
    const std::string name = node_name(f, def.name);
    Value* axis = f.graph->add_constant(name + "/axis", t2o::Tensor::scalar<std::int32_t>(-1));
    in[1] = add("ExpandDims", {in[1], axis}, {{"T", in[1]->dtype()}, {"Tdim", DType::i32}},
                {{}, in[1]->dtype(), {}}, name + "/rows");
  }
  return add(change->function, std::move(in), attrs_of(decode_attrs(f, n), before->dtype()),
             {{}, before->dtype(), before->shape()}, node_name(f, def.name));
}

std::vector<Item> Importer::import_change(Frame& f, std::uint32_t n, const std::vector<Item>& inputs) {
  Value* after = changed_value(f, n, inputs);
  if (request_->keep_state) {
    Variable& v = variables_[static_cast<std::size_t>(inputs[0].variable)];
    if (v.changed && (!f.body->read_after.contains(n) || v.changed != changed(f, n)))
      fail(Code::unsupported_op,
           "changes variable '" + v.ref.node + "', which another node has changed before it",
           "Change it once: --stateful-io returns its last value.");
    v.changed = after;
  }
  f.changes[n] = after;
  return f.body->ops[n]->def->outputs.empty() ? std::vector<Item>{} : std::vector<Item>{{after}};
}

Value* Importer::changed(Frame& f, std::uint32_t n) {
  const auto it = f.changes.find(f.body->read_after.at(n));
  if (it == f.changes.end() &&
      std::none_of(diagnostics_->begin(), diagnostics_->end(),
                   [](const Diagnostic& d) { return d.severity == Severity::error; }))
    fail(Code::bad_model, "reads a variable after a change that itself waits for it");
  return it != f.changes.end() ? it->second : poison();
}

}  // namespace t2o::tf
