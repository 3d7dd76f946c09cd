#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/meter.h"
#include "support/unfinished.h"

namespace t2o {

// A file that is there as a whole or not at all: written under another name in the same directory, renamed by commit(),
// removed by the destructor. A file that was there keeps its permissions, a symbolic link stays one to the new file. A path
// that is no regular file (/dev/null, a pipe) is written directly, and so is "-", standard output.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, Meter* = nullptr);  // this and all below throw ConversionError (Code::output)
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void reserve(std::uint64_t size);  // place on the disk, which makes it fail early and write fast
  void write(std::span<const std::byte>);  // big pieces go to the system as they are, small ones are gathered
  void commit();

  std::uint64_t size() const { return size_; }
  bool is_regular() const { return is_regular_; }

 private:
  friend class FileSet;  // the steps of a commit
  void finish();             // all is written, and the file is closed
  bool replaces() const;     // whether a file is there
  void put_aside();          // what is there gets a temporary name
  void appear();             // under its name, in place of what was there
  void undo() noexcept;      // the last two
  void drop_old() noexcept;  // what was put aside
  std::string folder() const;

  void open_temporary();
  std::string temporary_name() const;
  void flush(std::span<const std::byte> behind);
  [[noreturn]] void fail_errno(const char* what) const;

  std::string path_;    // as it was given
  std::string target_;  // what is replaced: path_, or where its link points
  Unfinished temporary_;
  std::string old_;  // the name of what was put aside; no handler removes that
  std::vector<std::byte> buffer_;
  std::uint64_t size_ = 0;
  Meter* meter_;  // counts the bytes that are written; or null
  int fd_ = -1;
  bool is_regular_ = false, has_appeared_ = false;
};

}  // namespace t2o
