#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/cli.h"
#include "cli/document.h"

namespace t2o::cli {

void add_man(CLI::App& root, Session& session) {
  auto as_markdown = std::make_shared<bool>(false);
  CLI::App* command = add_command(root, "man", "Print the manual page.",
                                  "  tf2onnx-cpp man | man -l -\n"
                                  "  tf2onnx-cpp man > /usr/local/share/man/man1/tf2onnx-cpp.1");
  command->add_flag("--markdown", *as_markdown, "Print it as Markdown: docs/cli.md.");
  command->callback([&session, as_markdown] {
    session.action = [&session, as_markdown] {
      const CommandDoc program = describe(*session.root);
      std::cout << (*as_markdown ? markdown(program) : man_page(program));
      return 0;
    };
  });
}

}  // namespace t2o::cli
