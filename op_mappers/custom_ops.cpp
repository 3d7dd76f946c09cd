#include "op_mappers/custom_ops.h"

#include <algorithm>
#include <map>

#include "ir/contents.h"
#include "onnx/elem_type.h"
#include "tf/op_defs.h"

namespace t2o {
namespace {

constexpr const char* kDefaultDomain = "ai.onnx.converters.tensorflow";  // as in tf2onnx

std::optional<Attr> as_onnx(const Attr& a) {
  if (const auto* t = std::get_if<DType>(&a)) return Attr(std::int64_t{onnx::elem_type(*t)});
  if (const auto* ts = std::get_if<DTypes>(&a)) {
    Ints numbers;
    for (const DType t : *ts) numbers.push_back(onnx::elem_type(t));
    return Attr(std::move(numbers));
  }
  if (const auto* s = std::get_if<Shape>(&a)) {
    if (!s->ranked()) return std::nullopt;
    Ints dims = s->dims();
    std::ranges::replace_if(
        dims, [](Dim d) { return !is_known(d); }, std::int64_t{-1});
    return Attr(std::move(dims));
  }
  const bool is_plain = std::holds_alternative<std::int64_t>(a) || std::holds_alternative<float>(a) ||
                        std::holds_alternative<std::string>(a) || std::holds_alternative<Ints>(a) ||
                        std::holds_alternative<Floats>(a) || std::holds_alternative<Strings>(a) ||
                        std::holds_alternative<TensorPtr>(a);
  return is_plain ? std::optional(a) : std::nullopt;
}

// Of an output whose operator nobody knows; undefined where no attribute says it.
DType type_by_attribute(const ir::Node& n) {
  for (const char* name : {"T", "dtype", "Tout", "out_type"})
    if (const auto* t = n.attr_if<DType>(name)) return *t;
  return DType::undefined;
}

// The node with its inputs and attributes under another domain. TensorFlow's types become ONNX's numbers. Its
// shapes become lists of integers, with -1 for an unknown size. An attribute that ONNX has no form for (a
// function) is left out.
Values keep_custom(MapperContext& c, const std::string& domain) {
  ir::NodeSpec spec{domain + "::" + c.node().op(), c.inputs(), {}, {}, c.shared_origin(), {}, true};
  for (const ir::NamedAttr& a : c.node().attrs()) {
    c.raw_attr(a.name);
    if (a.name.starts_with("_")) continue;
    if (auto value = as_onnx(a.value)) spec.attrs.push_back({a.name, std::move(*value)});
  }
  for (std::size_t i = 0; i < c.node().outputs().size(); ++i) {
    const DType known = c.output_dtype(i);
    spec.outputs.push_back(
        {"", known != DType::undefined ? known : type_by_attribute(c.node()), c.output_shape(i)});
  }
  return c.graph().add(std::move(spec)).outputs();
}

bool is_list(const Value* v) { return v && v->dtype() == DType::variant; }

std::optional<Refusal> refusal_of_custom(const ir::Node& n) {
  if (std::ranges::any_of(n.outputs(), is_list) || std::ranges::any_of(n.inputs(), is_list))
    return Refusal{"a custom op can neither take nor give a TensorList: ONNX has no such type",
                   "leave it out of --custom-ops", Code::unsupported_type};
  if (has_contents_elsewhere(n))
    return Refusal{
        "as a custom op it would be empty: other operations fill it, which the outputs do not need",
        "{cut after}"};
  for (const Value* v : n.outputs())
    if (v->dtype() == DType::undefined && type_by_attribute(n) == DType::undefined)
      return Refusal{
          "nothing says which type output " + std::to_string(v->index()) + " of this custom op has",
          "give the op a type attribute T", Code::unsupported_type};
  return std::nullopt;
}

std::string op_of(const std::string& item) { return item.substr(0, item.find(':')); }

std::string domain_of(const std::string& item) {
  const std::size_t colon = item.find(':');
  const std::string domain = colon == std::string::npos ? kDefaultDomain : item.substr(colon + 1);
  const bool is_onnx = domain == "ai.onnx" || domain == "ai.onnx.ml" ||
                       domain.starts_with("ai.onnx.training") || domain.starts_with("ai.onnx.preview");
  if (colon == 0 || domain.empty() || domain.find(':') != std::string::npos || is_onnx)
    fail(Code::bad_option, "--custom-ops: '" + item + "' is not an op with a domain",
         "write Op or Op:domain, with a domain of your own");
  return domain;
}

}  // namespace

OpRegistry custom_rows(const std::vector<std::string>& items, Diagnostics& diagnostics) {
  std::map<std::string, std::string> domains;
  for (const std::string& item : items) collect(diagnostics, [&] { domains[op_of(item)] = domain_of(item); });
  OpRegistry rows;
  for (const auto& [op, domain] : domains)
    rows.ops({op, OpRegistry::complex_form(op)})
        .refuses(refusal_of_custom)
        .by([domain = domain](MapperContext& c) { return keep_custom(c, domain); });
  return rows;
}

void warn_of_idle(const std::vector<std::string>& items, ir::Graph& source, Diagnostics& diagnostics) {
  if (items.empty()) return;
  const std::unordered_set<std::string> there = ir::contents_of(source).ops;
  for (const std::string& item : items)
    if (const std::string op = op_of(item); !there.contains(op))
      diagnostics.push_back({Severity::warning,
                             Code::bad_option,
                             "--custom-ops: the graph has no node of '" + op + "'",
                             "",
                             {},
                             SourceLoc::here()});
}

bool has_contents_elsewhere(const ir::Node& n) {
  const auto& outputs = n.outputs();
  if (std::ranges::any_of(outputs, [](const Value* v) { return v->dtype() == DType::resource; })) return true;
  const tf::OpDef* def = tf::find_op_def(n.op());  // TensorFlow 1 has references to strings for handles
  return def && std::ranges::any_of(def->outputs,
                                    [](const tf::ArgDef& a) { return a.is_ref && a.type == DType::string; });
}

bool may_be_custom(const ir::Node& n) {
  const auto is_handle = [](const Value* v) {
    return v && (v->dtype() == DType::resource || (v->producer() && has_contents_elsewhere(*v->producer())));
  };
  return !refusal_of_custom(n) && std::ranges::none_of(n.inputs(), is_handle);
}

}  // namespace t2o
