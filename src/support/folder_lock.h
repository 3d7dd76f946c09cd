#pragma once
#include <string>

namespace t2o {

// A lock on what is in a folder, for a few calls to the system: among threads and processes, over NFS too. It is a file in
// the folder, which is removed with the lock; one that a killed process left behind locks nothing. On a file system that has
// no locks this one keeps nobody out.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  bool take(const std::string& folder);  // "" or with a final '/'. False: somebody else has it. Throws ConversionError
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  int fd_ = -1;
};

}  // namespace t2o
