#include "support/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "diagnostics.h"

namespace t2o {
namespace {

// A file of another user may be opened in fewer ways than a new one. NFS wants one that may be written.
int open_any(const char* name) {
  for (const int how : {O_RDWR | O_CREAT, O_RDWR, O_RDONLY}) {
    const int fd = open(name, how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd >= 0 || errno != EACCES) return fd;
  }
  return -1;
}

bool is_still(int fd, const char* name) {
  struct stat mine = {}, there = {};
  return fstat(fd, &mine) == 0 && lstat(name, &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

}  // namespace

FolderLock::~FolderLock() {
  if (fd_ < 0) return;
  unlink(file_.c_str());
  close(fd_);
}

bool FolderLock::take(const std::string& folder) {
  file_ = folder + ".tf2onnx-lock";
  const int fd = open_any(file_.c_str());
  if (fd < 0) {
    const int error = errno;
    struct stat st = {};
    const bool is_gone = error == ESTALE || error == ENOENT;  // just removed, unless its folder is
    if (is_gone && access(folder.empty() ? "." : folder.c_str(), F_OK) == 0) return false;
    if (error == EACCES && lstat(file_.c_str(), &st) == 0) return false;  // of a user who lets nobody open it
    fail(Code::output, "cannot make '" + file_ + "': " + std::strerror(error),
         "choose an output path where you may write");
  }
  fchmod(fd, 0666);  // as far as it is ours: another user must be able to lock it
  const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
  const bool is_busy = !locked && (errno == EWOULDBLOCK || errno == EINTR || errno == EACCES);
  if (is_busy || !is_still(fd, file_.c_str())) {  // who had it removes it
    close(fd);
    return false;
  }
  fd_ = fd;
  return true;
}

}  // namespace t2o
