#pragma once
#include <string_view>

namespace t2o::tfgraph {

// The attribute of a functional loop or conditional that replaces TensorFlow 1's nodes (Enter, Switch ...). No node of the
// source has its name and its results.
inline constexpr std::string_view kDrawn = "_drawn";

}  // namespace t2o::tfgraph
