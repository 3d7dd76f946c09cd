#include "support/parallel.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace t2o {
namespace {

using Work = std::function<void(std::int64_t, std::int64_t)>;

thread_local bool in_a_part = false;

// One call's range, which threads take part by part: who got a slower core, or shares it, takes fewer.
class Range {
 public:
  Range(std::int64_t n, std::int64_t parts, const Work& work) : n_(n), parts_(parts), work_(work) {}

  void take_parts() {
    in_a_part = true;
    try {
      for (std::int64_t p; (p = next_++) < parts_;) work_(n_ * p / parts_, n_ * (p + 1) / parts_);
    } catch (...) {
      next_ = parts_;
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    in_a_part = false;
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::int64_t n_, parts_;
  const Work& work_;
  std::atomic<std::int64_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Threads that wait for a range to help with. Nobody waits for one that has not begun: where no thread is to
// be had, the caller does all.
class Helpers {
 public:
  explicit Helpers(unsigned count) {
    try {
      for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {  // no more threads to be had
    }
  }

  ~Helpers() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wanted_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  // They stay in the process that another one was forked from.
  bool are_here() const { return getpid() == process_; }

  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  void help(Range& range) {
    std::unique_lock lock(mutex_);
    const bool free = range_ == nullptr;
    if (free) {
      range_ = &range;
      ++count_;
      lock.unlock();
      wanted_.notify_all();
    } else {
      lock.unlock();
    }
    range.take_parts();
    if (!free) return;
    lock.lock();
    range_ = nullptr;
    left_.wait(lock, [&] { return inside_ == 0; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (std::uint64_t seen = 0;;) {
      wanted_.wait(lock, [&] { return stop_ || (range_ != nullptr && count_ != seen); });
      if (stop_) return;
      seen = count_;
      ++inside_;
      Range& range = *range_;
      lock.unlock();
      range.take_parts();
      lock.lock();
      if (--inside_ == 0) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_, left_;
  Range* range_ = nullptr;
  std::uint64_t count_ = 0;  // of ranges so far
  int inside_ = 0;           // helpers that are in a range
  bool stop_ = false;
  const pid_t process_ = getpid();
  std::vector<std::thread> threads_;
};

}  // namespace

void in_parallel(std::int64_t n, std::size_t bytes, const Work& work) {
  constexpr std::size_t kWorthHelp = std::size_t{1} << 19, kWorthAPart = std::size_t{1} << 17;
  static const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  if (n <= 0) return;
  if (in_a_part || cores == 1 || n == 1 || bytes < kWorthHelp) return work(0, n);
  struct EndOfProcess {
    void operator()(Helpers* h) const {
      if (h->are_here()) delete h;
    }
  };
  static const std::unique_ptr<Helpers, EndOfProcess> helpers(new Helpers(cores - 1));
  if (!helpers->are_here()) return work(0, n);
  Range range(n, std::min(n, static_cast<std::int64_t>(bytes / kWorthAPart)), work);
  helpers->help(range);
  range.rethrow();
}

}  // namespace t2o
