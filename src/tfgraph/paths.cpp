#include "tfgraph/paths.h"

#include <algorithm>
#include <initializer_list>

namespace t2o::tfgraph {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_numbered(std::string_view level, std::string_view base) {
  if (!level.starts_with(base)) return false;
  const std::string_view rest = level.substr(base.size());
  return rest.empty() ||
         (rest.size() > 1 && rest[0] == '_' && rest.find_first_not_of(kDigits, 1) == std::string_view::npos);
}

}  // namespace

bool is_made_up(std::string_view level) {
  if (level.empty() || (level[0] != 'S' && level[0] != 'P' && level[0] != '_')) return false;
  return is_numbered(level, "StatefulPartitionedCall") || is_numbered(level, "PartitionedCall") ||
         level.starts_with("__inference_") || level.starts_with("__forward_") ||
         level.starts_with("__backward_");
}

std::string_view made_up_beginning(std::string_view path) {
  const bool may_be = path.find('P') != path.npos || path.starts_with("__") || path.find("/__") != path.npos;
  if (!may_be) return {};  // most paths
  std::size_t end = 0;
  for (std::size_t from = 0, slash = 0; (slash = path.find('/', from)) != std::string_view::npos;
       from = slash + 1)
    if (is_made_up(path.substr(from, slash - from))) end = slash + 1;
  return path.substr(0, end);
}

std::string without_made_up(std::string_view path) {
  const std::string_view beginning = made_up_beginning(path);
  std::string kept;
  for (std::size_t from = 0; from < beginning.size();) {
    const std::size_t next = beginning.find('/', from) + 1;
    if (!is_made_up(beginning.substr(from, next - from - 1))) kept += beginning.substr(from, next - from);
    from = next;
  }
  kept += path.substr(beginning.size());
  return kept;
}

namespace {

class Path {
 public:
  explicit Path(std::string_view text) : text_(text) {}
  std::string_view last() const { return text_.substr(text_.rfind('/') + 1); }
  std::string str() const { return std::string(text_); }
  bool cut(std::initializer_list<std::string_view> levels) {  // the last level, if it is one of these
    if (text_.empty() ||
        std::ranges::none_of(levels, [&](std::string_view l) { return is_numbered(last(), l); }))
      return false;
    text_.remove_suffix(std::min(text_.size(), last().size() + 1));
    return true;
  }
  bool cut_read() {  // a converter may number the names that it has twice: "ReadVariableOp1"
    const bool is_read = last().starts_with("ReadVariableOp") &&
                         last().find_first_not_of("_0123456789", 14) == std::string_view::npos;
    if (is_read) text_.remove_suffix(std::min(text_.size(), last().size() + 1));
    return is_read;
  }
  bool cut_product() {
    bool found = false;
    while (cut({"MatMul", "Tensordot", "Conv1D", "Conv2D", "Conv3D", "convolution", "depthwise",
                "conv2d_transpose"}))
      found = true;
    return found;
  }

 private:
  std::string_view text_;
};

}  // namespace

std::string layer_of(std::string_view path) {
  Path p(path);
  p.cut_read();
  p.cut({"BiasAdd"});
  p.cut_product();
  return p.str();
}

std::string of_weight(std::string_view path, Named named) {
  Path p(path);
  p.cut({"resource"});
  if (!p.cut_read()) return std::string(path);
  if (named == Named::by_itself && p.last() == "Read" && p.cut({"Read"})) return p.str();
  std::string role = p.cut({"BiasAdd"}) ? "bias" : "weight";
  p.cut({"Cast", "Reshape", "Read"});
  if (p.cut_product()) role = "kernel";
  const std::string layer = p.str();
  return layer.empty() ? role : layer + "/" + role;
}

}  // namespace t2o::tfgraph
