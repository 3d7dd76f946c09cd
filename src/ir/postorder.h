#pragma once
#include <utility>
#include <vector>

namespace t2o::ir {

// Calls visit(x) for the root and for all that it needs, each behind what it needs itself, without recursion.
// before(x, needs) adds what x needs to `needs`; false: x is known, and is not visited. It has to note that x is begun,
// and to say of such a one that it is known: each is visited once then, and a cycle ends.
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
