#include "support/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace t2o {
namespace {

constexpr std::size_t kBig = std::size_t{64} << 20;

// How often each of n numbers was taken.
std::vector<int> counted(std::int64_t n, std::size_t bytes) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
  in_parallel(n, bytes, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  return {seen.begin(), seen.end()};
}

TEST(Parallel, TakesEachNumberOnce) {
  for (const std::int64_t n : {0, 1, 2, 7, 1000})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 20, kBig})
      EXPECT_EQ(counted(n, bytes), std::vector<int>(static_cast<std::size_t>(n), 1)) << n << " " << bytes;
}

TEST(Parallel, IsUsedByManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += counted(37, kBig) != std::vector<int>(37, 1);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Parallel, PartsMayAskAgain) {
  std::atomic<int> n = 0;
  in_parallel(8, kBig, [&](std::int64_t from, std::int64_t to) {
    for (; from < to; ++from) in_parallel(5, kBig, [&](std::int64_t a, std::int64_t b) { n += static_cast<int>(b - a); });
  });
  EXPECT_EQ(n, 40);
}

TEST(Parallel, ThrowsWhatAPartThrew) {
  for (int i = 0; i < 50; ++i)
    EXPECT_THROW(in_parallel(100, kBig,
                             [](std::int64_t from, std::int64_t to) {
                               if (from <= 60 && 60 < to) throw std::runtime_error("60");
                             }),
                 std::runtime_error);
  EXPECT_EQ(counted(9, kBig), std::vector<int>(9, 1));
}

TEST(Parallel, WorksAndEndsInAForkedProcess) {
  counted(9, kBig);  // the threads are there
  const pid_t child = fork();
  if (child == 0) std::exit(counted(9, kBig) == std::vector<int>(9, 1) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace t2o
