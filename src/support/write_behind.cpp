#include "support/write_behind.h"

#include <system_error>
#include <utility>

namespace t2o {
namespace {
constexpr std::size_t kMuch = std::size_t{8} << 20;
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

void WriteBehind::push(OwnedBytes piece) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // no thread to be had
      return file_.write(piece.bytes);
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || queue_.empty() || waiting_ + piece.bytes.size() <= kMuch; });
  if (error_) std::rethrow_exception(error_);
  waiting_ += piece.bytes.size();
  queue_.push_back(std::move(piece));
  lock.unlock();
  changed_.notify_all();
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
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return done_ || !queue_.empty(); });
    if (queue_.empty() || error_) return;
    OwnedBytes& piece = queue_.front();  // stays where it is while others are pushed behind it
    lock.unlock();
    std::exception_ptr error;
    try {
      file_.write(piece.bytes);
    } catch (...) {
      error = std::current_exception();
    }
    const std::size_t written = piece.bytes.size();
    piece.owner.reset();
    lock.lock();
    queue_.pop_front();
    waiting_ -= written;
    error_ = error;
    changed_.notify_all();
    if (error_) return;
  }
}

}  // namespace t2o
