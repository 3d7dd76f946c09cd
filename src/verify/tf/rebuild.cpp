#include "verify/tf/rebuild.h"

#include <cmath>
#include <optional>

#include "tf/op_defs.h"
#include "tfgraph/internal_ops.h"
#include "verify/random.h"

namespace t2o::verify {
namespace {

using engines::TfAttr;
using engines::TfAttrValue;
using engines::TfInput;

// Null for what TensorFlow's C API cannot be told here: lists of functions.
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

// What the graphs of one model share: each function has a name of its own.
struct Library {
  std::string tensorflow;
  std::vector<engines::TfDefinition> definitions;
};

class Rebuilder {
 public:
  Rebuilder(const ir::Graph& source, Library& library)
      : source_(source), library_(library), result_{engines::TfGraph(library.tensorflow), {}, 0} {}

  Rebuilt run() {
    for (const Value* v : source_.inputs())
      result_.tensors[v->name()] =
          result_.graph.placeholder(next_name(), v->dtype(), source_.parent() ? Shape() : v->shape());
    for (const Value* v : source_.constants())
      if (v->is_used()) result_.tensors[v->name()] = result_.graph.constant(next_name(), v->constant());
    for (const ir::Node& node : source_.nodes())
      if (!add(node)) ++result_.left_out;
    return std::move(result_);
  }

 private:
  std::string next_name() { return "t" + std::to_string(next_++); }

  // A constant of a graph around is one of this graph too. Null: nobody made it.
  const std::string* tensor_of(const Value* v) {
    if (!v) return nullptr;
    auto found = result_.tensors.find(v->name());
    if (found == result_.tensors.end() && v->constant())
      found = result_.tensors.emplace(v->name(), result_.graph.constant(next_name(), v->constant())).first;
    return found == result_.tensors.end() ? nullptr : &found->second;
  }

  std::optional<std::vector<TfInput>> inputs_of(const ir::Node& node, const tf::OpDef& def) {
    std::vector<TfInput> inputs;
    std::size_t at = 0;
    for (const tf::ArgDef& arg : def.inputs) {
      Strings tensors;
      for (std::size_t left = tf::tensor_count(arg, node.attrs()); left > 0; --left, ++at) {
        const std::string* found = tensor_of(node.input(at));
        if (!found) return std::nullopt;
        tensors.push_back(*found);
      }
      const bool is_list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
      if (is_list)
        inputs.emplace_back(std::move(tensors));
      else
        inputs.emplace_back(std::move(tensors.at(0)));
    }
    return inputs;
  }

  std::optional<TfAttrValue> value_of(const Attr& attr, const std::string& type) {
    const auto* body = std::get_if<GraphPtr>(&attr);
    return body ? function_of(**body) : to_tf(attr, type);
  }

  std::optional<TfAttrValue> function_of(const ir::Graph& body) {
    Rebuilder inner(body, library_);
    const Rebuilt rebuilt = inner.run();
    Strings inputs, outputs;
    for (const Value* v : body.inputs()) inputs.push_back(rebuilt.tensors.at(v->name()));
    for (const Value* v : body.outputs()) {
      const auto found = rebuilt.tensors.find(v->name());
      if (found == rebuilt.tensors.end()) return std::nullopt;
      outputs.push_back(found->second);
    }
    const std::string name = "f" + std::to_string(library_.definitions.size());
    library_.definitions.push_back(rebuilt.graph.define(name, inputs, outputs));
    return engines::TfFunction{name};
  }

  std::string make(const char* op, std::vector<TfInput> inputs, std::vector<engines::TfAttr> attrs = {}) {
    return result_.graph.add(
        {.op = op, .name = next_name(), .inputs = std::move(inputs), .attrs = std::move(attrs)});
  }
  std::string cast(const std::string& x, DType to) { return make("Cast", {x}, {{"DstT", to}}); }
  std::string number(double value) {
    return result_.graph.constant(next_name(), Tensor::scalar(static_cast<float>(value)));
  }

  static std::int64_t axis_of(const ir::Node& node) {
    const auto* axis = node.attr_if<std::int64_t>("axis");
    return axis ? *axis : -1;
  }

  // Scales or zero points as floats, along their axis of x.
  std::string along_axis(const Value* v, const ir::Node& node) {
    const Tensor& t = *v->constant();
    Ints dims = t.dims();
    if (axis_of(node) >= 0) {
      dims.assign(static_cast<std::size_t>(node.input(0)->shape().rank() - axis_of(node)), 1);
      dims.at(0) = t.elements();
    }
    return result_.graph.constant(next_name(), verify::tensor_of(DType::f32, dims, t.to_floats()));
  }

  // The operators that stand for quantization, in TensorFlow's arithmetic of floats.
  bool add_quantization(const ir::Node& node) {
    const std::string* x = tensor_of(node.input(0));
    const bool is_constant = node.input(1)->constant() && node.input(2)->constant();
    if (!x || !is_constant || (axis_of(node) >= 0 && !node.input(0)->shape().ranked())) return false;
    const std::string from = *x, scale = along_axis(node.input(1), node),
                      zero = along_axis(node.input(2), node);
    std::string result;
    if (node.op() == tfgraph::kDequantize) {
      result = make("Mul", {make("Sub", {cast(from, DType::f32), zero}), scale});
    } else {
      const DType codes = node.output()->dtype();
      const double count = std::ldexp(1.0, static_cast<int>(bit_width(codes))),
                   least = is_signed_int(codes) ? -count / 2 : 0;
      const std::string rounded = make("AddV2", {make("Rint", {make("RealDiv", {from, scale})}), zero});
      const std::string limited = make("Minimum", {rounded, number(least + count - 1)});
      result = cast(make("Maximum", {limited, number(least)}), codes);
    }
    result_.tensors[node.output()->name()] = std::move(result);
    return true;
  }

  bool add(const ir::Node& node) {
    if (node.op() == tfgraph::kGuarded) {
      if (const std::string* x = tensor_of(node.input(0))) result_.tensors[node.output()->name()] = *x;
      return tensor_of(node.input(0)) != nullptr;
    }
    if (node.op() == tfgraph::kQuantize || node.op() == tfgraph::kDequantize) return add_quantization(node);
    const tf::OpDef* def = tf::find_op_def(node.op());
    if (!def) return false;
    engines::TfOp op{.op = node.op(), .name = next_name()};
    try {
      const std::size_t known = library_.definitions.size();
      for (const tf::AttrDef& attr_def : def->attrs) {
        const Attr* attr = node.attr(attr_def.name);
        if (!attr) continue;
        auto value = value_of(*attr, attr_def.type);
        if (!value) return false;
        op.attrs.push_back({attr_def.name, std::move(*value)});
      }
      auto inputs = inputs_of(node, *def);
      if (!inputs) return false;
      op.inputs = std::move(*inputs);
      for (std::size_t i = known; i < library_.definitions.size(); ++i)  // also what those call
        result_.graph.add(library_.definitions[i]);
      result_.graph.add(op);
    } catch (const ConversionError&) {
      return false;
    }
    for (const Value* v : node.outputs())
      result_.tensors[v->name()] = op.name + ":" + std::to_string(v->index());
    return true;
  }

  const ir::Graph& source_;
  Library& library_;
  Rebuilt result_;
  int next_ = 0;
};

}  // namespace

Rebuilt rebuild(const ir::Graph& source, const std::string& library) {
  Library shared{library, {}};
  return Rebuilder(source, shared).run();
}

}  // namespace t2o::verify
