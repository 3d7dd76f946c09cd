#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "cli/cli.h"

int main(int argc, char** argv) {
  // Permuted weights come and go one by one: their pages are kept for the next one instead of being asked for
  // anew.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_TOP_PAD, 4 << 20);
  mallopt(M_ARENA_MAX, 1);  // the threads are few, and only make and write weights
  const int code = t2o::cli::run(argc, argv);
  std::fflush(nullptr);
  std::_Exit(code);  // a graph of a million nodes takes as long to take apart as to convert
}
