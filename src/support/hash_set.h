#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace t2o {

// A set of hashes, one word each in a table that is probed in line: of a million names one miss of the cache for each question.
class HashSet {
 public:
  bool insert(std::size_t hash) {  // false: it is there
    if (4 * (size_ + 1) > 3 * slots_.size()) grow(2 * slots_.size());
    std::size_t& slot = slots_[find(code(hash))];
    if (slot != kFree) return false;
    slot = code(hash);
    ++size_;
    return true;
  }

  bool contains(std::size_t hash) const { return !slots_.empty() && slots_[find(code(hash))] != kFree; }

  void erase(std::size_t hash) {
    if (slots_.empty()) return;
    std::size_t hole = find(code(hash));
    if (slots_[hole] == kFree) return;
    --size_;
    // What stands behind moves up, unless its own place lies between.
    for (std::size_t i = next(hole); slots_[i] != kFree; i = next(i))
      if (((i - slots_[i]) & mask()) >= ((i - hole) & mask())) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    slots_[hole] = kFree;
  }

  void reserve(std::size_t n) {
    if (4 * n > 3 * slots_.size()) grow(2 * n);
  }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kFree = 0, kLeast = 64;
  static std::size_t code(std::size_t hash) { return hash == kFree ? 1 : hash; }  // two hashes that count as one
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t next(std::size_t i) const { return (i + 1) & mask(); }

  // Where it is, or would be.
  std::size_t find(std::size_t key) const {
    std::size_t i = key & mask();
    while (slots_[i] != kFree && slots_[i] != key) i = next(i);
    return i;
  }

  void grow(std::size_t least) {
    std::size_t n = kLeast;
    while (n < least) n *= 2;
    const std::vector<std::size_t> old = std::exchange(slots_, std::vector<std::size_t>(n, kFree));
    for (const std::size_t key : old)
      if (key != kFree) slots_[find(key)] = key;
  }

  std::vector<std::size_t> slots_;  // a power of two of them
  std::size_t size_ = 0;
};

}  // namespace t2o
