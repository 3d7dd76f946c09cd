#pragma once
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

// The definition of the command line, as data: help, man page, Markdown and shell completion are all made of
// it.
namespace t2o::cli {

struct OptionDoc {
  std::vector<std::string> names;  // "-o", "--output"; one name without dashes for a positional argument
  std::string value;               // "FILE"; empty for a switch
  std::string help;
  std::string group;
  std::vector<std::string> choices = {};  // of its values; empty: anything
  bool positional = false;
};

struct CommandDoc {
  std::string name;  // "convert"; empty for the program
  std::string summary;
  std::string examples;  // lines; those that begin with '#' explain the next
  std::vector<OptionDoc> options;
  std::vector<CommandDoc> commands;

  std::string full_name() const { return name.empty() ? "tf2onnx-cpp" : "tf2onnx-cpp " + name; }
  std::string usage() const;
  std::vector<std::string> groups() const;  // of the options that are not positional, in order
};

CommandDoc describe(const CLI::App&);

std::string help_text(const CommandDoc&, std::size_t width, bool color);
std::string man_page(const CommandDoc& program);
std::string markdown(const CommandDoc& program);
std::string bash_completion(const CommandDoc& program);
std::string zsh_completion(const CommandDoc& program);
std::string fish_completion(const CommandDoc& program);

// What the exit codes mean, for help and man page.
const std::vector<std::pair<int, std::string>>& exit_code_meanings();

}  // namespace t2o::cli
