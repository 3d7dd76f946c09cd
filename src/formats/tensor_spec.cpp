#include "formats/tensor_spec.h"

#include <charconv>

#include "diagnostics.h"

namespace t2o {

namespace {

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

Dim parse_dim(std::string_view text, std::string_view spec) {
  const std::string_view word = trimmed(text);
  if (contains({"?", "None", "-1"}, word)) return kUnknownDim;
  Dim d = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), d);
  if (error != std::errc{} || end != word.data() + word.size() || d < 0)
    fail_tensor_spec(spec, "'" + std::string(word) + "' is not a dimension");
  return d;
}

}  // namespace

void fail_tensor_spec(std::string_view spec, const std::string& why) {
  fail(Code::bad_option, "'" + std::string(spec) + "' does not name a tensor: " + why,
       "write a name, and a shape if it is needed: \"X:0[1,28,28,3]\"");
}

TensorSpec parse_tensor_spec(std::string_view spec) {
  const std::string_view s = trimmed(spec);
  const std::size_t open = s.find('[');
  TensorSpec t{std::string(trimmed(s.substr(0, open))), {}};
  if (t.name.empty()) fail_tensor_spec(spec, "it has no name");
  if (open == std::string_view::npos) return t;
  if (!s.ends_with(']')) fail_tensor_spec(spec, "its shape does not end in ']'");
  std::string_view list = trimmed(s.substr(open + 1, s.size() - open - 2));
  Ints dims;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    dims.push_back(parse_dim(list.substr(0, comma), spec));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  t.shape = Shape(std::move(dims));
  return t;
}

}  // namespace t2o
