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

AtomicFile::AtomicFile(std::string path, Meter* meter)
    : path_(std::move(path)), target_(path_), meter_(meter) {
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
    is_regular_ = true;
    open_temporary();
    if (exists) fchmod(fd_, st.st_mode & 07777);  // as far as its owner may: a file of one's own
  }
  buffer_.reserve(kBuffer);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (temporary_) unlink(temporary_.path());
}

std::string AtomicFile::folder() const { return directory_of(target_); }

// Names are of one process, but processes of two machines or containers may have one number.
std::string AtomicFile::temporary_name() const {
  static std::atomic<unsigned> count = 0;
  return folder() + ".tf2onnx-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".tmp";
}

void AtomicFile::open_temporary() {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::string name = temporary_name();
    const Uninterrupted made_and_remembered;
    fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      temporary_.remember(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_errno("cannot create");
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
    if (meter_ != nullptr) meter_->add(static_cast<std::uint64_t>(n));
    const std::size_t done = static_cast<std::size_t>(n), of_head = std::min(done, head.size());
    head = head.subspan(of_head);
    behind = behind.subspan(done - of_head);
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  finish();
  const Uninterrupted renamed_and_forgotten;
  appear();
}

void AtomicFile::finish() {
  flush({});
  if (fd_ >= 0 && close(std::exchange(fd_, -1)) != 0) fail_errno("cannot write");
}

void AtomicFile::appear() {
  if (!is_regular()) return;
  if (rename(temporary_.path(), target_.c_str()) != 0) fail_errno("cannot rename a temporary file to");
  temporary_.forget();
  has_appeared_ = true;
}

bool AtomicFile::replaces() const {
  struct stat st = {};
  return lstat(target_.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

void AtomicFile::put_aside() {
  if (!replaces()) return;
  struct stat st = {};
  std::string name;
  do name = temporary_name();
  while (lstat(name.c_str(), &st) == 0);
  if (rename(target_.c_str(), name.c_str()) == 0)
    old_ = name;
  else if (errno != ENOENT)  // somebody has just removed it
    fail_errno("cannot replace");
}

void AtomicFile::undo() noexcept {
  if (!old_.empty())
    rename(old_.c_str(), target_.c_str());
  else if (has_appeared_)
    unlink(target_.c_str());
  old_.clear();
}

void AtomicFile::drop_old() noexcept {
  if (!old_.empty()) unlink(old_.c_str());
  old_.clear();
}

void AtomicFile::fail_errno(const char* what) const {
  const int error = errno;
  fail(Code::output, std::string(what) + " '" + path_ + "': " + std::strerror(error), remedy_for(error));
}

}  // namespace t2o
