#pragma once
#include <functional>
#include <string>

#include "tf2onnx/options.h"

namespace CLI {
class App;
}

// The command line tool. run() makes of the arguments an action, and that gives the exit code.
namespace t2o::cli {

int run(int argc, char** argv);

struct Common {  // what every command understands
  bool quiet = false;
  int verbose = 0;
  bool debug = false;
  bool json = false;
  std::string color = "auto";
};

struct Session {
  std::function<int()> action;  // set by the command that was given
  CLI::App* root = nullptr;     // for what is made from the definitions themselves: man page, completion
};

// Each adds its command to the root, and sets session.action when it was given.
void add_convert(CLI::App& root, Session&);
void add_verify(CLI::App& root, Session&);
void add_info(CLI::App& root, Session&);
void add_ops(CLI::App& root, Session&);
void add_opsets(CLI::App& root, Session&);
void add_completion(CLI::App& root, Session&);
void add_man(CLI::App& root, Session&);

// Arguments that several commands share.
CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& summary,
                      const std::string& examples);
// For what could be meant to add up: the last one alone is not what was asked for.
std::function<void(const std::string&)> only_one(std::string what);
void add_common_options(CLI::App& command, Common&, bool with_json = true);
void add_model_options(CLI::App& command,
                       tf2onnx::Options&);  // MODEL, --saved-model, --signature, --inputs ...
void add_conversion_options(CLI::App& command,
                            tf2onnx::Options&);  // --opset, --external-data, --dump-after ...
void add_reference_options(CLI::App& command, tf2onnx::Options&, const std::string& group);  // --reference-kernels

}  // namespace t2o::cli
