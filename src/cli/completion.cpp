#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/cli.h"
#include "cli/document.h"

namespace t2o::cli {

void add_completion(CLI::App& root, Session& session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      add_command(root, "completion", "Print a shell's completion script.",
                  "  source <(tf2onnx-cpp completion bash)\n"
                  "  tf2onnx-cpp completion zsh > ~/.zfunc/_tf2onnx-cpp\n"
                  "  tf2onnx-cpp completion fish > ~/.config/fish/completions/tf2onnx-cpp.fish");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&session, shell] {
    session.action = [&session, shell] {
      const CommandDoc program = describe(*session.root);
      std::cout << (*shell == "bash"  ? bash_completion(program)
                    : *shell == "zsh" ? zsh_completion(program)
                                      : fish_completion(program));
      return 0;
    };
  });
}

}  // namespace t2o::cli
