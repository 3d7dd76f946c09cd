#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace t2o::tf {

// Numbers of names, counted in the order of their adding. A map of nodes would be several objects in memory for each name, none
// of them near the others: the lookups are what a big graph takes long for.
class NameIndex {
 public:
  void reserve(std::size_t names) {
    names_.reserve(names);
    if (2 * names > slots_.size()) grow(2 * names);
  }

  bool add(std::string_view name) {  // takes the next number; false: the name has one already
    if (2 * (names_.size() + 1) > slots_.size()) grow(4 * (names_.size() + 1));
    const std::uint32_t hash = hash_of(name);
    Slot& slot = slots_[place(name, hash)];
    names_.push_back(name);
    if (slot.number != 0) return false;
    slot = {hash, static_cast<std::uint32_t>(names_.size())};
    return true;
  }

  std::optional<std::uint32_t> find(std::string_view name) const {
    if (slots_.empty()) return std::nullopt;
    const Slot& slot = slots_[place(name, hash_of(name))];
    return slot.number == 0 ? std::nullopt : std::optional(slot.number - 1);
  }

 private:
  struct Slot {
    std::uint32_t hash = 0, number = 0;  // counted from 1; 0: free
  };
  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
  }

  // Where it is, or would be.
  std::size_t place(std::string_view name, std::uint32_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].number != 0 && (slots_[i].hash != hash || names_[slots_[i].number - 1] != name)) i = (i + 1) & mask;
    return i;
  }

  void grow(std::size_t least) {
    std::size_t n = 16;
    while (n < least) n *= 2;
    slots_.assign(n, {});
    for (std::size_t k = 0; k < names_.size(); ++k) {
      const std::uint32_t hash = hash_of(names_[k]);
      if (Slot& slot = slots_[place(names_[k], hash)]; slot.number == 0)
        slot = {hash, static_cast<std::uint32_t>(k + 1)};
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, half of them free
  std::vector<std::string_view> names_;
};

}  // namespace t2o::tf
