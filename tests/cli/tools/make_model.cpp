// make_model FILE: a small model for the tests of the installed package.
#include <fstream>

#include "cli/graph_def_maker.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ofstream(argv[1], std::ios::binary) << t2o::test::relu_model();
  return 0;
}
