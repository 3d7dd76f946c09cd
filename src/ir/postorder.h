#pragma once
#include <utility>
#include <vector>

namespace t2o::ir {

// Calls visit(x) for the root and everything it needs, in postorder, without recursion. before(x, needs) adds the items that x
// needs to `needs`. If it returns false, x is not visited. It must remember each x and return false for one that it has seen
// before; then each item is visited once, and a cycle ends.
template <class T, class Before, class Visit>
void for_each_before(T root, Before&& before, Visit&& visit) {
  std::vector<std::pair<T, bool>> stack = {{root, false}};
  std::vector<T> needs;
  while (!stack.empty()) {
    const auto [x, begun] = stack.back();
    needs.clear();
    if (begun) {
      visit(x);
      stack.pop_back();
    } else if (before(x, needs)) {
      stack.back().second = true;
      for (auto it = needs.rbegin(); it != needs.rend(); ++it) stack.emplace_back(*it, false);  // the first on top
    } else {
      stack.pop_back();
    }
  }
}

}  // namespace t2o::ir
