#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace t2o {

template <class List, class Item> constexpr bool contains(const List& list, const Item& item) {
  return std::find(std::begin(list), std::end(list), item) != std::end(list);
}
constexpr bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
template <class Item> constexpr bool contains(std::initializer_list<Item> items, Item item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

// The element at a signed index, which is not negative.
template <class List> decltype(auto) nth(List&& list, auto i) { return list[static_cast<std::size_t>(i)]; }

template <class List, class More> void append(List& list, const More& more) {
  list.insert(list.end(), std::begin(more), std::end(more));
}

}  // namespace t2o
