#pragma once
#include <string_view>

namespace t2o::tfgraph {

// The attribute of a loop or conditional that a model draws with nodes of its own (Enter, Switch ...): none of them has
// its name and its results.
inline constexpr std::string_view kDrawn = "_drawn";

}  // namespace t2o::tfgraph
