#include "cli/convert.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/console.h"
#include "cli/json.h"
#include "cli/report_text.h"
#include "exit_code.h"
#include "onnx/writer.h"
#include "pipeline.h"
#include "signatures.h"

namespace t2o::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples =
    "  tf2onnx-cpp saved_model_dir -o model.onnx\n"
    "  tf2onnx-cpp model.tflite -o model.onnx --verify\n"
    "  tf2onnx-cpp frozen.pb --inputs X:0[1,28,28,3] --outputs Y:0 --opset 18 -o model.onnx\n"
    "  tf2onnx-cpp saved_model_dir --signature predict --rename-inputs image --verify\n"
    "  tf2onnx-cpp saved_model_dir --signature encode,decode -o model.onnx\n"
    "  tf2onnx-cpp train_dir/model.meta --outputs logits --external-data";

struct Outcome {
  Diagnostics diagnostics;
  Conversion conversion;
  onnx::Written written;
  double seconds = 0;
  bool ok() const { return !has_errors(diagnostics); }
};

// "models/resnet/" gives "resnet.onnx" in the current directory.
std::string default_output(const std::string& model) {
  fs::path path = fs::absolute(model).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const fs::path name = fs::is_directory(path) ? path.filename() : path.stem();
  return (name.empty() ? "model" : name.string()) + ".onnx";
}

// Also where a link leads there.
bool is_one_of_files(const fs::path& folder, const std::string& prefix, const std::string& file) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with(prefix) && fs::equivalent(entry.path(), file, none))
      return true;
  return false;
}

// Whether the file is there and the model is made of it.
bool is_part_of(const std::string& model, const std::string& file) {
  std::error_code none;
  if (!fs::exists(file, none)) return false;
  if (fs::equivalent(model, file, none)) return true;
  const fs::path path = fs::weakly_canonical(file, none), folder = fs::weakly_canonical(model, none);
  const std::string name = path.filename().string();
  if (fs::is_directory(folder, none)) {
    if (is_one_of_files(folder, "saved_model.pb", file) || is_one_of_files(folder / "variables", "", file))
      return true;
    const fs::path inside = path.lexically_relative(folder);
    const std::string first = inside.empty() ? "" : inside.begin()->string();
    return name.starts_with("saved_model.pb") ? path.parent_path() == folder
                                              : first == "variables" || first == "assets";
  }
  const bool is_checkpoint =
      name.ends_with(".index") || name.ends_with(".meta") || name.find(".data-") != std::string::npos;
  if (folder.extension() == ".meta" &&
      is_one_of_files(folder.parent_path(), folder.stem().string() + ".", file))
    return true;
  return is_checkpoint && path.parent_path() == folder.parent_path() &&
         name.starts_with(folder.stem().string());
}

// What was asked for and is not there, and what is there and was not asked for.
void tell_of_data_file(const ConvertArguments& a, const std::string& data, Outcome& outcome) {
  if (outcome.written.data.bytes != 0) return;
  const auto tell = [&](std::string message, std::string remedy) {
    outcome.diagnostics.push_back(
        {Severity::warning, Code::output, std::move(message), std::move(remedy), {}});
  };
  const bool is_several = outcome.conversion.is_several;
  if (a.options.external_data == tf2onnx::ExternalData::always)
    tell("'" + data + "' was not written: no weight has " + std::to_string(onnx::kSmallTensor) +
             " bytes, and smaller ones stay in the model",
         "");
  std::error_code none;
  if (fs::is_regular_file(data, none))
    tell("'" + data + "' exists already; " + (is_several ? "these models do" : "'" + a.output + "' does") +
             " not need it",
         "delete it if nothing else needs it");
}

void check_not_the_model(const ConvertArguments& a, const std::string& written,
                         const std::string& option = "--output") {
  if (is_part_of(a.options.model, written))
    fail(Code::bad_option, "'" + written + "' is part of the model itself, which would be lost",
         "give " + option + " another name");
}

void check_not_the_model(const ConvertArguments& a, const OutputFiles& files) {
  for (const std::string& path : files.models) check_not_the_model(a, path);
  if (a.options.external_data != tf2onnx::ExternalData::never) check_not_the_model(a, files.data);
}

