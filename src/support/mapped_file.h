#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/storage.h"

namespace t2o {

// A file mapped into memory, read-only. Its pages come when they are read and go when they are given back.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);  // fails with Code::bad_file
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::size_t size() const { return bytes_.size(); }
  Bytes bytes() const { return bytes_; }
  void give_back(Bytes part) const;  // the pages under a part of bytes(); reading them again is fine

 private:
  MappedFile(std::string path, Bytes bytes) : path_(std::move(path)), bytes_(bytes) {}
  std::string path_;
  Bytes bytes_;
};
using MappedFilePtr = std::shared_ptr<const MappedFile>;

struct ExpectedCrc {
  std::uint32_t crc;   // CRC-32C, not masked
  std::string tensor;  // whose bytes they are, for the error
};

// A part of the file. An expected CRC is checked once, when the bytes are first read; a mismatch fails with
// bad_file.
StoragePtr mapped_storage(MappedFilePtr file, std::uint64_t offset, std::uint64_t size,
                          std::optional<ExpectedCrc> crc = {});

}  // namespace t2o
