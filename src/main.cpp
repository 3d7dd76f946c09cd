#include <cstdio>
#include <cstdlib>

#include "cli/cli.h"

int main(int argc, char** argv) {
  const int code = t2o::cli::run(argc, argv);
  std::fflush(nullptr);
  std::_Exit(code);  // a graph of a million nodes takes as long to take apart as to convert
}
