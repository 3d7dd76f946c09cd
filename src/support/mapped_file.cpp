#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "diagnostics.h"
#include "support/crc32c.h"

namespace t2o {
namespace {

constexpr std::size_t kChunk = std::size_t{8} << 20;
constexpr std::size_t kWorthGivingBack = std::size_t{64} << 10;  // a call costs more than fewer pages

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void fail_to_read(const std::string& path, const std::string& why) {
  fail(Code::bad_file, "cannot read " + path + ": " + why);
}

class MappedStorage final : public Storage {
 public:
  MappedStorage(MappedFilePtr file, Bytes part, std::optional<ExpectedCrc> crc)
      : file_(std::move(file)), part_(part), unchecked_(std::move(crc)) {}

  std::size_t size() const override { return part_.size(); }

  Bytes bytes() override {
    if (unchecked_) walk([](Bytes) {}, kChunk + 1);
    return part_;
  }

  void stream(const Sink& sink) override { walk(sink, 0); }

  void release() override { file_->give_back(part_); }

  std::string identity() const override { return place_text(part_.data()); }

  OwnedBytes take() override {
    const Bytes checked = bytes();
    return {checked, std::shared_ptr<const void>(
                         checked.data(), [file = file_, checked](const void*) { file->give_back(checked); })};
  }

 private:
  void walk(const Sink& sink, std::size_t give_back_from) {
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < part_.size(); at += kChunk) {
      const Bytes chunk = part_.subspan(at, std::min(kChunk, part_.size() - at));
      if (unchecked_) crc = crc32c_extend(crc, chunk);
      sink(chunk);
      if (part_.size() >= give_back_from) file_->give_back(chunk);
    }
    if (unchecked_ && crc != unchecked_->crc)
      fail(Code::bad_file,
           "the bytes of tensor '" + unchecked_->tensor + "' in " + file_->path() +
               " are damaged: the checksum is wrong",
           "copy or export the model again");
    unchecked_.reset();
  }

  MappedFilePtr file_;
  Bytes part_;
  std::optional<ExpectedCrc> unchecked_;
};

}  // namespace

MappedFilePtr MappedFile::open(const std::string& path) {
  const FileDescriptor fd(path);
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) fail_to_read(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    fail_to_read(path, S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFilePtr(new MappedFile(path, {}));
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) fail_to_read(path, std::strerror(errno));
  return MappedFilePtr(new MappedFile(path, {static_cast<const std::byte*>(at), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::give_back(Bytes part) const {
  if (part.size() < kWorthGivingBack) return;
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto from = static_cast<std::size_t>(part.data() - bytes_.data()) / page * page;
  const std::size_t to = static_cast<std::size_t>(part.data() - bytes_.data()) + part.size();
  // A neighbour on a shared page loses nothing: a page of a file that nobody writes comes back as it was.
  ::madvise(const_cast<std::byte*>(bytes_.data() + from), to - from, MADV_DONTNEED);
}

StoragePtr mapped_storage(MappedFilePtr file, std::uint64_t offset, std::uint64_t size,
                          std::optional<ExpectedCrc> crc) {
  if (offset > file->size() || size > file->size() - offset)
    fail(Code::bad_file, file->path() + " is truncated: it has " + std::to_string(file->size()) +
                             " bytes, and " + std::to_string(size) + " at offset " + std::to_string(offset) +
                             " are needed" + (crc ? " for tensor '" + crc->tensor + "'" : ""));
  const Bytes part = file->bytes().subspan(offset, size);
  return std::make_shared<MappedStorage>(std::move(file), part, std::move(crc));
}

}  // namespace t2o
