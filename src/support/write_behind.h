#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "support/storage.h"
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
  void write(const PartReader&, std::size_t size);  // made in several threads, in buffers that are used again
  AtomicFile& finish();          // the file, with all written

 private:
  struct Buffer {
    Buffer() = default;
    explicit Buffer(std::size_t n) : bytes(std::make_unique_for_overwrite<std::byte[]>(n)), size(n) {}
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };
  struct Entry {
    OwnedBytes piece;
    Buffer buffer;  // where the piece is, if it was made for the queue
    bool ready = false;
  };

  bool start();
  void run();
  bool write_first();
  void fail(std::exception_ptr error);
  void push(OwnedBytes piece);
  void push_gathered();
  Buffer buffer_for(std::uint64_t number, std::size_t ahead);

  AtomicFile& file_;
  std::vector<std::byte> gathered_;  // small pieces
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;      // in the order of the file; the first one may be being written
  std::uint64_t written_ = 0;    // entries before the queue's first
  std::size_t waiting_ = 0;      // bytes of the queue's pieces that were not made for it
  std::vector<Buffer> buffers_;  // free ones
  std::exception_ptr error_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace t2o
