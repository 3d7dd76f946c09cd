#include "ir/alteration.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace t2o::ir {
namespace {

using Kind = Alteration::Kind;
using Step = Alteration::Step;

constexpr std::array<std::pair<std::string_view, Kind>, 3> kKinds = {
    {{"transpose", Kind::transpose}, {"reshape", Kind::reshape}, {"scale", Kind::scale}}};

bool is_identity(const Step& s) {
  if (s.kind == Kind::scale) return s.factor == 1;
  for (std::size_t i = 0; i < s.ints.size(); ++i)
    if (s.ints[i] != static_cast<std::int64_t>(i)) return false;
  return s.kind == Kind::transpose;
}

// The one step that does what both do, one after the other.
std::optional<Step> joined(const Step& first, const Step& second) {
  if (first.kind != second.kind) return std::nullopt;
  if (first.kind == Kind::scale) return Alteration::scale(first.factor * second.factor);
  if (first.kind == Kind::reshape) return second;
  if (first.kind != Kind::transpose || first.ints.size() != second.ints.size()) return std::nullopt;
  Ints perm;
  for (const std::int64_t p : second.ints) perm.push_back(nth(first.ints, p));
  return Alteration::transpose(std::move(perm));
}

// A transpose of these dims that moves only ones: as far as the order of the elements goes, it is none.
bool moves_only_ones(const Step& dims, const Step& move) {
  std::int64_t last = -1;
  for (const std::int64_t p : move.ints) {
    if (dims.ints.size() != move.ints.size()) return false;
    if (nth(dims.ints, p) == 1) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

std::string number_text(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

// "(1,2)": the numbers, and what stands behind is left in `text`.
template <class T>
std::optional<std::vector<T>> parse_numbers(std::string_view& text) {
  std::vector<T> numbers;
  if (!text.starts_with('(')) return std::nullopt;
  text.remove_prefix(1);
  while (!text.starts_with(')')) {
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  text.remove_prefix(1);
  return numbers;
}

// A file may hold anything.
bool is_permutation(Ints axes) {
  std::ranges::sort(axes);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}
bool are_sizes(const Ints& dims) {
  return std::ranges::all_of(dims, [](std::int64_t d) { return d >= -1; }) &&
         std::ranges::count(dims, -1) <= 1;
}

std::optional<Step> parse_step(std::string_view& text) {
  for (const auto& [word, kind] : kKinds) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    if (kind == Kind::scale) {
      const auto factor = parse_numbers<double>(text);
      return factor && factor->size() == 1 ? std::optional(Alteration::scale((*factor)[0])) : std::nullopt;
    }
    auto ints = parse_numbers<std::int64_t>(text);
    const bool fits = ints && (kind == Kind::transpose ? is_permutation(*ints)
                               : kind == Kind::reshape ? are_sizes(*ints)
                                                       : true);
    return fits ? std::optional(Step{kind, std::move(*ints), 1}) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Step Alteration::reshape(const Shape& to) {
  if (!to.ranked()) return other();
  Ints dims = to.dims();
  for (std::int64_t& d : dims)
    if (!t2o::is_known(d)) d = -1;
  return std::ranges::count(dims, -1) > 1 ? other() : Step{Kind::reshape, std::move(dims), 1};
}

void Alteration::add(Step step) {
  if (!steps_.empty() && steps_.back().kind == Kind::other) return;
  if (step.kind == Kind::other) steps_.clear();
  // a factor may stand anywhere: it stands first
  if (step.kind == Kind::scale && !steps_.empty()) {
    if (steps_.front().kind != Kind::scale)
      steps_.insert(steps_.begin(), std::move(step));
    else
      steps_.front().factor *= step.factor;
    if (is_identity(steps_.front())) steps_.erase(steps_.begin());
    return;
  }
  const auto is_kind = [&](std::size_t from_end, Kind kind) {
    return steps_.size() >= from_end && steps_[steps_.size() - from_end].kind == kind;
  };
  if (step.kind == Kind::reshape && is_kind(1, Kind::transpose) && is_kind(2, Kind::reshape) &&
      moves_only_ones(steps_[steps_.size() - 2], steps_.back()))
    steps_.pop_back();
  while (!steps_.empty()) {
    const auto both = joined(steps_.back(), step);
    if (!both) break;
    steps_.pop_back();
    step = *both;
  }
  if (!is_identity(step)) steps_.push_back(std::move(step));
}

bool Alteration::only_moves() const {
  return std::ranges::all_of(
      steps_, [](const Step& s) { return s.kind == Kind::transpose || s.kind == Kind::reshape; });
}

bool Alteration::is_known() const {
  return std::ranges::none_of(steps_, [](const Step& s) { return s.kind == Kind::other; });
}

std::string_view Alteration::suffix() const {
  if (steps_.size() != 1) return only_moves() ? "/reordered" : "/altered";
  switch (steps_[0].kind) {
    case Kind::transpose:
      return "/transposed";
    case Kind::reshape:
      return "/reshaped";
    case Kind::scale:
      return "/scaled";
    default:
      return "/altered";
  }
}

std::string Alteration::text() const {
  std::string text;
  for (const Step& s : steps_) {
    if (s.kind == Kind::other) return "unknown";
    text += text.empty() ? "" : " ";
    for (const auto& [word, kind] : kKinds)
      if (kind == s.kind) text += word;
    std::string list = s.kind == Kind::scale ? number_text(s.factor) : "";
    for (const std::int64_t i : s.ints) list += (list.empty() ? "" : ",") + std::to_string(i);
    text += "(" + list + ")";
  }
  return text;
}

std::optional<std::vector<Step>> Alteration::parse(std::string_view text) {
  std::vector<Step> steps;
  while (!text.empty()) {
    auto step = parse_step(text);
    if (!step) return std::nullopt;
    steps.push_back(std::move(*step));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return steps;
}

}  // namespace t2o::ir
