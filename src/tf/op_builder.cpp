#include "tf/op_builder.h"

#include <algorithm>

#include "diagnostics.h"
#include "support/wire.h"
#include "tf/attr_value.h"
#include "tf/op_defs.h"
#include "tf/op_kinds.h"

namespace t2o::tf {
namespace {

class Builder {
 public:
  Builder(const std::string& op, const Values& inputs, Attrs& attrs)
      : op_(op), def_(find_op_def(op)), inputs_(inputs), attrs_(attrs) {
    if (!def_) refuse("TensorFlow has no such operator");
  }

  DTypes results() {
    std::size_t next = 0;
    for (const ArgDef& arg : def_->inputs) next += take(arg, next);
    if (next != inputs_.size()) refuse("it takes " + std::to_string(next) + " inputs");
    add_defaults(*def_, attrs_);
    for (const AttrDef& a : def_->attrs)
      if (!given(a.name)) refuse("it needs the attribute '" + a.name + "'");
    for (const ir::NamedAttr& a : attrs_)
      if (!def_->attr(a.name)) refuse("it has no attribute '" + a.name + "'");
    return tensor_types(def_->outputs, attrs_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    const auto has_no_type = [](const Value* v) { return v->dtype() == DType::undefined; };
    const auto found = std::find_if(inputs_.begin(), inputs_.end(), has_no_type);
    if (found != inputs_.end())  // a damaged attribute of the model's, and no mistake of the caller's
      fail(Code::bad_model, "the model does not say of which type '" + (*found)->name() + "' is");
    fail(Code::internal, op_ + ": " + why);
  }

  const Attr* given(const std::string& name) const {
    const auto found = std::ranges::find_if(attrs_, [&](const ir::NamedAttr& a) { return a.name == name; });
    return found == attrs_.end() ? nullptr : &found->value;
  }

  void infer(const std::string& name, Attr value) {
    const Attr* known = given(name);
    if (!known)
      attrs_.push_back({name, std::move(value)});
    else if (*known != value)
      refuse("the attribute '" + name + "' does not fit the inputs");
  }

  // One list of tensors takes all inputs that the other arguments, of one tensor each, leave.
  std::size_t count_of(const ArgDef& arg) const {
    if (arg.number_attr.empty() && arg.type_list_attr.empty()) return 1;
    if (const Attr* n = arg.number_attr.empty() ? nullptr : given(arg.number_attr))
      if (const auto* number = std::get_if<std::int64_t>(n)) return static_cast<std::size_t>(*number);
    if (const Attr* t = arg.type_list_attr.empty() ? nullptr : given(arg.type_list_attr))
      if (const auto* types = std::get_if<DTypes>(t)) return types->size();
    const auto is_list = [](const ArgDef& a) { return !a.number_attr.empty() || !a.type_list_attr.empty(); };
    if (std::ranges::count_if(def_->inputs, is_list) > 1)
      refuse("it has several lists of inputs: give their numbers");
    const std::size_t others = def_->inputs.size() - 1;
    return inputs_.size() < others ? 0 : inputs_.size() - others;
  }

  std::size_t take(const ArgDef& arg, std::size_t from) {
    const std::size_t count = count_of(arg);
    if (from + count > inputs_.size()) refuse("input '" + arg.name + "' is missing");
    DTypes types;
    for (std::size_t i = from; i < from + count; ++i) types.push_back(inputs_[i]->dtype());
    if (!arg.number_attr.empty()) infer(arg.number_attr, static_cast<std::int64_t>(count));
    if (!arg.type_list_attr.empty()) {
      infer(arg.type_list_attr, types);
      return count;
    }
    for (const DType t : types) {
      if (!arg.type_attr.empty())
        infer(arg.type_attr, t);
      else if (arg.type != t)
        refuse("input '" + arg.name + "' is of type " + std::string(name(t)));
    }
    return count;
  }

  const std::string& op_;
  const OpDef* def_;
  const Values& inputs_;
  Attrs& attrs_;
};

struct RawNode {
  std::string op;
  std::vector<std::pair<std::string, Bytes>> attrs;
};

// NodeDef: 2 op, 5 attributes by name
RawNode read_node_def(Bytes bytes) {
  RawNode node;
  for (WireReader r(bytes); r.next();) {
    if (r.field() == 2) node.op = r.text();
    if (r.field() == 5) node.attrs.emplace_back(r.map_entry());
  }
  return node;
}

// Computes its results from its inputs alone.
bool stands_alone(const OpDef& def) {
  const OpKind kind = op_kind(def.name, &def);
  const bool has_function = std::ranges::any_of(def.attrs, [](const AttrDef& a) { return a.type == "func"; });
  return !has_function &&
         contains({OpKind::ordinary, OpKind::pass_through, OpKind::pass_through_each, OpKind::ensure_shape},
                  kind);
}

}  // namespace

ir::NodeSpec spec_of_node_def(Bytes node_def, const Owner& owner, Values inputs) {
  const RawNode node = read_node_def(node_def);
  const OpDef* def = find_op_def(node.op);
  if (!def) fail(Code::unsupported_op, "TensorFlow has no operator '" + node.op + "'");
  if (!stands_alone(*def))
    fail(Code::not_yet, "TensorFlow's operator " + node.op + " is not supported in such a model yet");
  Attrs attrs;
  for (const auto& [name, value] : node.attrs) {
    if (name.starts_with('_')) continue;
    const AttrDef* declared = def->attr(name);
    if (!declared) fail(Code::bad_model, node.op + " has no attribute '" + name + "'");
    Attr a = decode_attr(value, {owner}, declared->type);
    if (!is_of_type(a, declared->type))
      fail(Code::bad_model, "attribute '" + name + "' is of another type than " + declared->type);
    attrs.push_back({name, std::move(a)});
  }
  try {
    return op_spec(node.op, std::move(inputs), std::move(attrs));
  } catch (const ConversionError& e) {
    fail(Code::bad_model, e.diagnostic().message);
  }
}

ir::NodeSpec op_spec(std::string op, Values inputs, Attrs attrs, std::vector<Shape> shapes) {
  const DTypes types = Builder(op, inputs, attrs).results();
  ir::NodeSpec spec;
  for (std::size_t i = 0; i < types.size(); ++i)
    spec.outputs.push_back({"", types[i], i < shapes.size() ? std::move(shapes[i]) : Shape()});
  spec.op = std::move(op);
  spec.inputs = std::move(inputs);
  spec.attrs = std::move(attrs);
  return spec;
}

}  // namespace t2o::tf
