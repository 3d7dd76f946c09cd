#include "cli/report_text.h"

#include "cli/console.h"

namespace t2o::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kShown = 5;  // Transposes of one reason

std::string list_text(const Ints& list) {
  std::string text = "[";
  for (const std::int64_t i : list) text += (text.size() > 1 ? "," : "") + std::to_string(i);
  return text + "]";
}

std::string counted_or_no(std::size_t n, std::string_view noun) {
  return n == 0 ? "no " + std::string(noun) + "s" : counted(n, noun);
}

std::string operators_text(const GraphReport& r) {
  std::string text = "operators:", line;
  for (const auto& [op, count] : r.operators) {
    const std::string word =
        " " + op + " " + std::to_string(count) + (op == r.operators.back().first ? "" : ",");
    if (line.size() + word.size() > kWidth) {
      text += line + "\n          ";
      line.clear();
    }
    line += word;
  }
  return r.operators.empty() ? "" : text + line + "\n";
}

// Without the calls that every name of a SavedModel begins with.
std::string shorter(std::string name) {
  constexpr std::string_view kCall = "StatefulPartitionedCall";
  for (std::size_t at = 0; (at = name.find(kCall, at)) != std::string::npos;) {
    const std::size_t slash = name.find('/', at);
    const bool begins = at == 0 || name[at - 1] == '\'' || name[at - 1] == '/';
    if (slash == std::string::npos || !begins) break;
    name.erase(at, slash + 1 - at);
  }
  return name;
}

std::string transpose_text(const TransposeReport& t) {
  std::string text = shorter(t.node) + " " + (t.perm.empty() ? "(reversed axes)" : list_text(t.perm));
  if (!t.source.op.empty()) text += " for " + t.source.op;
  if (!t.source.node.empty() && t.node.find(t.source.label()) == std::string::npos &&
      shorter(t.node) != shorter(t.source.node))
    text += " '" + shorter(t.source.node) + "'";
  text = "    " + text + "\n";
  if (t.from.empty() && t.to.empty()) return text;
  return text + "      " + (t.from.empty() ? "any" : shorter(t.from)) + " -> " +
         (t.to.empty() ? "any" : shorter(t.to)) + "\n";
}

std::string row_text(const RuntimeRowReport& r) {
  const std::string what = r.kind == "veto" ? "kept from being made" : "changed";
  return "  for the runtime: " + r.row + " (" + r.kind + "), " +
         counted(static_cast<std::size_t>(r.uses), "node") + " " + what + ": " + r.why + "\n";
}

}  // namespace

std::string report_text(const GraphReport& r) {
  std::string text = "graph: " + counted(r.nodes, "node") + ", " +
                     counted_or_no(r.transposes.size(), "Transpose") + ", " + counted_or_no(r.loops, "loop") +
                     ", weights of " + human_size(r.weight_bytes) + "\n" + operators_text(r);
  std::vector<std::string> reasons;
  for (const TransposeReport& t : r.transposes)
    if (!contains(reasons, t.why)) reasons.push_back(t.why);
  for (const std::string& why : reasons) {
    std::string lines;
    std::size_t n = 0;
    for (const TransposeReport& t : r.transposes)
      if (t.why == why && ++n <= kShown) lines += transpose_text(t);
    if (n > kShown) lines += "    and " + std::to_string(n - kShown) + " more; --json lists them\n";
    text += "  " + counted(n, "Transpose") + (n == 1 ? " stays: " : " stay: ") + why + "\n" + lines;
  }
  for (const RuntimeRowReport& row : r.runtime_rows) text += row_text(row);
  return text;
}

Json to_json(const GraphReport& r) {
  Json operators = Json::object(), transposes = Json::array();
  for (const auto& [op, count] : r.operators) operators[op] = count;
  for (const TransposeReport& t : r.transposes) {
    Json entry = {{"name", t.node}, {"perm", t.perm}, {"kind", name(t.kind)}, {"why", t.why}};
    if (!t.from.empty()) entry["from"] = t.from;
    if (!t.to.empty()) entry["to"] = t.to;
    if (!t.source.node.empty()) entry["source_node"] = t.source.node;
    if (!t.source.op.empty()) entry["source_op"] = t.source.op;
    if (!t.source.function.empty()) entry["source_function"] = t.source.function;
    transposes.push_back(std::move(entry));
  }
  Json rows = Json::array();
  for (const RuntimeRowReport& row : r.runtime_rows)
    rows.push_back({{"row", row.row}, {"kind", row.kind}, {"nodes", row.uses}, {"why", row.why}});
  return {{"nodes", r.nodes},
          {"loops", r.loops},
          {"weight_bytes", r.weight_bytes},
          {"operators", std::move(operators)},
          {"transposes", std::move(transposes)},
          {"runtime_rows", std::move(rows)}};
}

}  // namespace t2o::cli
