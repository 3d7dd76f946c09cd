// A graph that ends the process is made smaller in processes of their own: each draws it again, takes the steps that were
// found so far, and tries one more.
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

namespace t2o::random_graphs {
namespace {

constexpr unsigned kLongest = 30;  // seconds
constexpr int kNoMore = 9;

struct Crash {
  std::uint64_t seed;
  Variant variant;
  std::vector<std::size_t> taken;  // which of the smaller graphs, one after the other
};

Recipe drawn(const Crash& c) {
  Recipe r = draw_recipe(c.seed);
  for (const std::size_t k : c.taken) {
    r = smaller(r).at(k);
    refresh(r);
  }
  return r;
}

// Of the process: the signal that ends it, or what it returns.
int in_process(const std::function<int()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLongest);
    int code = 1;
    try {
      code = work();
    } catch (const std::exception&) {
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
}

bool still_ends(const Crash& c) {
  return in_process([&] {
           try_variant(drawn(c), c.variant, [](Phase) {});
           return 0;
         }) == -1;
}

}  // namespace

void shrink_crash(std::uint64_t seed, const Variant& variant, const std::string& folder) {
  Crash c{seed, variant, {}};
  if (!still_ends(c)) return;
  for (const Variant& v : simpler(variant)) {
    Crash other{seed, v, {}};
    if (still_ends(other)) c = other;
  }
  for (std::size_t k = 0;;) {
    Crash other = c;
    other.taken.push_back(k);
    const int ended = in_process([&] {
      const std::vector<Recipe> list = smaller(drawn(c));
      if (k >= list.size()) return kNoMore;
      Recipe r = list[k];
      if (refresh(r)) try_variant(r, c.variant, [](Phase) {});
      return 0;
    });
    if (ended == kNoMore) break;
    if (ended == -1) c = other;
    k = ended == -1 ? 0 : k + 1;
  }
  in_process([&] {
    save(folder, drawn(c), c.variant, {Result::crash, ""}, seed);
    return 0;
  });
}

}  // namespace t2o::random_graphs