Outcome convert_and_write(const ConvertArguments& a, const Console& console) {
  const Stopwatch time;
  Outcome outcome;
  Progress progress(console, "converting " + a.options.model);
  outcome.conversion = convert(a.options, &progress.meter());
  outcome.diagnostics = outcome.conversion.diagnostics;
  collect(outcome.diagnostics, [&] {
    if (!outcome.ok() || !outcome.conversion.ok()) return;
    const OutputFiles files = output_files(outcome.conversion, a.output);
    if (outcome.conversion.is_several) check_not_the_model(a, files);
    progress.now("writing " + a.output);
    const Diagnostics trouble =
        write_model(outcome.conversion, a.options, a.output, &outcome.written, &progress.meter());
    append(outcome.diagnostics, trouble);
    if (outcome.ok()) tell_of_data_file(a, files.data, outcome);
  });
  outcome.seconds = time.seconds();
  return outcome;
}

std::uint64_t total_bytes(const onnx::Written& written) {
  std::uint64_t bytes = written.data.bytes;
  for (const onnx::WrittenFile& f : written.models) bytes += f.bytes;
  return bytes;
}

void summarize(const Console& console, const Outcome& outcome) {
  const Conversion& c = outcome.conversion;
  const onnx::Written& written = outcome.written;
  const std::string opset = ", opset " + std::to_string(c.target.opset) + ", ";
  for (std::size_t i = 0; i < c.model.graphs.size(); ++i) {
    const ir::Graph& g = *c.model.graphs[i].graph;
    if (console.verbose()) {
      for (const Value* v : g.inputs()) console.say("input   " + interface_text(g, v));
      for (const Value* v : g.outputs()) console.say("output  " + interface_text(g, v));
    }
    const std::string line =
        console.paint(Style::good, written.models[i].path) + ": " + counted(g.node_count(), "node") + opset;
    if (c.is_several)
      console.say(line + human_size(written.models[i].bytes));
    else
      console.say(line + human_size(total_bytes(written)) +
                  (written.data.bytes != 0 ? " with " + written.data.path : "") + ", " +
                  human_time(outcome.seconds));
  }
  if (!c.is_several) return;
  if (written.data.bytes != 0)
    console.say(console.paint(Style::good, written.data.path) + ": " + human_size(written.data.bytes) +
                " of weights that they share");
  console.say(counted(c.model.graphs.size(), "model") + ", " + human_time(outcome.seconds));
}

Json as_json(const onnx::WrittenFile& file, const ir::Graph& g) {
  return {{"output", file.path},
          {"bytes", file.bytes},
          {"nodes", g.node_count()},
          {"inputs", to_json(g, g.inputs())},
          {"outputs", to_json(g, g.outputs())}};
}

Json as_json(const ConvertArguments& a, const Outcome& outcome) {
  const Conversion& c = outcome.conversion;
  Json json = {{"model", a.options.model}};
  if (c.is_several) json["models"] = Json::array();
  if (outcome.ok()) {
    for (std::size_t i = 0; i < c.model.graphs.size(); ++i) {
      const ir::ModelGraph& g = c.model.graphs[i];
      const Json entry = as_json(outcome.written.models[i], *g.graph);
      if (!c.is_several) {
        json.update(entry);
        continue;
      }
      json["models"].push_back({{"signature", g.name}});
      json["models"].back().update(entry);
    }
    if (c.is_several && outcome.written.data.bytes != 0) json["data"] = outcome.written.data.path;
    if (outcome.written.data.bytes != 0) json["data_bytes"] = outcome.written.data.bytes;
    json["opset"] = c.target.opset;
    json["ir_version"] = c.target.ir_version;
  }
  json["seconds"] = outcome.seconds;
  json["diagnostics"] = to_json(outcome.diagnostics);
  return json;
}

void tell_report(const Conversion& c, std::size_t graph, Json& json) {
  const GraphReport report = report_on(*c.model.graphs[graph].graph, c.target, c.runtime_uses.at(graph));
  std::cout.flush();
  std::cerr << harmless(report_text(report)) << std::flush;
  json["report"] = to_json(report);
}

// What would change nothing.
void refuse_verification_options(const CLI::App& command) {
  for (const CLI::Option* o : command.get_options())
    if (o->get_group() == kVerification && o->count() > 0)
      fail(Code::bad_option, o->get_name() + " has an effect only with --verify", "add --verify");
}

constexpr std::string_view kStandardOutput = "-";

// The model is the only thing that goes there.
void check_standard_output(const ConvertArguments& a) {
  const auto refuse = [](const std::string& why) {
    fail(Code::bad_option, "-o - writes the model to standard output, " + why,
         "give --output the name of a file");
  };
  if (a.common.json) refuse("and --json needs that for itself");
  if (a.verify) refuse("and --verify cannot read it there");
  if (a.options.external_data == tf2onnx::ExternalData::always)
    refuse("and a file with its weights cannot stand beside standard output");
  if (isatty(STDOUT_FILENO) != 0) refuse("and that is a terminal");
}

