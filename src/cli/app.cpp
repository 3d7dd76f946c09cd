#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <optional>

#include "cli/cli.h"
#include "cli/console.h"
#include "cli/document.h"
#include "cli/json.h"
#include "exit_code.h"
#include "onnx/library_versions.h"
#include "onnx/opset_table.h"
#include "option_text.h"
#include "support/nearest.h"
#include "support/text.h"
#include "support/unfinished.h"
#include "version.h"

namespace t2o::cli {
namespace {

constexpr const char* kExamples =
    "  # a SavedModel directory, a frozen GraphDef (.pb, .pbtxt) or a checkpoint (.meta)\n"
    "  tf2onnx-cpp saved_model_dir -o model.onnx\n"
    "  tf2onnx-cpp model.tflite -o model.onnx\n"
    "  tf2onnx-cpp frozen.pb --inputs X:0[1,28,28,3] --outputs Y:0 --opset 18\n"
    "  # what is inside, and whether it converts\n"
    "  tf2onnx-cpp info saved_model_dir\n"
    "  # convert, then compare with TensorFlow itself\n"
    "  tf2onnx-cpp saved_model_dir -o model.onnx --verify\n"
    "  tf2onnx-cpp verify saved_model_dir model.onnx\n"
    "  # command lines of python -m tf2onnx.convert work as they are\n"
    "  tf2onnx-cpp --saved-model saved_model_dir --output model.onnx";

constexpr std::string_view kEndOfOptions = "--";  // what stands behind is a name, whatever it begins with

class Help : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(describe(*app), terminal_width(), wants_color("auto", STDOUT_FILENO));
  }
};

extern "C" void leave_nothing_behind(int signal) {
  stop_file_work();
  remove_unfinished();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// A file that is mapped has become shorter, or its disk does not give it.
extern "C" void tell_of_lost_file(int) {
  stop_file_work();
  remove_unfinished();
  constexpr std::string_view kLost =
      "error[bad-file]: a file of the model was cut short, or could not be read, while it was converted\n"
      "  help: convert it when no other program writes it, or convert a copy\n"
      "1 error; nothing was written\n";
  if (write(STDERR_FILENO, kLost.data(), kLost.size()) < 0) _exit(kBadInput);
  _exit(kBadInput);
}

// What is ignored stays so, as nohup wants it; what a sanitizer handles stays its own.
void handle(int signal, void (*handler)(int)) {
  struct sigaction present = {};
  if (sigaction(signal, nullptr, &present) == 0 && (present.sa_flags & SA_SIGINFO) == 0 &&
      present.sa_handler == SIG_DFL)
    std::signal(signal, handler);
}

void handle_signals() {
  std::signal(SIGBUS, tell_of_lost_file);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2,
                           SIGIO, SIGPWR, SIGSTKFLT, SIGXCPU, SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGSYS})
    handle(signal, leave_nothing_behind);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of the write, not a sudden death
  std::signal(SIGXFSZ, SIG_IGN);
}

const CLI::App* find_command(const CLI::App& root, const std::string& name) {
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

// tf2onnx spells some options with '_', some with '-'. 'convert' may be left out.
std::vector<std::string> arguments(int argc, char** argv, const CLI::App& root) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::string& word : words) {
    if (word == kEndOfOptions) break;
    if (!word.starts_with("--")) continue;
    std::replace(word.begin(),
                 word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size())), '_', '-');
  }
  if (!words.empty() && access(words.front().c_str(), F_OK) != 0) {  // as many programs have it
    if (words.front() == "version") words = {"--version"};
    if (words.front() == "help")
      std::rotate(words.begin(), words.begin() + 1, words.end()), words.back() = "--help";
  }
  const std::vector<std::string> own = {"-h", "--help", "--version"};
  if (words.empty() || contains(own, words.front())) return words;
  if (!find_command(root, words.front())) words.insert(words.begin(), "convert");
  return words;
}

// Before the options are understood: who asked for JSON has it, the others a line.
int refuse(const Diagnostic& d, bool json) {
  const int code = exit_code({d});
  if (json)
    std::cout << printed({{"diagnostics", to_json(Diagnostics{d})}, {"exit_code", code}}) << std::endl;
  else
    std::cerr << harmless(to_string(d)) << std::endl;
  return code;
}

Diagnostic usage_error(const std::string& message, const std::string& remedy) {
  return {Severity::error, Code::bad_option, message, remedy, {}};
}

std::string see_help(const CLI::App& command) {
  return "'" + describe(command).full_name() + " --help' lists what there is";
}

// As Python's argparse has it: the beginning of a name that no other option begins with.
void complete_abbreviations(const CLI::App& command, std::vector<std::string>& words) {
  const CommandDoc doc = describe(command);
  for (std::string& word : words) {
    if (word == kEndOfOptions) break;
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || command.get_option_no_throw(name)) continue;
    std::vector<std::string> candidates;  // a name of each option
    for (const OptionDoc& option : doc.options) {
      const auto known =
          std::ranges::find_if(option.names, [&](const std::string& n) { return n.starts_with(name); });
      if (known != option.names.end()) candidates.push_back(*known);
    }
    if (candidates.size() > 1)
      fail(Code::bad_option, "'" + name + "' is ambiguous: it may be " + joined(candidates),
           "write the whole name");
    if (candidates.size() == 1) word.replace(0, name.size(), candidates.front());
  }
}

