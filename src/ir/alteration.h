#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape.h"

namespace t2o::ir {

// How what a value holds differs from the source's tensor that it is named after: the steps that make it of that one. A
// rewriter that changes what a value holds, and leaves the value its name, records the step with Graph::alter(). In the
// file the value has a suffix behind the source's name, and the steps stand in the model's metadata: `verify --bisect`
// compares through them.
class Alteration {
 public:
  enum class Kind : std::uint8_t { transpose, reshape, scale, other };
  struct Step {
    Kind kind = Kind::other;  // other: nobody can tell what the value holds
    Ints ints = {};           // the permutation, or the dims with at most one -1
    double factor = 1;
    bool operator==(const Step&) const = default;
  };
  static Step transpose(Ints perm) { return {Kind::transpose, std::move(perm), 1}; }
  static Step reshape(const Shape& to);  // other() when more than one dim is unknown
  static Step scale(double factor) { return {Kind::scale, {}, factor}; }
  static Step other() { return {}; }

  explicit Alteration(std::string source) : source_(std::move(source)) {}
  const std::string& source() const { return source_; }  // the name of the source's tensor
  const std::vector<Step>& steps() const { return steps_; }
  void add(Step);                           // what cancels, goes
  bool only_moves() const;                  // the same elements in another order
  bool is_known() const;                    // the steps say all
  std::string_view suffix() const;          // "/transposed", "/reordered", "/scaled", "/altered"
  std::string text() const;                 // "transpose(0,3,1,2) scale(0.5)"
  static std::optional<std::vector<Step>> parse(std::string_view text);

 private:
  std::string source_;
  std::vector<Step> steps_;
};

// The metadata of a model lists the altered values. A key is this and the text() of an alteration; its value has a line for
// each: the name in the model, then a tab and the source's name where that is another.
inline constexpr std::string_view kAlteredKey = "altered/";

}  // namespace t2o::ir
