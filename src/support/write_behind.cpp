#include "support/write_behind.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "support/parallel.h"

namespace t2o {
namespace {
constexpr std::size_t kMuch = std::size_t{4} << 20, kFewestAhead = 4;
constexpr std::size_t kMuchGathered = std::size_t{256} << 10, kWorthAThread = std::size_t{64} << 10;
}  // namespace

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WriteBehind::write(Bytes piece) {
  gathered_.insert(gathered_.end(), piece.begin(), piece.end());
  if (gathered_.size() >= kMuchGathered) push_gathered();
}

void WriteBehind::write(OwnedBytes piece) {
  if (piece.bytes.size() < kWorthAThread) return write(piece.bytes);
  push_gathered();
  push(std::move(piece));
}

void WriteBehind::push_gathered() {
  if (gathered_.empty()) return;
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::exchange(gathered_, {}));
  push({*owner, owner});
}

bool WriteBehind::start() {
  if (thread_.joinable()) return true;
  try {
    thread_ = thread_without_signals([this] { run(); });
  } catch (const std::system_error&) {  // no thread to be had
    return false;
  }
  return true;
}

void WriteBehind::push(OwnedBytes piece) {
  if (!start()) return file_.write(piece.bytes);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || waiting_ == 0 || waiting_ + piece.bytes.size() <= kMuch; });
  if (error_) std::rethrow_exception(error_);
  waiting_ += piece.bytes.size();
  queue_.push_back({std::move(piece), {}, true});
  lock.unlock();
  changed_.notify_all();
}

void WriteBehind::write(const PartReader& parts, std::size_t size) {
  push_gathered();
  if (!start()) {
    std::vector<std::byte> whole(size);
    read_all(parts, whole);
    return file_.write(whole);
  }
  const std::size_t pieces = (size + parts.piece - 1) / parts.piece,
                    ahead = std::max(kMuch / parts.piece, kFewestAhead);
  std::uint64_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    first = written_ + queue_.size();
    queue_.resize(queue_.size() + pieces);
  }
  const auto make = [&](std::size_t i) {
    Entry e = {{}, buffer_for(first + i, ahead), true};
    const std::size_t n = std::min(parts.piece, size - i * parts.piece);
    if (e.buffer.size < n) e.buffer = Buffer(n);
    e.piece.bytes = {e.buffer.bytes.get(), n};
    parts.read(i * parts.piece, {e.buffer.bytes.get(), n});
    const std::lock_guard lock(mutex_);
    queue_[first + i - written_] = std::move(e);
  };
  in_parallel(static_cast<std::int64_t>(pieces), size, [&](std::int64_t from, std::int64_t to) {
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i) {
      try {
        make(i);
      } catch (...) {
        fail(std::current_exception());  // others may be waiting for this piece to be written
        throw;
      }
      changed_.notify_all();
    }
  });
}

void WriteBehind::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  changed_.notify_all();
}

// Waits until the piece of that number is at most so many ahead of the one that is being written: pieces are
// begun in their order, so that the next one to be written never waits.
WriteBehind::Buffer WriteBehind::buffer_for(std::uint64_t number, std::size_t ahead) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || number < written_ + ahead; });
  if (error_) std::rethrow_exception(error_);
  if (buffers_.empty()) return {};
  Buffer buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

AtomicFile& WriteBehind::finish() {
  if (!thread_.joinable()) {
    file_.write(gathered_);
    gathered_.clear();
    return file_;
  }
  push_gathered();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || queue_.empty(); });
  if (error_) std::rethrow_exception(error_);
  return file_;
}

void WriteBehind::run() {
  try {
    while (write_first()) {
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

// False when there is nothing more to come.
bool WriteBehind::write_first() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ || error_ || (!queue_.empty() && queue_.front().ready); });
  if (error_ || queue_.empty() || !queue_.front().ready) return false;
  Entry& e = queue_.front();  // stays where it is while others are pushed behind it
  lock.unlock();
  file_.write(e.piece.bytes);
  e.piece.owner.reset();
  lock.lock();
  if (e.buffer.size == 0)
    waiting_ -= e.piece.bytes.size();
  else
    buffers_.push_back(std::move(e.buffer));
  queue_.pop_front();
  ++written_;
  lock.unlock();
  changed_.notify_all();
  return true;
}

}  // namespace t2o
