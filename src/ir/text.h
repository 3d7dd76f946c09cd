#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace t2o::ir {

// The text form of a graph: docs/ir-text.md.
struct TextOptions {
  bool origins = false;         // @"node" "Op" in "function" behind each node
  bool known_elements = false;  // i64[2]<batch,10>
  std::size_t elide_above = std::numeric_limits<std::size_t>::max();  // bytes; bigger constants print as #elided, unread
};

std::string to_text(const Graph&, const TextOptions& = {});

// Throws ConversionError (Code::bad_file) that says "<source>:line:column: ...".
GraphPtr parse_graph(std::string_view text, std::string_view source = "text");

constexpr int kDeepestText = 64;  // nesting of subgraphs and functions

}  // namespace t2o::ir
