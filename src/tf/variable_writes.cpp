#include "tf/variable_writes.h"

#include <algorithm>
#include <array>

#include "tf/op_builder.h"

namespace t2o::tf {
namespace {

// The new value as a function of the old one: only the new one, arithmetic, or an operator that takes the
// other inputs of the write behind the value. Rows are places of one index each.
enum class Form : std::uint8_t { value, arithmetic, same_inputs, rows };
struct Write {
  std::string_view op, function;
  Form form;
};

constexpr Write kWrites[] = {
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
    {"ScatterMin", "TensorScatterMin", Form::rows},
    {"ScatterMax", "TensorScatterMax", Form::rows},
    {"ResourceScatterMin", "TensorScatterMin", Form::rows},
    {"ResourceScatterMax", "TensorScatterMax", Form::rows},
    {"ScatterNdMin", "TensorScatterMin", Form::same_inputs},
    {"ScatterNdMax", "TensorScatterMax", Form::same_inputs},
    {"ResourceScatterNdMin", "TensorScatterMin", Form::same_inputs},
    {"ResourceScatterNdMax", "TensorScatterMax", Form::same_inputs},
};

const Write* find(std::string_view op) {
  const auto* it = std::ranges::find_if(kWrites, [&](const Write& w) { return w.op == op; });
  return it == std::end(kWrites) ? nullptr : it;
}

Attrs masks_of(const Attrs& all) {
  constexpr std::array kMasks = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                 "shrink_axis_mask"};
  Attrs attrs;
  for (const ir::NamedAttr& a : all)
    if (contains(kMasks, a.name)) attrs.push_back(a);
  return attrs;
}

}  // namespace

bool has_written_value(std::string_view op) { return find(op) != nullptr; }

Value* replace_write(ir::Node& write, Value* before) {
  const Write* how = find(write.op());
  if (!how || write.input_count() < 2) return nullptr;
  ir::Graph& g = *write.graph();
  Values in = write.inputs();
  in[0] = before;
  const Attrs masks = masks_of(write.attrs());
  const std::shared_ptr<const Origin> origin = write.shared_origin();
  const std::string name = write.name();
  ir::Node* const next = write.next();
  g.erase(write);
  if (how->form == Form::value) return in[1];
  const auto add = [&](std::string_view op, Values inputs, Attrs attrs, Shape shape, std::string called) {
    ir::NodeSpec spec = op_spec(std::string(op), std::move(inputs), std::move(attrs), {std::move(shape)});
    spec.origin = origin;
    spec.name = std::move(called);
    return g.add(std::move(spec), next).output();
  };
  if (how->form == Form::rows) {
    Value* axis = g.add_constant(name + "/axis", t2o::Tensor::scalar<std::int32_t>(-1));
    in[1] = add("ExpandDims", {in[1], axis}, {}, {}, name + "/rows");
  }
  return add(how->function, std::move(in), masks, before->shape(), name);
}

}  // namespace t2o::tf
