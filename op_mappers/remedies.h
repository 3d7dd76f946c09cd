#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace t2o {

// A remedy is a list of alternatives, separated by " | ". "{cut}", "{cut after}" and "{cut before}" stand for the
// options that cut the graph at the node, "{shapes}" for the option that gives the inputs their shapes, "{custom op}" for the
// option that keeps the node. Alternatives that would not help are dropped.
struct CutOptions {
  bool inside_functions = true;  // the graph may be cut inside of functions
  bool by_inputs = true;         // the graph's inputs have the names that --inputs takes
};

// What the user can do about a node of a source graph. `top` is the node of the main graph that holds the node, or the node
// itself; the graph can be cut only at `top`. `shapes_help` is called at most once.
std::string settled_remedy(std::string_view remedy, const ir::Node&, const ir::Node& top, const CutOptions&,
                           const std::function<bool()>& shapes_help);

bool is_open(const Value&);  // its rank or one of its sizes is unknown

}  // namespace t2o
