#include <CLI/CLI.hpp>

#include "cli/cli.h"
#include "diagnostics.h"
#include "option_text.h"

namespace t2o::cli {
namespace {

using tf2onnx::Format;
using tf2onnx::Options;

// "--name" alone means --name=always; unlike an option with an optional value it never takes the next
// argument.
CLI::Option* add_flag_with_value(CLI::App& command, const std::string& name, const std::string& help,
                                 const std::function<void(const std::string&)>& set) {
  const auto value = std::make_shared<std::string>();
  return command.add_flag(name + "{always}", *value, help)->each([value, set](const std::string& v) {
    set(v);
  });
}

// Checks nothing, the row does; CLI11 keeps the words beside the option, as for a check of its own.
CLI::Validator told(std::string choices) {
  return CLI::Validator([](std::string&) { return std::string(); }, std::move(choices));
}

void add_rows(CLI::App& command, Options& options, OptionGroup group, const std::string& title) {
  for (const OptionRow& row : option_rows()) {
    if (row.group != group) continue;
    std::string names = "--" + std::string(row.name);
    if (row.name == "signature") names += ",--signature-def";
    const std::string help(row.help);
    const auto set = [&options, &row](const std::string& value) { row.set(options, value); };
    CLI::Option* option = nullptr;
    if (row.value.empty())
      option = command.add_flag_callback(
          names, [set] { set("true"); }, help);
    else if (row.value.front() == '[')
      option = add_flag_with_value(command, names, help, set);
    else
      option = command.add_option_function<std::string>(names, set, help)->take_last();
    if (row.name == "signature") option->each(only_one("signatures"));
    option->group(title)->type_name(std::string(row.value));
    if (!row.choices.empty()) option->check(told("{" + std::string(row.choices) + "}"));
  }
}

void set_model(Options& options, const std::string& path, Format format) {
  if (!options.model.empty() && options.model != path)
    fail(Code::bad_option, "two models are given: '" + options.model + "' and '" + path + "'", "give one");
  options.model = path;
  if (format != Format::detect) options.format = format;
}

}  // namespace

std::function<void(const std::string&)> only_one(std::string what) {
  return [what = std::move(what), given = std::make_shared<std::string>()](const std::string& value) {
    if (!given->empty() && *given != value)
      fail(Code::bad_option, "two " + what + " are given: '" + *given + "' and '" + value + "'", "give one");
    *given = value;
  };
}

CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& summary,
                      const std::string& examples) {
  CLI::App* command = root.add_subcommand(name, summary);
  command->footer(examples);
  command->allow_extras();
  command->get_help_ptr()->group("Output");
  return command;
}

void add_common_options(CLI::App& command, Common& common, bool with_json) {
  const std::string group = "Output";
  if (with_json)
    command.add_flag("--json", common.json, "Print one JSON object to standard output and nothing else.")
        ->group(group);
  command.add_flag("-q,--quiet", common.quiet, "Print errors only.")->group(group);
  command.add_flag("-v,--verbose", common.verbose, "Print notes as well.")->group(group);
  command
      .add_flag("--debug", common.debug,
                "Print notes, and for each message the place in this program's source that raised it.")
      ->group(group);
  command
      .add_option("--color", common.color, "auto (on a terminal, unless NO_COLOR is set), always or never.")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(group)
      ->type_name("WHEN");
}

void add_model_options(CLI::App& command, Options& options) {
  const std::string group = "The model";
  const auto add = [&command, &options](const std::string& names, Format format, const std::string& help) {
    return command.add_option_function<std::string>(
        names, [&options, format](const std::string& path) { set_model(options, path, format); }, help);
  };
  add("MODEL", Format::detect,
      "A SavedModel directory, a GraphDef (.pb, .pbtxt), a MetaGraph with its checkpoint (.meta) or a "
      "TensorFlow Lite model (.tflite).");
  add("--saved-model", Format::saved_model, "MODEL is a SavedModel.")->group(group)->type_name("DIR");
  add("--graphdef,--input", Format::graph_def, "MODEL is a GraphDef.")->group(group)->type_name("FILE");
  add("--checkpoint", Format::meta_graph, "MODEL is a MetaGraph with its checkpoint.")
      ->group(group)
      ->type_name("FILE");
  add("--tflite", Format::tflite, "MODEL is a TensorFlow Lite model.")->group(group)->type_name("FILE");
  add_rows(command, options, OptionGroup::model, group);
  add_rows(command, options, OptionGroup::interface, "Inputs and outputs");
}

void add_reference_options(CLI::App& command, Options& options, const std::string& group) {
  add_rows(command, options, OptionGroup::verification, group);
}

void add_conversion_options(CLI::App& command, Options& options) {
  add_rows(command, options, OptionGroup::target, "The ONNX model");
  add_rows(command, options, OptionGroup::output, "The ONNX model");
  add_rows(command, options, OptionGroup::debug, "Looking inside");
  add_rows(command, options, OptionGroup::hidden, "");  // CLI11 lists no group without a name
}

}  // namespace t2o::cli
