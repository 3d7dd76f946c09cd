#pragma once
#include "tf/import.h"
#include "tf/text_proto.h"

// Graphs in TensorFlow's text format, and what importing them gives.
namespace t2o::tf {

struct Imported {
  GraphPtr graph;
  Diagnostics diagnostics;
};

inline Imported import(const std::string& text, const ImportRequest& request) {
  const auto binary = std::make_shared<const std::string>(graph_def_from_text(text, "test"));
  Imported r;
  r.graph = import_graph(parse_graph_def(std::as_bytes(std::span(*binary)), binary), request, r.diagnostics);
  return r;
}

inline ImportRequest fetch(std::vector<Fetch> fetches, std::vector<Feed> feeds = {}) {
  ImportRequest r;
  r.fetches = std::move(fetches);
  r.feeds = std::move(feeds);
  r.find_interface = true;
  r.variable = [](const VariableRef& v) -> TensorPtr {
    return v.node == "lost" ? nullptr : Tensor::of<float>({2}, {1, 2});
  };
  return r;
}

inline std::string ops(const ir::Graph& g) {
  std::string s;
  for (const ir::Node& n : g.nodes()) s += (s.empty() ? "" : " ") + n.op();
  return s;
}

inline bool mentions(const Diagnostics& all, std::string_view text, Severity severity = Severity::error) {
  for (const Diagnostic& d : all)
    if (d.severity == severity && to_string(d).find(text) != std::string::npos) return true;
  return false;
}

inline std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& attrs = "") {
  std::string s = "node { name: '" + name + "' op: '" + op + "'";
  for (const std::string& i : inputs) s += " input: '" + i + "'";
  return s + attrs + " }\n";
}

inline std::string attr(const std::string& key, const std::string& value) {
  return " attr { key: '" + key + "' value { " + value + " } }";
}
inline const std::string kT = attr("T", "type: DT_FLOAT");
inline const std::string kX =
    node("x", "Placeholder", {},
         attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { dim { size: -1 } dim { size: 2 } }"));
inline const std::string kAxes = node(
    "axes", "Const", {},
    attr("dtype", "type: DT_INT32") +
        attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 0 int_val: 1 }"));
inline const std::string kC =
    node("c", "Const", {},
         attr("dtype", "type: DT_FLOAT") + attr("value", "tensor { dtype: DT_FLOAT float_val: 3 }"));
inline const std::string kV = node("v", "VarHandleOp", {},
                            attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { dim { size: 2 } }"));
inline const std::string kRead = attr("dtype", "type: DT_FLOAT");

}  // namespace t2o::tf
