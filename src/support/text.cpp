#include "support/text.h"

#include <algorithm>

namespace t2o {

std::string joined(const std::vector<std::string>& words, std::string_view between, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, words.size()); ++i)
    text.append(i == 0 ? "" : between).append(words[i]);
  return words.size() <= most ? text : text + " and " + std::to_string(words.size() - most) + " more";
}

std::string quoted_list(std::vector<std::string> words, std::size_t most) {
  for (std::string& w : words) w = "'" + w + "'";
  return joined(words, ", ", most);
}

}  // namespace t2o
