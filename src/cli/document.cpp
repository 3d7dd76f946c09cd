#include "cli/document.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "support/text.h"

namespace t2o::cli {
namespace {

// "{auto,never}" and "INT in [11 - 28]" are CLI11's words for its checks.
std::vector<std::string> choices_of(const std::string& words) {
  constexpr int kMostNumbers = 32;
  std::vector<std::string> numbers;
  if (int low = 0, high = 0; std::sscanf(words.c_str(), "INT in [%d - %d]", &low, &high) == 2)
    for (int i = low; i <= high && high - low < kMostNumbers; ++i) numbers.push_back(std::to_string(i));
  if (!numbers.empty()) return numbers;
  if (!words.starts_with('{') || !words.ends_with('}')) return {};
  return CLI::detail::split(words.substr(1, words.size() - 2), ',');
}

OptionDoc describe(const CLI::Option& option) {
  OptionDoc doc;
  doc.positional = !option.nonpositional();
  if (doc.positional) doc.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) doc.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) doc.names.push_back("--" + name);
  if (!doc.positional) doc.value = option.get_type_name();
  const std::size_t colon = doc.value.find(':');  // CLI11 adds the check's own words: "WHEN:{auto,never}"
  if (colon != std::string::npos) doc.choices = choices_of(doc.value.substr(colon + 1));
  doc.value = doc.value.substr(0, colon);
  doc.help = option.get_description();
  doc.group = option.get_group();
  return doc;
}

std::string spelling(const OptionDoc& option) {
  const std::string names = joined(option.names);
  if (option.value.empty()) return names;
  return option.value.front() == '[' ? names + "[=" + option.value.substr(1) : names + " " + option.value;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    if (column > indent && column + 1 + length > width) {
      out.append("\n").append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out.append(text, begin, length);
    column += length;
    begin = end + 1;
  }
  return out;
}

std::string indented(std::string lines) {
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3)
    lines.insert(at + 1, "  ");
  return lines;
}

constexpr std::size_t kColumn = 30;

std::string row(const std::string& left, const std::string& right, std::size_t width) {
  std::string line = "  " + left;
  if (line.size() + 2 > kColumn)
    line.append("\n").append(kColumn, ' ');
  else
    line.append(kColumn - line.size(), ' ');
  return line + wrapped(right, kColumn, width) + "\n";
}

}  // namespace

CommandDoc describe(const CLI::App& app) {
  CommandDoc doc;
  doc.name = app.get_parent() ? app.get_name() : "";
  doc.summary = app.get_description();
  doc.examples = app.get_footer();
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty() && option != app.get_help_ptr())
      doc.options.push_back(describe(*option));
  doc.options.push_back(describe(*app.get_help_ptr()));
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    doc.commands.push_back(describe(*command));
  return doc;
}

std::string CommandDoc::usage() const {
  if (name.empty()) return "tf2onnx-cpp MODEL [-o FILE] [OPTION]...\ntf2onnx-cpp COMMAND [ARGUMENT]...";
  std::string text = full_name();
  for (const OptionDoc& option : options)
    if (option.positional) text += " " + option.names.front();
  return text + " [OPTION]...";
}

std::vector<std::string> CommandDoc::groups() const {
  std::vector<std::string> names;
  for (const OptionDoc& option : options)
    if (!option.positional && !contains(names, option.group)) names.push_back(option.group);
  return names;
}

std::string help_text(const CommandDoc& doc, std::size_t width, bool color) {
  const auto title = [color](const std::string& text) {
    return "\n" + (color ? "\033[1m" + text + "\033[0m" : text) + "\n";
  };
  std::string out = doc.summary + "\n";
  out += title("Usage:") + "  " + indented(doc.usage()) + "\n";
  if (!doc.examples.empty()) out += title("Examples:") + doc.examples + "\n";
  if (!doc.commands.empty()) out += title("Commands:");
  for (const CommandDoc& command : doc.commands) out += row(command.name, command.summary, width);
  if (std::ranges::any_of(doc.options, [](const OptionDoc& o) { return o.positional; }))
    out += title("Arguments:");
  for (const OptionDoc& option : doc.options)
    if (option.positional) out += row(option.names.front(), option.help, width);
  for (const std::string& group : doc.groups()) {
    out += title(group + ":");
    for (const OptionDoc& option : doc.options)
      if (!option.positional && option.group == group) out += row(spelling(option), option.help, width);
  }
  if (doc.name.empty()) {
    out += title("Exit codes:");
    for (const auto& [code, meaning] : exit_code_meanings()) out += row(std::to_string(code), meaning, width);
    out += "\n'tf2onnx-cpp COMMAND --help' lists the options of a command. 'convert' may be left out.\n";
  }
  return out;
}

