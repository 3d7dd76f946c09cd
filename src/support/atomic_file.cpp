#include "support/atomic_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "diagnostics.h"

namespace t2o {
namespace {

constexpr std::size_t kBuffer = 256 * 1024;
// Calls to the system end at multiples of this in the file: its page cache then works in big blocks, at half
// the cost.
constexpr std::size_t kBlock = 64 * 1024;
// A bigger call takes blocks of 2 MB from the system, which a virtual machine may have lent to its host: ten
// times slower.
constexpr std::size_t kLargestWrite = std::size_t{1} << 20;
static_assert(kBuffer % kBlock == 0 && kLargestWrite % kBlock == 0 && kBuffer < kLargestWrite);

std::array<std::atomic<const char*>, 16> unfinished = {};
static_assert(std::atomic<const char*>::is_always_lock_free);

// A name that remove_unfinished() may be reading at this moment in another thread.
void keep_for_ever(std::vector<char> name) {
  static std::mutex mutex;
  static auto& names = *new std::vector<std::vector<char>>;  // never destroyed
  const std::lock_guard lock(mutex);
  names.push_back(std::move(name));
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Without links, also where the last one points to nothing yet; the path itself where that can't be told.
std::string real_path(std::string path) {
  constexpr int kMostLinks = 40;
  std::error_code none;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, none); ++i) {
    const std::filesystem::path to = std::filesystem::read_symlink(path, none);
    if (none) break;
    path = to.is_absolute() ? to.string() : directory_of(path) + to.string();
  }
  return path;
}

const char* remedy_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or choose another place for the output";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose an output path where you may write";
    case ENOENT:
    case ENOTDIR:
      return "make the directory of the output first";
    case EISDIR:
      return "give the name of a file, not of a directory";
    case ENAMETOOLONG:
      return "choose a shorter output path";
    default:
      return "choose another output path";
  }
}

}  // namespace

void remove_unfinished() noexcept {
  for (std::atomic<const char*>& slot : unfinished)
    if (const char* name = slot.exchange(nullptr)) unlink(name);
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_ == "-") {
    fd_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) fail_errno("cannot open");
    return;
  }
  struct stat st = {};
  const bool exists = stat(path_.c_str(), &st) == 0;
  if (path_.empty() || path_.back() == '/' || (exists && S_ISDIR(st.st_mode))) {
    errno = path_.empty() ? ENOENT : EISDIR;
    fail_errno("cannot write");
  }
  if (exists && !S_ISREG(st.st_mode)) {
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail_errno("cannot open");
  } else {
    target_ = real_path(path_);
    open_temporary();
    if (exists) fchmod(fd_, st.st_mode & 07777);  // as far as its owner may: a file of one's own
  }
  buffer_.reserve(kBuffer);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (temporary_.empty()) return;
  unlink(temporary_.data());
  if (!unregister_temporary()) keep_for_ever(std::move(temporary_));
}

void AtomicFile::open_temporary() {
  static std::atomic<unsigned> count = 0;
  const std::string stem = directory_of(target_) + ".tf2onnx-" + std::to_string(getpid()) + "-";
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::string name = stem + std::to_string(count++) + ".tmp";
    fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      temporary_.assign(name.c_str(), name.c_str() + name.size() + 1);
      register_temporary();
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_errno("cannot create");
}

void AtomicFile::register_temporary() {
  for (std::size_t i = 0; i < unfinished.size(); ++i) {
    const char* empty = nullptr;
    if (!unfinished[i].compare_exchange_strong(empty, temporary_.data())) continue;
    slot_ = static_cast<int>(i);
    return;
  }
}

// False when remove_unfinished() has taken the name.
bool AtomicFile::unregister_temporary() {
  if (slot_ < 0) return true;
  const char* mine = temporary_.data();
  return unfinished[static_cast<std::size_t>(std::exchange(slot_, -1))].compare_exchange_strong(mine,
                                                                                                nullptr);
}

void AtomicFile::reserve(std::uint64_t size) {
  if (!is_regular() || size < kLargestWrite) return;
  if (fallocate(fd_, 0, 0, static_cast<off_t>(size)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    fail_errno("cannot write");
}

void AtomicFile::write(std::span<const std::byte> piece) {
  size_ += piece.size();
  if (buffer_.size() + piece.size() >= kBuffer) {
    const std::span<const std::byte> rest =
        piece.last(size_ % kBlock);  // the buffer starts at a block and is shorter than kBuffer
    flush(piece.first(piece.size() - rest.size()));
    piece = rest;
  }
  buffer_.insert(buffer_.end(), piece.begin(), piece.end());
}

void AtomicFile::flush(std::span<const std::byte> behind) {
  std::span<const std::byte> head = buffer_;
  while (!head.empty() || !behind.empty()) {
    const std::array<iovec, 2> parts = {
        {{const_cast<std::byte*>(head.data()), head.size()},
         {const_cast<std::byte*>(behind.data()), std::min(behind.size(), kLargestWrite - head.size())}}};
    const ssize_t n = writev(fd_, parts.data(), 2);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // a pipe that somebody else made so
      pollfd ready = {fd_, POLLOUT, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (n < 0) fail_errno("cannot write");
    const std::size_t done = static_cast<std::size_t>(n), of_head = std::min(done, head.size());
    head = head.subspan(of_head);
    behind = behind.subspan(done - of_head);
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  flush({});
  if (close(std::exchange(fd_, -1)) != 0) fail_errno("cannot write");
  if (!is_regular()) return;
  if (rename(temporary_.data(), target_.c_str()) != 0) fail_errno("cannot rename a temporary file to");
  if (unregister_temporary()) temporary_.clear();
}

void AtomicFile::fail_errno(const char* what) const {
  const int error = errno;
  fail(Code::output, std::string(what) + " '" + path_ + "': " + std::strerror(error), remedy_for(error));
}

}  // namespace t2o