// An option that does not exist, before its value is taken for something else.
std::vector<std::string> unknown_options(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> unknown;
  for (const std::string& word : words) {
    if (word == kEndOfOptions) break;
    if (word.starts_with("--") && !command.get_option_no_throw(word.substr(0, word.find('='))))
      unknown.push_back(word);
  }
  return unknown;
}

// Two names and no command before them: the first was meant for one, unless it is a file's.
std::optional<Diagnostic> unknown_command(const CLI::App& root, const std::string& word) {
  if (word.starts_with("-") || find_command(root, word) || access(word.c_str(), F_OK) == 0)
    return std::nullopt;
  std::vector<std::string> known;
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(command->get_name());
  const std::string alike = nearest(word, known);
  return usage_error("there is no command '" + word + "'",
                     (alike.empty() ? "" : "did you mean '" + alike + "'? ") + see_help(root));
}

Diagnostic unknown_argument(const CLI::App& command, const std::vector<std::string>& extras) {
  const auto mark = std::ranges::find(extras, kEndOfOptions);
  const auto option =
      std::find_if(extras.begin(), mark, [](const std::string& s) { return s.starts_with("-") && s != "-"; });
  if (option == mark)
    return usage_error(
        "'" + (mark == extras.begin() ? *(mark + 1) : extras.front()) + "' is one argument too many",
        see_help(command));
  std::vector<std::string> known;
  for (const OptionDoc& o : describe(command).options)
    for (const std::string& name : o.names) known.push_back(name);
  const std::string word = option->substr(0, option->find('='));
  const std::string alike = nearest(word, known);
  return usage_error("there is no option '" + word + "'",
                     (alike.empty() ? "" : "did you mean '" + alike + "'? ") + see_help(command));
}

void print_version() {
  std::cout << "tf2onnx-cpp " << kVersion << "\nonnx        " << onnx::onnx_version() << "\nprotobuf    "
            << onnx::protobuf_version() << "\nopset       " << onnx::kDefaultOpset << " by default, "
            << onnx::kLowestOpset << " to " << onnx::kHighestOpset << std::endl;
}

// Of an option that is given twice the last counts, as in Python's argparse; lists that gather are left
// alone.
void let_last_win(CLI::App& root) {
  for (CLI::App* command : root.get_subcommands([](CLI::App*) { return true; }))
    for (CLI::Option* option : command->get_options([](CLI::Option* o) { return o->nonpositional(); }))
      if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw && option->get_type_size() == 1)
        option->take_last();
}

void define(CLI::App& root, Session& session) {
  session.root = &root;
  root.name("tf2onnx-cpp");
  root.formatter(std::make_shared<Help>());
  root.set_help_flag("-h,--help", "Print this help.")->group("Options");
  root.footer(kExamples);
  add_convert(root, session);
  add_verify(root, session);
  add_info(root, session);
  add_ops(root, session);
  add_opsets(root, session);
  add_completion(root, session);
  add_man(root, session);
  let_last_win(root);
  root.require_subcommand(0, 1);  // a model may be called like a command: the first word decides
}

int act(CLI::App& root, Session& session, const std::string& first_word, bool version, bool json) {
  if (version) {
    print_version();
    return kDone;
  }
  const std::vector<CLI::App*> given = root.get_subcommands();
  if (given.empty()) {
    std::cerr << root.help();
    return kUsage;
  }
  const std::vector<std::string> extras = given.front()->remaining();
  if (given.front()->remaining_size() != 0)  // which does not count the '--'
    return refuse(unknown_command(root, first_word).value_or(unknown_argument(*given.front(), extras)), json);
  return session.action();
}

// What was printed has reached its reader, or the code says that it has not.
int printed(int code) {
  if (std::cout.flush()) return code;
  std::cerr << to_string({Severity::error, Code::output, "standard output cannot be written", "", {}})
            << std::endl;
  return code == kDone ? kNotConvertible : code;
}

}  // namespace

int run(int argc, char** argv) {
  handle_signals();
  CLI::App root("Converts TensorFlow and TensorFlow Lite models to ONNX.");
  Session session;
  bool version = false;
  define(root, session);
  root.add_flag("--version", version, "Print the versions of the program and of its built-in libraries.");
  const CLI::App* command = &root;
  bool json = false;
  try {
    std::vector<std::string> words = arguments(argc, argv, root);
    if (const CLI::App* found = words.empty() ? nullptr : find_command(root, words.front())) command = found;
    const auto options_end = std::ranges::find(words, kEndOfOptions);
    const auto asks_for_json = [&] { return std::find(words.begin(), options_end, "--json") != options_end; };
    json = asks_for_json();
    if (command != &root) complete_abbreviations(*command, words);
    json = asks_for_json();
    if (options_end != words.end() && options_end + 1 == words.end()) words.pop_back();  // ends nothing
    if (const auto unknown = unknown_options(*command, words); command != &root && !unknown.empty())
      return refuse(unknown_argument(*command, unknown), json);
    std::ranges::reverse(words);
    root.parse(std::move(words));
    return printed(act(root, session, argc > 1 ? argv[1] : "", version, json));
  } catch (const CLI::CallForHelp& help) {
    return printed(root.exit(help));
  } catch (const CLI::ParseError& e) {
    return refuse(usage_error(e.what(), see_help(*command)), json);
  } catch (const ConversionError& e) {
    return refuse(e.diagnostic(), json);
  } catch (const std::exception& e) {
    std::cerr << to_string({Severity::error, Code::internal, e.what(), "", {}}) << std::endl;
    return kNotConvertible;
  }
}

}  // namespace t2o::cli
