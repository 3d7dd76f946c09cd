#pragma once
#include <array>
#include <cstdint>

#include "support/storage.h"

namespace t2o {

// A hash of bytes that come in pieces. Each process has another seed, so nobody can make a file whose different contents collide.
class Hash128 {
 public:
  Hash128();
  void add(Bytes);
  std::array<std::uint64_t, 2> value();  // ends the hash

 private:
  void mix(std::uint64_t low, std::uint64_t high);
  std::array<std::uint64_t, 2> state_;
  std::array<std::byte, 16> rest_ = {};
  std::size_t rest_size_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace t2o
