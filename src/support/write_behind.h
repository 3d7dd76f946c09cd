#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "ir/tensor.h"
#include "support/atomic_file.h"

namespace t2o {

// Writes to a file in a thread of its own, so that the next tensor is made while the last one is written. An error of the file
// is thrown by the next call.
class WriteBehind {
 public:
  explicit WriteBehind(AtomicFile& file) : file_(file) {}
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  void write(Bytes piece);       // is copied
  void write(OwnedBytes piece);  // waits while much is still to be written
  AtomicFile& finish();          // the file, with all written

 private:
  void run();
  void push(OwnedBytes piece);
  void push_gathered();

  AtomicFile& file_;
  std::vector<std::byte> gathered_;  // small pieces
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OwnedBytes> queue_;  // the first one is being written
  std::size_t waiting_ = 0;       // bytes in the queue
  std::exception_ptr error_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace t2o
