#include "onnx/altered.h"

#include <sstream>

namespace t2o::onnx {

std::vector<std::pair<std::string, std::string>> altered_props(const ir::Graph& main) {
  std::map<std::string, std::string> lists;
  const auto note = [&](const Value* v) {
    const ir::Alteration* a = v->alteration();
    if (!a || !a->is_known() || !v->is_used() || (a->steps().empty() && v->name() == a->source())) return;
    std::string& list = lists[std::string(ir::kAlteredKey) + a->text()];
    list += (list.empty() ? "" : "\n") + v->name() + (v->name() == a->source() ? "" : "\t" + a->source());
  };
  for (const Value* v : main.constants()) note(v);
  for (const ir::Node& n : main.nodes())
    for (const Value* v : n.outputs()) note(v);
  return {lists.begin(), lists.end()};
}

std::map<std::string, ir::Alteration> altered_values(
    const std::vector<std::pair<std::string, std::string>>& props) {
  std::map<std::string, ir::Alteration> values;
  for (const auto& [key, list] : props) {
    const auto steps = key.starts_with(ir::kAlteredKey)
                           ? ir::Alteration::parse(std::string_view(key).substr(ir::kAlteredKey.size()))
                           : std::nullopt;
    if (!steps) continue;
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t tab = line.find('\t');
      const std::string name = line.substr(0, tab);
      ir::Alteration a(tab == std::string::npos ? name : line.substr(tab + 1));
      for (const ir::Alteration::Step& s : *steps) a.add(s);
      values.emplace(name, std::move(a));
    }
  }
  return values;
}

}  // namespace t2o::onnx