void check_frozen_graph(const ConvertArguments& a) {
  const std::string& file = a.options.output_frozen_graph;
  if (file.empty()) return;
  const auto is = [&](const std::string& other) {
    return fs::absolute(file).lexically_normal() == fs::absolute(other).lexically_normal();
  };
  if (is(a.output) || is(a.output + ".data"))
    fail(Code::bad_option, "--output-frozen-graph and --output name the same file, '" + file + "'",
         "give --output-frozen-graph another name");
  check_not_the_model(a, file, "--output-frozen-graph");
}

// Reports on each model and verifies it, in the entry of the JSON that is its own.
int report_and_verify(ConvertArguments& a, const Console& console, Outcome& outcome, Json& json) {
  Conversion& c = outcome.conversion;
  int code = 0;
  if (a.verify) c.source_graph.reset();
  for (std::size_t i = 0; i < c.model.graphs.size(); ++i) {
    ir::ModelGraph& g = c.model.graphs[i];
    Json& entry = c.is_several ? json["models"][i] : json;
    if (a.report) tell_report(c, i, entry);
    if (!a.verify) continue;
    g = {.name = g.name};  // its memory is the engines' now
    a.verification.source = a.options;
    if (c.is_several) a.verification.source.signature = g.name;
    a.verification.onnx = outcome.written.models[i].path;
    code = std::max(code, run_verification(a.verification, console, entry["verification"]));
  }
  return code;
}

int run_convert(const CLI::App& command, ConvertArguments& a) {
  const bool to_stdout = a.output == kStandardOutput;
  const Console console(a.common, to_stdout);
  if (!a.refused.empty()) {
    console.report(a.refused);
    if (console.json())
      std::cout << printed({{"diagnostics", to_json(a.refused)}, {"exit_code", exit_code(a.refused)}})
                << std::endl;
    return exit_code(a.refused);
  }
  if (a.options.model.empty()) fail(Code::bad_option, "no model is given", "tf2onnx-cpp MODEL -o out.onnx");
  if (!a.verify) refuse_verification_options(command);
  for (const std::string& hint : a.hints) console.hint(hint);
  if (a.output.empty() && command.count("--output") > 0)
    fail(Code::bad_option, "--output is empty", "give it the name of a file");
  if (to_stdout) check_standard_output(a);
  const bool is_named = !a.output.empty();
  if (!is_named) a.output = default_output(a.options.model);
  check_not_the_model(a, {{a.output}, a.output + ".data"});
  check_frozen_graph(a);
  if (a.verify && !may_name_several(a.options)) verify::check_possible(a.options);
  // Not owned: the process ends before long, and taking a big graph apart takes as long as mapping it.
  Outcome& outcome = *std::make_unique<Outcome>(convert_and_write(a, console)).release();
  console.report(outcome.diagnostics);
  Json json = as_json(a, outcome);
  int code = exit_code(outcome.diagnostics);
  if (outcome.ok()) {
    if (!is_named && !outcome.conversion.is_several)
      console.hint("no --output was given: '" + a.output + "' was written");
    summarize(console, outcome);
    code = std::max(code, report_and_verify(a, console, outcome, json));
  }
  if (console.json()) {
    json["exit_code"] = code;
    std::cout << printed(json) << std::endl;
  }
  return code;
}

}  // namespace

void add_convert(CLI::App& root, Session& session) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App* command =
      add_command(root, "convert", "Convert a model. 'convert' itself may be left out.", kExamples);
  add_model_options(*command, a->options);
  add_conversion_options(*command, a->options);
  command
      ->add_option("-o,--output", a->output,
                   "The file to write. The default is MODEL's name with .onnx, in this directory. '-' is "
                   "standard output. Several signatures give OUT.NAME.onnx each, or have their name in the "
                   "place of {signature}; the weights that they share go to one file, OUT.onnx.data.")
      ->type_name("FILE")
      ->group("Output")
      ->each(only_one("output files"));
  command
      ->add_flag(
          "--report", a->report,
          "Print a report on the graph to stderr: its operators, its weights, why each Transpose stays, "
          "and what was done for the target runtime. With --json the report is part of the JSON "
          "object.")
      ->group("Looking inside");
  add_common_options(*command, a->common);
  command
      ->add_flag("--verify", a->verify,
                 "After the conversion, run both models and compare them, as 'verify' does.")
      ->group(kVerification);
  add_verification_options(*command, a->verification, a->options);
  add_tf2onnx_options(*command, *a);
  command->callback(
      [&session, a, command] { session.action = [a, command] { return run_convert(*command, *a); }; });
}

}  // namespace t2o::cli
