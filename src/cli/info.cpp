#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/json.h"
#include "exit_code.h"
#include "interface.h"
#include "option_text.h"
#include "pipeline.h"

namespace t2o::cli {
namespace {

struct InfoArguments {
  Options options;
  Common common;
};

using Counts = std::map<std::string, std::size_t>;

// Nodes of one op that are refused for one reason.
struct Unsupported {
  std::string op, reason;
  std::size_t nodes = 0;
  int lowest_opset = 0;  // that would do; 0: none
};

std::vector<Unsupported> unsupported_ops(const Inspection& model) {
  std::map<std::pair<std::string, std::string>, Unsupported> by_reason;
  for (const Diagnostic& d : model.refusals) {
    Unsupported& u = by_reason[{d.origin.op, d.message}];
    u = {d.origin.op, d.message, u.nodes + 1, 0};
  }
  for (const auto& [node, way] : model.without_way)
    if (const auto u = by_reason.find({node->origin().op, way.refusal->why}); u != by_reason.end())
      u->second.lowest_opset = way.lowest_opset;
  std::vector<Unsupported> all;
  for (const auto& [reason, u] : by_reason) all.push_back(u);
  return all;
}

// Without --complex-as-pairs, complex inputs and outputs are shown as the model has them.
const ir::Graph& shown_interface(const Inspection& model, const Options& o) {
  Diagnostics complex;
  if (!o.complex_as_pairs) refuse_complex_interface(*model.source, complex);
  return model.exported && complex.empty() ? *model.exported : *model.source;
}

std::string tensor_text(const ModelSignature::Tensor& t) {
  std::string text = t.key + "  " + std::string(name(t.dtype));
  if (!t.shape.ranked()) return text;
  text += '[';
  for (std::size_t i = 0; i < t.shape.dims().size(); ++i) {
    const Dim d = t.shape.dims()[i];
    const bool has_name = i < t.dim_names.size() && !t.dim_names[i].empty();
    if (i != 0) text += ',';
    text += is_known(d) ? std::to_string(d) : has_name ? t.dim_names[i] : "?";
  }
  return text + ']';
}

std::string as_text(const Console& console, const std::vector<ModelSignature>& signatures) {
  std::string out;
  for (const ModelSignature& s : signatures) {
    out += console.paint(Style::strong, "signature") + " " + s.name + "\n";
    for (const ModelSignature::Tensor& t : s.inputs) out += "  in   " + tensor_text(t) + "\n";
    for (const ModelSignature::Tensor& t : s.outputs) out += "  out  " + tensor_text(t) + "\n";
  }
  return out;
}

Json as_json(const std::vector<ModelSignature>& signatures) {
  const auto tensors = [](const std::vector<ModelSignature::Tensor>& list) {
    Json json = Json::array();
    for (const ModelSignature::Tensor& t : list) {
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
  for (const ModelSignature& s : signatures)
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

Json as_json(const Inspection& model, const Options& o, int opset) {
  const ir::Graph& graph = shown_interface(model, o);
  Json unsupported = Json::array();
  for (const Unsupported& u : unsupported_ops(model))
    unsupported.push_back(
        {{"op", u.op}, {"nodes", u.nodes}, {"lowest_opset", u.lowest_opset}, {"reason", u.reason}});
  return {{"inputs", to_json(graph, graph.inputs())},
          {"outputs", to_json(graph, graph.outputs())},
          {"nodes", model.nodes},
          {"ops", model.ops},
          {"opset", opset},
          {"unsupported", std::move(unsupported)}};
}

std::string as_text(const Console& console, const Inspection& model, const Options& o, int opset,
                    bool refused) {
  const ir::Graph& graph = shown_interface(model, o);
  std::string out = console.paint(Style::strong, "inputs") + "\n";
  for (const Value* v : graph.inputs()) out += "  " + interface_text(graph, v) + "\n";
  out += console.paint(Style::strong, "outputs") + "\n";
  for (const Value* v : graph.outputs()) out += "  " + interface_text(graph, v) + "\n";
  out +=
      console.paint(Style::strong, "ops") + ", " + counted(model.nodes, "node") + as_text(model.ops) + "\n";
  std::string missing;
  for (const Unsupported& u : unsupported_ops(model))
    missing += "  " + u.op + " (" + counted(u.nodes, "node") + "): " + u.reason + "\n";
  const std::string at_opset = " at opset " + std::to_string(opset);
  if (missing.empty() && refused) return out + "all ops are supported" + at_opset + ", but not the interface";
  if (missing.empty()) return out + console.paint(Style::good, "all ops are supported") + at_opset;
  missing.pop_back();
  return out + console.paint(Style::error, "unsupported") + at_opset + "\n" + missing;
}

int inform(const InfoArguments& a) {
  const Console console(a.common);
  if (a.options.model.empty()) fail(Code::bad_option, "no model is given", "tf2onnx-cpp info MODEL");
  Diagnostics diagnostics;
  const int opset = a.options.opset != 0 ? a.options.opset : onnx::kDefaultOpset;
  Inspection model;
  {
    const Progress progress(console, "reading " + a.options.model);
    model = inspect(a.options, diagnostics);
  }
  const GraphPtr& graph = model.source;
  Json json = {{"model", a.options.model}, {"signatures", as_json(model.signatures)}};
  if (!console.json()) std::cout << harmless(as_text(console, model.signatures));
  if (graph) {
    Diagnostics refusals;
    if (!a.options.complex_as_pairs) refuse_complex_interface(*graph, refusals);
    for (Diagnostic& d : refusals) d.severity = Severity::warning;  // it is told, not converted
    append(diagnostics, refusals);
    if (console.json())
      json.update(as_json(model, a.options, opset));
    else
      std::cout << harmless(as_text(console, model, a.options, opset, !refusals.empty())) << std::endl;
  } else {
    json["ops"] = model.file_ops;
    if (!console.json() && !model.file_ops.empty())
      std::cout << harmless(as_text(console, model.file_ops)) << std::endl;
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
