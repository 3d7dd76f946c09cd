#include <algorithm>

#include "cli/document.h"
#include "support/text.h"

namespace t2o::cli {
namespace {

std::string option_words(const CommandDoc& doc) {
  std::string words;
  for (const OptionDoc& option : doc.options)
    if (!option.positional)
      for (const std::string& name : option.names) words.append(words.empty() ? "" : " ").append(name);
  return words;
}

std::string command_words(const CommandDoc& program) {
  std::string words;
  for (const CommandDoc& command : program.commands)
    words.append(words.empty() ? "" : " ").append(command.name);
  return words;
}

const CommandDoc& convert_of(const CommandDoc& program) {
  return *std::ranges::find_if(program.commands, [](const CommandDoc& c) { return c.name == "convert"; });
}

std::string quoted(const std::string& text, const std::string& also_escaped = "") {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (also_escaped.find(c) != std::string::npos)
      out.append("\\").append(1, c);
    else
      out += c;
  }
  return out + "'";
}

bool needs_value(const OptionDoc& option) { return !option.value.empty() && option.value.front() != '['; }

// The values of each option that has a choice of them; one that needs none takes it behind a '=' alone.
std::string bash_values(const CommandDoc& program) {
  std::string out = "  case $option in\n";
  std::vector<std::string> seen;
  for (const CommandDoc& command : program.commands)
    for (const OptionDoc& option : command.options) {
      if (option.positional || option.choices.empty()) continue;
      const std::string& name = option.names.back();
      if (contains(seen, name)) continue;
      seen.push_back(name);
      const std::string set = "values=" + quoted(joined(option.choices, " "));
      out += "    " + name + ") " + (needs_value(option) ? set : "((joined)) && " + set) + " ;;\n";
    }
  return out + "  esac\n";
}

}  // namespace

std::string bash_completion(const CommandDoc& program) {
  std::string out =
      "# bash completion of tf2onnx-cpp\n"
      "_tf2onnx_cpp() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} joined=0 words values=\n"
      "  if [[ $current == = ]]; then\n    current= joined=1\n"
      "  elif [[ $option == = ]]; then\n    option=${COMP_WORDS[COMP_CWORD-2]} joined=1\n  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const CommandDoc& command : program.commands)
    out += "    " + command.name + ") words=" + quoted(option_words(command)) + " ;;\n";
  out += "    *) words=" + quoted(option_words(convert_of(program))) + " ;;\n  esac\n";
  out += bash_values(program) + "  COMPREPLY=()\n";
  out +=
      "  if [[ -n $values ]]; then\n    mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\")\n"
      "  elif [[ $current == -* ]]; then\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
      "\"$current\")\n";
  out += "  elif ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W " +
         quoted(command_words(program)) + " -- \"$current\")\n";
  out += "  elif ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == completion ]]; then\n";
  out += "    mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- \"$current\")\n  fi\n";
  return out + "}\ncomplete -o default -F _tf2onnx_cpp tf2onnx-cpp\n";
}

std::string zsh_completion(const CommandDoc& program) {
  const auto arguments = [](const CommandDoc& doc) {
    std::string out = "_arguments";
    for (const OptionDoc& option : doc.options) {
      if (option.positional) continue;
      for (const std::string& name : option.names) {
        const bool has_choices = !option.choices.empty(), needed = needs_value(option);
        const char* joint = !has_choices ? "" : needed ? "=" : "=-";
        out += " \\\n        " + quoted(name + joint + "[" + option.help + "]", "");
        const std::string values = has_choices ? "(" + joined(option.choices, " ") + ")" : "_files";
        if (needed || has_choices)
          out.insert(out.size() - 1, (needed ? ":" : "::") + option.value + ":" + values);
      }
    }
    return out + " \\\n        '*:file:_files'";
  };
  std::string out = "#compdef tf2onnx-cpp\n\n_tf2onnx_cpp() {\n  local -a commands=(\n";
  for (const CommandDoc& command : program.commands)
    out += "    " + quoted(command.name + ":" + command.summary) + "\n";
  out += "  )\n  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n";
  out += "    _describe command commands\n    _files\n    return\n  fi\n  case $words[2] in\n";
  for (const CommandDoc& command : program.commands) {
    if (command.name == "convert") continue;
    out += "    " + command.name + ")\n      " + arguments(command) + " ;;\n";
  }
  return out + "    *)\n      " + arguments(convert_of(program)) + " ;;\n  esac\n}\n\n_tf2onnx_cpp \"$@\"\n";
}

std::string fish_completion(const CommandDoc& program) {
  std::string out = "# fish completion of tf2onnx-cpp\n";
  std::string others;
  for (const CommandDoc& command : program.commands) {
    out += "complete -c tf2onnx-cpp -n __fish_use_subcommand -a " + command.name + " -d " +
           quoted(command.summary) + "\n";
    if (command.name != "convert") others += " " + command.name;
  }
  for (const CommandDoc& command : program.commands) {
    const std::string condition = command.name == "convert" ? "not __fish_seen_subcommand_from" + others
                                                            : "__fish_seen_subcommand_from " + command.name;
    for (const OptionDoc& option : command.options) {
      if (option.positional) continue;
      out += "complete -c tf2onnx-cpp -n " + quoted(condition);
      for (const std::string& name : option.names)
        out += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (needs_value(option)) out += option.choices.empty() ? " -r" : " -x";
      if (!option.choices.empty()) out += " -a " + quoted(joined(option.choices, " "));
      out += " -d " + quoted(option.help) + "\n";
    }
  }
  return out;
}

}  // namespace t2o::cli
