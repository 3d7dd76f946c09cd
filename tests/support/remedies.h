#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What remedies propose, as a program can follow it: "cut the graph before it with --outputs a:0, or after it with --inputs
// b:0,c:0" are two ways of one option each.
namespace t2o::test {

struct Asked {
  std::string option, value;
};
using Way = std::vector<Asked>;

inline bool is_placeholder(std::string_view value) {  // "NAMES"
  return !value.empty() && value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == value.npos && value.size() > 3;
}

// "--signature: 'a', 'b'" and "'a'" are values that one may choose from.
inline std::vector<std::string> quoted(std::string_view text) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at < text.size() && text[at] == '\'';) {
    const std::size_t end = text.find('\'', at + 1);
    if (end == text.npos) break;
    values.emplace_back(text.substr(at + 1, end - at - 1));
    at = text.substr(end + 1).starts_with(", '") ? end + 3 : text.size();
  }
  return values;
}

inline Way options_of(std::string_view text) {
  static const std::vector<std::string_view> kSwitches = {"stateful-io", "complex-as-pairs", "node-metadata", "verify"};
  Way way;
  for (std::size_t at = 0; (at = text.find("--", at)) != text.npos;) {
    at += 2;
    const std::size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at), text.size());
    Asked a{std::string(text.substr(at, end - at)), ""};
    at = end;
    if (std::find(kSwitches.begin(), kSwitches.end(), a.option) == kSwitches.end() && end + 1 < text.size()) {
      std::string_view rest = text.substr(text[end] == ':' ? end + 2 : end + 1);
      a.value = rest.substr(0, rest.find(' '));
      while (a.value.ends_with(',') || (a.value.ends_with('.') && !a.value.ends_with("..."))) a.value.pop_back();
      if (a.value.ends_with(';')) a.value.pop_back();
      if (const auto values = quoted(rest); !values.empty()) a.value = values.front();
    }
    way.push_back(std::move(a));  // without a value it only speaks of the option
    if (way.back().value.empty() && std::find(kSwitches.begin(), kSwitches.end(), way.back().option) == kSwitches.end())
      way.pop_back();
  }
  return way;
}

// The ways that name an option with a value that stands there.
inline std::vector<Way> ways_of(std::string_view remedy) {
  std::vector<Way> ways;
  while (!remedy.empty()) {
    const std::size_t end = std::min(remedy.find(", or "), remedy.find("; "));
    Way way = options_of(remedy.substr(0, end));
    remedy = end == remedy.npos ? std::string_view() : remedy.substr(remedy[end] == ';' ? end + 2 : end + 5);
    if (!way.empty() && std::none_of(way.begin(), way.end(), [](const Asked& a) { return is_placeholder(a.value); }))
      ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace t2o::test
