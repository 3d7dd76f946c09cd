#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace t2o {

// A remedy is written as alternatives with " | " between them. "{cut}", "{cut after}" and "{cut before}" stand for the
// options that cut the graph at the node, "{shapes}" for the option that gives the inputs their shapes, "{custom op}" for the one
// that keeps the node. An alternative that would not help is left out.
struct Ways {
  bool inside_functions = true;  // the graph may be cut there
  bool by_inputs = true;         // the graph's inputs have the names that --inputs takes
};

// What the user can do about a node of a source graph. `top` is the node of the main graph that holds it, or the node
// itself; only there a graph can be cut. `shapes_help` is asked at most once.
std::string settled_remedy(std::string_view remedy, const ir::Node&, const ir::Node& top, const Ways&,
                           const std::function<bool()>& shapes_help);

bool is_open(const Value&);  // is its rank or one of its sizes not known?

}  // namespace t2o