namespace {

std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    if (c == '\n' || !out.empty()) {
      out += c;
    } else {
      out += c == '.' || c == '\'' ? "\\&" : "";
      out += c;
    }
  }
  return out;
}

std::string man_options(const CommandDoc& doc, const std::string& heading) {
  std::string out;
  for (const OptionDoc& option : doc.options)
    if (option.positional) out += ".TP\n.I " + roff(option.names.front()) + "\n" + roff(option.help) + "\n";
  for (const std::string& group : doc.groups()) {
    out += heading + " " + group + "\n";
    for (const OptionDoc& option : doc.options)
      if (!option.positional && option.group == group)
        out += ".TP\n.B " + roff(spelling(option)) + "\n" + roff(option.help) + "\n";
  }
  return out;
}

std::string man_examples(const CommandDoc& doc) {
  return doc.examples.empty() ? "" : ".PP\n.nf\n" + roff(doc.examples) + "\n.fi\n";
}

}  // namespace

std::string man_page(const CommandDoc& program) {
  std::string out = ".TH TF2ONNX\\-CPP 1\n.SH NAME\ntf2onnx\\-cpp \\- " + roff(program.summary) + "\n";
  out += ".SH SYNOPSIS\n.nf\n" + roff(program.usage()) + "\n.fi\n";
  out += ".SH EXAMPLES\n" + man_examples(program);
  out += ".SH OPTIONS\n" + man_options(program, ".SS");
  out += ".SH COMMANDS\n";
  for (const CommandDoc& command : program.commands) {
    out += ".SS " + roff(command.usage()) + "\n" + roff(command.summary) + "\n" + man_examples(command);
    out += man_options(command, ".PP\n.I");
  }
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_code_meanings())
    out += ".TP\n.B " + std::to_string(code) + "\n" + roff(meaning) + "\n";
  return out;
}

std::string markdown(const CommandDoc& program) {
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  const auto section = [&cell](const CommandDoc& doc) {
    std::string out = "\n" + doc.summary + "\n";
    if (!doc.examples.empty()) out += "\n```\n" + doc.examples + "\n```\n";
    for (const OptionDoc& option : doc.options)
      if (option.positional) out += "\n`" + option.names.front() + "`: " + option.help + "\n";
    for (const std::string& group : doc.groups()) {
      out += "\n| " + group + " | |\n|---|---|\n";
      for (const OptionDoc& option : doc.options)
        if (!option.positional && option.group == group)
          out += "| `" + cell(spelling(option)) + "` | " + cell(option.help) + " |\n";
    }
    return out;
  };
  std::string out =
      "# The command line\n\n<!-- Generated by `tf2onnx-cpp man --markdown`. -->\n" + section(program);
  for (const CommandDoc& command : program.commands) out += "\n## " + command.name + "\n" + section(command);
  out += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const auto& [code, meaning] : exit_code_meanings())
    out += "| " + std::to_string(code) + " | " + meaning + " |\n";
  return out;
}

const std::vector<std::pair<int, std::string>>& exit_code_meanings() {
  static const std::vector<std::pair<int, std::string>> meanings = {
      {0, "Done."},
      {1, "The model cannot be converted, or the result cannot be written. No file is left."},
      {2,
       "The command line names something that does not exist, or gives the model a value that it does not "
       "accept."},
      {3,
       "The results of the ONNX model differ from those of the source model, or ONNX Runtime does not "
       "run it."},
      {4, "The input cannot be read, or is corrupt."},
      {5, "An engine that verification needs is missing, or has no code for an operator of the model."}};
  return meanings;
}

}  // namespace t2o::cli
