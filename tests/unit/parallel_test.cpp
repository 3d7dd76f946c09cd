#include "support/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
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

class Parallel : public testing::Test {
 protected:
  HelpingThreads threads_{3};  // also on a machine with fewer cores
};

TEST_F(Parallel, TakesEachNumberOnce) {
  for (const std::int64_t n : {0, 1, 2, 7, 1000})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 20, kBig})
      EXPECT_EQ(counted(n, bytes), std::vector<int>(static_cast<std::size_t>(n), 1)) << n << " " << bytes;
}

TEST_F(Parallel, IsUsedByManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += counted(37, kBig) != std::vector<int>(37, 1);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Parallel, PartsMayAskAgain) {
  std::atomic<int> n = 0;
  in_parallel(8, kBig, [&](std::int64_t from, std::int64_t to) {
    for (; from < to; ++from) in_parallel(5, kBig, [&](std::int64_t a, std::int64_t b) { n += static_cast<int>(b - a); });
  });
  EXPECT_EQ(n, 40);
}

TEST_F(Parallel, ThrowsWhatAPartThrew) {
  for (int i = 0; i < 50; ++i)
    EXPECT_THROW(in_parallel(100, kBig,
                             [](std::int64_t from, std::int64_t to) {
                               if (from <= 60 && 60 < to) throw std::runtime_error("60");
                             }),
                 std::runtime_error);
  EXPECT_EQ(counted(9, kBig), std::vector<int>(9, 1));
}

TEST_F(Parallel, OneWhoIsDoneDoesNotWaitForTheHelpersOfAnother) {
  std::atomic<bool> go = false, inside = false;
  std::thread slow([&] {
    in_parallel(64, kBig, [&](std::int64_t, std::int64_t) {
      inside = true;
      while (!go) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(counted(37, kBig), std::vector<int>(37, 1));
  go = true;
  slow.join();
}

TEST_F(Parallel, SeveralThreadsTakePart) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int i = 0; i < 100 && seen.size() < 2; ++i)
    in_parallel(16, kBig, [&](std::int64_t, std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  EXPECT_GT(seen.size(), 1U);
}

TEST(ParallelAlone, IsDoneByTheCaller) {
  std::set<std::thread::id> seen;
  in_parallel(16, kBig, [&](std::int64_t, std::int64_t) { seen.insert(std::this_thread::get_id()); });
  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
}

TEST_F(Parallel, WorksAndEndsInAForkedProcess) {
  counted(9, kBig);  // the threads are there
  const pid_t child = fork();
  if (child == 0) std::exit(counted(9, kBig) == std::vector<int>(9, 1) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace t2o
