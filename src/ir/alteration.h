#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/shape.h"

namespace t2o::ir {

// The steps that compute a value from the source's tensor that it is named after. A rewriter that changes the content of a
// value but keeps its name records the step with Graph::alter(). In the file the value's name gets a suffix, and the model's
// metadata holds the steps. `verify --bisect` uses them to compare.
class Alteration {
 public:
  enum class Kind : std::uint8_t { transpose, reshape, scale, other };
  struct Step {
    Kind kind = Kind::other;  // other: a step that these kinds cannot describe
    Ints ints = {};           // the permutation, or the dims with at most one -1
    double factor = 1;
    bool operator==(const Step&) const = default;
  };
  static Step transpose(Ints perm) { return {Kind::transpose, std::move(perm), 1}; }
  static Step reshape(const Shape& to);  // other() if more than one dim is unknown
  static Step scale(double factor) { return {Kind::scale, {}, factor}; }
  static Step other() { return {}; }

  explicit Alteration(std::string source) : source_(std::move(source)) {}
  const std::string& source() const { return source_; }  // the name of the source's tensor
  const std::vector<Step>& steps() const { return steps_; }
  void add(Step);                           // drops steps that cancel
  bool only_moves() const;                  // the same elements in another order
  bool is_known() const;                    // no step is `other`
  std::string_view suffix() const;          // "/transposed", "/reordered", "/scaled", "/altered"
  std::string text() const;                 // "transpose(0,3,1,2) scale(0.5)"
  static std::optional<std::vector<Step>> parse(std::string_view text);

 private:
  std::string source_;
  std::vector<Step> steps_;
};

// The metadata of a model lists the altered values. A key is this prefix and the text() of an alteration. Its value has a line
// for each altered value: the name in the model, then a tab and the source's name if that is another.
inline constexpr std::string_view kAlteredKey = "altered/";

}  // namespace t2o::ir
