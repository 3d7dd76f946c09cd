#include "support/unfinished.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <mutex>
#include <utility>

namespace t2o {
namespace {

// The handler walks the blocks without a lock, so a block is never freed.
struct Block {
  std::array<std::atomic<const char*>, 16> slots = {};
  std::atomic<Block*> next = nullptr;
};
constinit Block first_file, first_folder;
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<Block*>::is_always_lock_free);

std::atomic<const char*>& free_slot(Block& first, const char* name) {
  for (Block* block = &first;;) {
    for (std::atomic<const char*>& slot : block->slots) {
      const char* empty = nullptr;
      if (slot.compare_exchange_strong(empty, name)) return slot;
    }
    Block* next = block->next;
    if (next == nullptr) {
      auto* fresh = new Block;
      if (block->next.compare_exchange_strong(next, fresh))
        next = fresh;
      else
        delete fresh;
    }
    block = next;
  }
}

// A name that remove_unfinished() may be reading at this moment in another thread.
void keep_for_ever(std::vector<char> name) {
  static std::mutex mutex;
  static auto& names = *new std::vector<std::vector<char>>;  // never destroyed
  const std::lock_guard lock(mutex);
  names.push_back(std::move(name));
}

constinit std::atomic<int> working = 0;  // threads inside an Uninterrupted
constexpr int kClosed = 1 << 20;         // is added when nobody may come in again
static_assert(std::atomic<int>::is_always_lock_free);
constinit thread_local int working_here = 0;

// Who takes a name out of its slot may read it: the owner then keeps it for ever.
void remove_all(Block& first, int (*remove)(const char*)) noexcept {
  for (Block* block = &first; block != nullptr; block = block->next)
    for (std::atomic<const char*>& slot : block->slots)
      if (const char* name = slot.exchange(nullptr)) remove(name);
}

void sleep_a_little() {
  const timespec pause = {0, 200'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

void Unfinished::remember(const std::string& path, Kind kind) {
  forget();
  path_.assign(path.c_str(), path.c_str() + path.size() + 1);
  slot_ = &free_slot(kind == Kind::file ? first_file : first_folder, path_.data());
}

void Unfinished::forget() {
  if (slot_ == nullptr) return;
  const char* mine = path_.data();
  if (!std::exchange(slot_, nullptr)->compare_exchange_strong(mine, nullptr)) keep_for_ever(std::move(path_));
  path_.clear();
}

Uninterrupted::Uninterrupted() {
  sigset_t most;
  sigfillset(&most);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&most, fault);
  pthread_sigmask(SIG_SETMASK, &most, &before_);
  for (int n = working;;) {
    if (n >= kClosed) {  // the process is about to end
      sleep_a_little();
      n = working;
    } else if (working.compare_exchange_weak(n, n + 1)) {
      ++working_here;
      return;
    }
  }
}

Uninterrupted::~Uninterrupted() {
  --working_here;
  --working;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void stop_file_work() noexcept {
  if (working_here != 0) return;    // a fault in the middle of it: there is nobody to wait for
  constexpr int kLongest = 25'000;  // pauses: some seconds, where a disk answers nothing
  for (int pauses = 0; pauses < kLongest; ++pauses) {
    int nobody = 0;
    if (working.compare_exchange_strong(nobody, kClosed) || nobody >= kClosed) return;
    sleep_a_little();
  }
}

void remove_unfinished() noexcept {
  const int before = errno;
  remove_all(first_file, unlink);
  remove_all(first_folder, rmdir);  // which are empty now
  errno = before;
}

}  // namespace t2o
