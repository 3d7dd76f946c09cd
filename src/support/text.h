#pragma once
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/lists.h"

namespace t2o {

// "a, b, c"; of more than `most` words "a, b and 7 more".
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ",
                   std::size_t most = std::numeric_limits<std::size_t>::max());
std::string quoted_list(std::vector<std::string> words, std::size_t most = std::numeric_limits<std::size_t>::max());  // 'a', 'b'

}  // namespace t2o
