#include "support/parallel.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
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

  int helpers = 0;  // that are in it; guarded by the mutex of all helpers

 private:
  const std::int64_t n_, parts_;
  const Work& work_;
  std::atomic<std::int64_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

// Threads that wait for a range to help with. Nobody waits for one that has not begun: where no thread is to
// be had, the caller does all.
class Helpers {
 public:
  explicit Helpers(unsigned count) {
    try {
      for (unsigned i = 0; i < count; ++i) threads_.push_back(thread_without_signals([this] { run(); }));
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

  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Threads stay in the process that another one was forked from.
  bool are_here() const { return !threads_.empty() && getpid() == process_; }

  void help(Range& range) {
    {
      const std::lock_guard lock(mutex_);
      if (range_ == nullptr) {
        range_ = &range;
        ++count_;
      }
    }
    wanted_.notify_all();
    range.take_parts();
    std::unique_lock lock(mutex_);
    if (range_ == &range) range_ = nullptr;
    left_.wait(lock, [&] { return range.helpers == 0; });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (std::uint64_t seen = 0;;) {
      wanted_.wait(lock, [&] { return stop_ || (range_ != nullptr && count_ != seen); });
      if (stop_) return;
      seen = count_;
      Range& range = *range_;
      ++range.helpers;
      lock.unlock();
      range.take_parts();
      lock.lock();
      if (--range.helpers == 0) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_, left_;
  Range* range_ = nullptr;
  std::uint64_t count_ = 0;  // of ranges so far
  bool stop_ = false;
  const pid_t process_ = getpid();
  std::vector<std::thread> threads_;
};

namespace {

struct Current {
  std::mutex mutex;
  std::weak_ptr<Helpers> helpers;
};
Current& current() {
  static auto& c = *new Current;  // never destroyed: a thread may still convert while its process ends
  return c;
}

std::shared_ptr<Helpers> current_helpers() {
  const std::lock_guard lock(current().mutex);
  return current().helpers.lock();
}

unsigned other_cores() {
  constexpr unsigned kMostThreads = 4;  // the memory has no use for more
  static const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  return cores - 1;
}

}  // namespace

HelpingThreads::HelpingThreads() : HelpingThreads(other_cores()) {}

HelpingThreads::HelpingThreads(unsigned count) {
  const std::lock_guard lock(current().mutex);
  helpers_ = current().helpers.lock();
  if (helpers_ && helpers_->are_here()) return;
  helpers_.reset();
  if (count == 0) return;
  helpers_ = std::make_shared<Helpers>(count);
  current().helpers = helpers_;
}

void in_parallel(std::int64_t n, std::size_t bytes, const Work& work) {
  constexpr std::size_t kWorthHelp = std::size_t{1} << 19, kWorthAPart = std::size_t{1} << 17;
  if (n <= 0) return;
  if (in_a_part || n == 1 || bytes < kWorthHelp) return work(0, n);
  const std::shared_ptr<Helpers> helpers = current_helpers();
  if (!helpers || !helpers->are_here()) return work(0, n);
  Range range(n, std::min(n, static_cast<std::int64_t>(bytes / kWorthAPart)), work);
  helpers->help(range);
  range.rethrow();
}

std::thread thread_without_signals(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& before;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  } const restore{before};
  return std::thread(std::move(work));
}

}  // namespace t2o
