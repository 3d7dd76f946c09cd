#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace t2o {

// How far a long piece of work has come, for whoever shows it from another thread. The work says what it begins, and counts:
// one atomic addition for each call to the system.
class Meter {
 public:
  enum class Unit : std::uint8_t { none, bytes, steps };
  struct Reading {
    std::string step;
    Unit unit = Unit::none;
    std::uint64_t done = 0, total = 0;
    double seconds = 0;  // since the step began
  };

  void begin(std::string step, Unit = Unit::none, std::uint64_t total = 0);
  void go_on(std::string step);  // with another part of what was begun
  void add(std::uint64_t n) { done_.fetch_add(n, std::memory_order_relaxed); }
  Reading now() const;

 private:
  mutable std::mutex mutex_;
  Reading last_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> done_ = 0;
};

}  // namespace t2o
