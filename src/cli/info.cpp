#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/json.h"
#include "exit_code.h"
#include "interface.h"
#include "op_mappers/registry.h"
#include "pipeline.h"
#include "tf/graph_def.h"
#include "tf/source.h"

namespace t2o::cli {
namespace {

struct InfoArguments {
  Options options;
  Common common;
};

struct OpUse {
  std::size_t nodes = 0;
  bool supported = false;
  int lowest_opset = 0;  // that would do; 0: none
};
using Histogram = std::map<std::string, OpUse>;

Histogram count_ops(const ir::Graph& main_graph, int opset) {
  const OpRegistry& registry = tf_registry();
  Histogram histogram;
  std::vector<const ir::Graph*> pending = {&main_graph};
  while (!pending.empty()) {
    const ir::Graph& graph = *pending.back();
    pending.pop_back();
    for (const ir::Node& node : graph.nodes()) {
      const std::string form = OpRegistry::form_of(node);
      OpUse& use = histogram[form];
      if (use.nodes++ == 0) {
        use.supported = registry.find(form, opset) != nullptr;
        use.lowest_opset = registry.knows(form) ? registry.lowest_opset(form) : 0;
      }
      for_each_subgraph(node, [&pending](const ir::Graph& g) { pending.push_back(&g); });
    }
  }
  return histogram;
}

// A model whose graph cannot be made has nodes too.
std::map<std::string, std::size_t> count_nodes(const tf::GraphDef& graph) {
  std::map<std::string, std::size_t> counts;
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
  std::map<std::string, std::size_t> nodes;
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

std::string as_text(const Console& console, const std::map<std::string, std::size_t>& nodes) {
  std::string out = console.paint(Style::strong, "ops") + " of the file and its functions";
  for (const auto& [op, count] : nodes) {
    const std::string number = std::to_string(count);
    out += "\n" + std::string(number.size() < 7 ? 7 - number.size() : 0, ' ') + number + "  " + op;
  }
  return out;
}

Json as_json(const ir::Graph& graph, const Histogram& histogram, int opset) {
  Json ops = Json::object(), unsupported = Json::array();
  for (const auto& [op, use] : histogram) {
    ops[op] = use.nodes;
    if (!use.supported)
      unsupported.push_back({{"op", op}, {"nodes", use.nodes}, {"lowest_opset", use.lowest_opset}});
  }
  return {{"inputs", to_json(graph, graph.inputs())},
          {"outputs", to_json(graph, graph.outputs())},
          {"nodes", graph.node_count()},
          {"ops", std::move(ops)},
          {"opset", opset},
          {"unsupported", std::move(unsupported)}};
}

std::string as_text(const Console& console, const ir::Graph& graph, const Histogram& histogram, int opset,
                    bool refused) {
  std::string out = console.paint(Style::strong, "inputs") + "\n";
  for (const Value* v : graph.inputs()) out += "  " + interface_text(graph, v) + "\n";
  out += console.paint(Style::strong, "outputs") + "\n";
  for (const Value* v : graph.outputs()) out += "  " + interface_text(graph, v) + "\n";
  out += console.paint(Style::strong, "ops") + ", " + counted(graph.node_count(), "node") + "\n";
  std::string missing;
  for (const auto& [op, use] : histogram) {
    const std::string count = std::to_string(use.nodes);
    out += std::string(count.size() < 7 ? 7 - count.size() : 0, ' ') + count + "  " + op + "\n";
    if (use.supported) continue;
    missing += "  " + op + " (" + counted(use.nodes, "node") + ")";
    missing += use.lowest_opset != 0 ? ": from opset " + std::to_string(use.lowest_opset) + " on\n" : "\n";
  }
  const std::string at_opset = " at opset " + std::to_string(opset);
  if (missing.empty() && refused) return out + "all ops are supported" + at_opset + ", but not the interface";
  if (missing.empty()) return out + console.paint(Style::good, "all ops are supported") + at_opset;
  missing.pop_back();
  return out + console.paint(Style::error, "unsupported") + at_opset + "\n" + missing;
}

int inform(const InfoArguments& a) {
  const Console console(a.common);
  if (a.options.model.empty()) fail(Code::bad_option, "no model is given", "tf2onnx-cpp info MODEL");
  const int opset = a.options.opset != 0 ? a.options.opset : onnx::kDefaultOpset;
  Diagnostics diagnostics;
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
    const Histogram histogram = count_ops(*graph, opset);
    if (console.json())
      json.update(as_json(*graph, histogram, opset));
    else
      std::cout << harmless(as_text(console, *graph, histogram, opset, !refusals.empty())) << std::endl;
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
  add_common_options(*command, a->common);
  command->callback([&session, a] { session.action = [a] { return inform(*a); }; });
}

}  // namespace t2o::cli
