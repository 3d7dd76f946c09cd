#include "cli/json.h"

namespace t2o::cli {

Json to_json(const Diagnostics& diagnostics) {
  static constexpr std::string_view kSeverity[] = {"note", "warning", "error"};
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json entry = {{"severity", kSeverity[static_cast<int>(d.severity)]},
                  {"code", name(d.code)},
                  {"message", d.message}};
    if (!d.remedy.empty()) entry["help"] = d.remedy;
    if (!d.origin.op.empty()) entry["op"] = d.origin.op;
    if (!d.origin.node.empty()) entry["node"] = d.origin.node;
    if (!d.origin.function.empty()) entry["function"] = d.origin.function;
    list.push_back(std::move(entry));
  }
  return list;
}

Json to_json(const ir::Graph& graph, const Values& interface) {
  Json list = Json::array();
  for (const Value* v : interface) {
    Json shape;
    if (v->shape().ranked()) {
      shape = Json::array();
      for (const Dim d : v->shape().dims())
        shape.push_back(is_known(d) ? Json(d) : is_symbol(d) ? Json(graph.symbols().name(d)) : Json());
    }
    list.push_back({{"name", v->name()}, {"dtype", name(v->dtype())}, {"shape", std::move(shape)}});
  }
  return list;
}

std::string interface_text(const ir::Graph& graph, const Value* v) {
  std::string text = v->name() + "  " + std::string(name(v->dtype()));
  if (!v->shape().ranked()) return text + " (any rank)";
  text += '[';
  for (const Dim d : v->shape().dims()) {
    if (text.back() != '[') text += ',';
    text += is_known(d) ? std::to_string(d) : is_symbol(d) ? graph.symbols().name(d) : "?";
  }
  return text + ']';
}

std::string printed(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace t2o::cli
