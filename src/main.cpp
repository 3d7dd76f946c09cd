#include "cli/cli.h"

int main(int argc, char** argv) { return t2o::cli::run(argc, argv); }
