#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/json.h"
#include "exit_code.h"
#include "interface.h"
#include "op_mappers/conversion_registry.h"
#include "op_mappers/custom_ops.h"
#include "option_text.h"
#include "pipeline.h"
#include "tf/graph_def.h"
#include "tf/source.h"

namespace t2o::cli {
namespace {

struct InfoArguments {
  Options options;
  Common common;
};

using Counts = std::map<std::string, std::size_t>;

Counts count_ops(const ir::Graph& main_graph) {
  Counts counts;
  std::vector<const ir::Graph*> pending = {&main_graph};
  while (!pending.empty()) {
    const ir::Graph& graph = *pending.back();
    pending.pop_back();
    for (const ir::Node& node : graph.nodes()) {
      ++counts[OpRegistry::form_of(node)];
      for_each_subgraph(node, [&pending](const ir::Graph& g) { pending.push_back(&g); });
    }
  }
  return counts;
}

// Nodes of one op that no row takes, for one reason.
struct Unsupported {
  std::string op;
  Way way;
  std::size_t nodes = 0;
};

std::vector<Unsupported> unsupported_ops(const ir::Graph& graph, const ConversionRegistry& registry) {
  std::map<std::pair<std::string, std::string>, Unsupported> by_reason;
  for (const auto& [node, way] : registry.without_way(graph)) {
    Unsupported& u = by_reason[{OpRegistry::form_of(*node), way.refusal->why}];
    u = {OpRegistry::form_of(*node), way, u.nodes + 1};
  }
  std::vector<Unsupported> all;
  for (const auto& [reason, u] : by_reason) all.push_back(u);
  return all;
}

// A model whose graph cannot be made has nodes too.
Counts count_nodes(const tf::GraphDef& graph) {
  Counts counts;
  const auto add = [&](const tf::NodeList& list) {
    for (const tf::NodeDef& n : list.nodes) ++counts[std::string(n.op)];
  };
  add(graph.body);
  for (const tf::RawFunction& f : graph.functions) add(tf::parse_function(f.bytes, graph.owner).body);
  return counts;
}

// What is there even where no graph can be made of it; why not, read_source() tells.
struct Contents {
  std::vector<tf::Signature> signatures;
  Counts nodes;
};

Contents contents_of(const Options& options) {
  try {
    const tf::Source source = tf::look_into(options);
    return {source.signatures, count_nodes(source.graph)};
  } catch (const ConversionError&) {
    return {};
  }
}

std::string tensor_text(const tf::SignatureTensor& t) {
  std::string text = t.key + "  " + std::string(name(t.dtype));
  if (!t.shape.ranked()) return text;
  text += '[';
  for (const Dim d : t.shape.dims()) {
    if (text.back() != '[') text += ',';
    text += is_known(d) ? std::to_string(d) : "?";
  }
  return text + ']';
}

std::string as_text(const Console& console, const std::vector<tf::Signature>& signatures) {
  std::string out;
  for (const tf::Signature& s : signatures) {
    out += console.paint(Style::strong, "signature") + " " + s.name + "\n";
    for (const tf::SignatureTensor& t : s.inputs) out += "  in   " + tensor_text(t) + "\n";
    for (const tf::SignatureTensor& t : s.outputs) out += "  out  " + tensor_text(t) + "\n";
  }
  return out;
}

Json as_json(const std::vector<tf::Signature>& signatures) {
  const auto tensors = [](const std::vector<tf::SignatureTensor>& list) {
    Json json = Json::array();
    for (const tf::SignatureTensor& t : list) {
      Json shape;
      if (t.shape.ranked()) {
        shape = Json::array();
        for (const Dim d : t.shape.dims()) shape.push_back(is_known(d) ? Json(d) : Json());
      }
      json.push_back(
          {{"name", t.key}, {"tensor", t.tensor}, {"dtype", name(t.dtype)}, {"shape", std::move(shape)}});
    }
    return json;
  };
  Json list = Json::array();
  for (const tf::Signature& s : signatures)
    list.push_back({{"name", s.name}, {"inputs", tensors(s.inputs)}, {"outputs", tensors(s.outputs)}});
  return list;
}

std::string as_text(const Counts& counts) {
  std::string out;
  for (const auto& [op, count] : counts) {
    const std::string number = std::to_string(count);
    out += "\n" + std::string(number.size() < 7 ? 7 - number.size() : 0, ' ') + number + "  " + op;
  }
  return out;
}

std::string as_text(const Console& console, const Counts& nodes) {
  return console.paint(Style::strong, "ops") + " of the file and its functions" + as_text(nodes);
}

Json as_json(const ir::Graph& graph, const ConversionRegistry& registry) {
  Json unsupported = Json::array();
  for (const Unsupported& u : unsupported_ops(graph, registry))
    unsupported.push_back({{"op", u.op},
                           {"nodes", u.nodes},
                           {"lowest_opset", u.way.lowest_opset},
                           {"reason", u.way.refusal->why}});
  return {{"inputs", to_json(graph, graph.inputs())},
          {"outputs", to_json(graph, graph.outputs())},
          {"nodes", graph.node_count()},
          {"ops", count_ops(graph)},
          {"opset", registry.target().opset},
          {"unsupported", std::move(unsupported)}};
}

std::string as_text(const Console& console, const ir::Graph& graph, const ConversionRegistry& registry,
                    bool refused) {
  std::string out = console.paint(Style::strong, "inputs") + "\n";
  for (const Value* v : graph.inputs()) out += "  " + interface_text(graph, v) + "\n";
  out += console.paint(Style::strong, "outputs") + "\n";
  for (const Value* v : graph.outputs()) out += "  " + interface_text(graph, v) + "\n";
  out += console.paint(Style::strong, "ops") + ", " + counted(graph.node_count(), "node") +
         as_text(count_ops(graph)) + "\n";
  std::string missing;
  for (const Unsupported& u : unsupported_ops(graph, registry))
    missing += "  " + u.op + " (" + counted(u.nodes, "node") + "): " + u.way.refusal->why + "\n";
  const std::string at_opset = " at opset " + std::to_string(registry.target().opset);
  if (missing.empty() && refused) return out + "all ops are supported" + at_opset + ", but not the interface";
  if (missing.empty()) return out + console.paint(Style::good, "all ops are supported") + at_opset;
  missing.pop_back();
  return out + console.paint(Style::error, "unsupported") + at_opset + "\n" + missing;
}

int inform(const InfoArguments& a) {
  const Console console(a.common);
  if (a.options.model.empty()) fail(Code::bad_option, "no model is given", "tf2onnx-cpp info MODEL");
  Diagnostics diagnostics;
  ConversionRegistry registry(
      onnx::make_target(a.options.opset != 0 ? a.options.opset : onnx::kDefaultOpset));
  registry.add_overlay(custom_rows(a.options.custom_ops, diagnostics));
  if (has_errors(diagnostics)) throw ConversionError(diagnostics.front());
  GraphPtr graph;
  {
    const Progress progress(console, "reading " + a.options.model);
    graph = read_source(a.options, diagnostics);
  }
  const Contents contents = contents_of(a.options);
  Json json = {{"model", a.options.model}, {"signatures", as_json(contents.signatures)}};
  if (!console.json()) std::cout << harmless(as_text(console, contents.signatures));
  if (graph) {
    Diagnostics refusals;
    if (!a.options.complex_as_pairs) refuse_complex_interface(*graph, refusals);
    for (Diagnostic& d : refusals) d.severity = Severity::warning;  // it is told, not converted
    diagnostics.insert(diagnostics.end(), refusals.begin(), refusals.end());
    if (console.json())
      json.update(as_json(*graph, registry));
    else
      std::cout << harmless(as_text(console, *graph, registry, !refusals.empty())) << std::endl;
  } else {
    json["ops"] = contents.nodes;
    if (!console.json() && !contents.nodes.empty())
      std::cout << harmless(as_text(console, contents.nodes)) << std::endl;
  }
  console.report(diagnostics, "the model cannot be read");
  const int code = graph ? kDone : exit_code(diagnostics);
  if (console.json()) {
    json["diagnostics"] = to_json(diagnostics);
    json["exit_code"] = code;
    std::cout << printed(json) << std::endl;
  }
  return code;
}

}  // namespace

void add_info(CLI::App& root, Session& session) {
  auto a = std::make_shared<InfoArguments>();
  CLI::App* command =
      add_command(root, "info", "Show what a model contains, and which of its ops would not convert.",
                  "  tf2onnx-cpp info saved_model_dir\n"
                  "  tf2onnx-cpp info frozen.pb --outputs logits:0 --opset 13 --json");
  add_model_options(*command, a->options);
  command
      ->add_option_function<int>(
          "--opset", [a](int opset) { a->options.opset = opset; },
          "List the ops that are unsupported at this opset. The default is 21.")
      ->type_name("N")
      ->group("Output")
      ->check(CLI::Range(onnx::kLowestOpset, onnx::kHighestOpset));
  command
      ->add_option_function<std::string>(
          "--custom-ops", [a](const std::string& ops) { set_option(a->options, "custom-ops", ops); },
          "Ops that --custom-ops would keep when the model is converted: they count as supported.")
      ->type_name("OPS")
      ->group("Output");
  add_common_options(*command, a->common);
  command->callback([&session, a] { session.action = [a] { return inform(*a); }; });
}

}  // namespace t2o::cli
