#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace t2o {

// The candidate that is most like a misspelt word, by edit distance; "" when none is near. The first of
// equals.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace t2o
