#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace t2o {

// Calls work(from, to) for parts of [0, n) that together make it up, with the help of other threads when there are some and
// `bytes` is worth it. What a part calls in turn runs in its thread. Throws what one of them threw.
void in_parallel(std::int64_t n, std::size_t bytes, const std::function<void(std::int64_t, std::int64_t)>& work);

class Helpers;

// While one of these lives, in_parallel has threads to help: one for each core but the first, at most three, for the whole
// process. They end with the last one.
class HelpingThreads {
 public:
  HelpingThreads();
  explicit HelpingThreads(unsigned count);

 private:
  std::shared_ptr<Helpers> helpers_;
};

// A thread that leaves the signals of the process to the others. std::system_error when there is none to be had.
std::thread thread_without_signals(std::function<void()> work);

}  // namespace t2o
