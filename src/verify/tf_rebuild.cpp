#include "verify/tf_rebuild.h"

#include <optional>

#include "tf/op_defs.h"

namespace t2o::verify {
namespace {

using engines::TfAttr;
using engines::TfAttrValue;
using engines::TfInput;

// Null for what TensorFlow's C API cannot be told here: functions, subgraphs.
std::optional<TfAttrValue> to_tf(const Attr& attr, const std::string& type) {
  const auto convert = [&](const auto& value) -> std::optional<TfAttrValue> {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (type == "bool") return TfAttrValue(value != 0);
      return TfAttrValue(value);
    } else if constexpr (std::is_same_v<T, Ints>) {
      if (type == "list(bool)") return TfAttrValue(std::vector<bool>(value.begin(), value.end()));
      return TfAttrValue(value);
    } else if constexpr (std::is_constructible_v<TfAttrValue, T> && !std::is_same_v<T, GraphPtr>) {
      return TfAttrValue(value);
    } else {
      return std::nullopt;
    }
  };
  return std::visit(convert, attr);
}

class Rebuilder {
 public:
  Rebuilder(const ir::Graph& source, const std::string& library)
      : source_(source), result_{engines::TfGraph(library), {}, 0} {}

  Rebuilt run() {
    for (const Value* v : source_.inputs())
      result_.tensors[v->name()] = result_.graph.placeholder(next_name(), v->dtype(), v->shape());
    for (const Value* v : source_.constants())
      if (v->is_used()) result_.tensors[v->name()] = result_.graph.constant(next_name(), v->constant());
    for (const ir::Node& node : source_.nodes())
      if (!add(node)) ++result_.left_out;
    return std::move(result_);
  }

 private:
  std::string next_name() { return "t" + std::to_string(next_++); }

  std::optional<std::vector<TfInput>> inputs_of(const ir::Node& node, const tf::OpDef& def) const {
    std::vector<TfInput> inputs;
    std::size_t at = 0;
    for (const tf::ArgDef& arg : def.inputs) {
      Strings tensors;
      for (std::size_t left = tf::tensor_count(arg, node.attrs()); left > 0; --left, ++at) {
        const auto found =
            node.input(at) ? result_.tensors.find(node.input(at)->name()) : result_.tensors.end();
        if (found == result_.tensors.end()) return std::nullopt;
        tensors.push_back(found->second);
      }
      const bool is_list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
      if (is_list)
        inputs.emplace_back(std::move(tensors));
      else
        inputs.emplace_back(std::move(tensors.at(0)));
    }
    return inputs;
  }

  bool add(const ir::Node& node) {
    const tf::OpDef* def = tf::find_op_def(node.op());
    if (!def) return false;
    engines::TfOp op{.op = node.op(), .name = next_name()};
    for (const tf::AttrDef& attr_def : def->attrs) {
      const Attr* attr = node.attr(attr_def.name);
      if (!attr) continue;
      auto value = to_tf(*attr, attr_def.type);
      if (!value) return false;
      op.attrs.push_back({attr_def.name, std::move(*value)});
    }
    auto inputs = inputs_of(node, *def);
    if (!inputs) return false;
    op.inputs = std::move(*inputs);
    try {
      result_.graph.add(op);
    } catch (const ConversionError&) {
      return false;
    }
    for (const Value* v : node.outputs())
      result_.tensors[v->name()] = op.name + ":" + std::to_string(v->index());
    return true;
  }

  const ir::Graph& source_;
  Rebuilt result_;
  int next_ = 0;
};

}  // namespace

Rebuilt rebuild(const ir::Graph& source, const std::string& library) {
  return Rebuilder(source, library).run();
}

}  // namespace t2o::verify
