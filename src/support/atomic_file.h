#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace t2o {

// A file that is there as a whole or not at all: written under another name in the same directory, renamed by commit(),
// removed by the destructor. A file that was there keeps its permissions, a symbolic link stays one to the new file. A path
// that is no regular file (/dev/null, a pipe) is written directly, and so is "-", standard output.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // this and all below throw ConversionError (Code::output)
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void reserve(std::uint64_t size);  // place on the disk, which makes it fail early and write fast
  void write(std::span<const std::byte>);  // big pieces go to the system as they are, small ones are gathered
  void commit();

  std::uint64_t size() const { return size_; }
  bool is_regular() const { return !temporary_.empty(); }

 private:
  void open_temporary();
  void flush(std::span<const std::byte> behind);
  void register_temporary();
  bool unregister_temporary();
  [[noreturn]] void fail_errno(const char* what) const;

  std::string path_;    // as it was given
  std::string target_;  // what is replaced: path_, or where its link points
  std::vector<char> temporary_;  // its name with the final 0; a signal handler may still read it
  std::vector<std::byte> buffer_;
  std::uint64_t size_ = 0;
  int fd_ = -1;
  int slot_ = -1;
};

void remove_unfinished() noexcept;  // all that are not committed; may be called by a signal handler that then exits

}  // namespace t2o
