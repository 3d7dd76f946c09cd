#pragma once
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tf/attr_value.h"
#include "tf/op_defs.h"

namespace t2o::tf {

struct RawAttr {
  std::string_view name;
  Bytes value;  // an AttrValue, for decode_attr
};

struct NodeDef {
  std::string_view name, op, device;
  std::span<const std::string_view>
      inputs;  // "node", "node:1", "^node"; in a function "arg", "node:output:0"
  std::span<const RawAttr> attrs;
  const Bytes* attr(std::string_view name) const;  // null when absent
};

// Nodes and what they view. Moves keep the views; copies would not.
struct NodeList {
  std::vector<NodeDef> nodes;
  std::vector<std::string_view> inputs;
  std::vector<RawAttr> attrs;
  NodeList() = default;
  NodeList(NodeList&&) = default;
  NodeList& operator=(NodeList&&) = default;
};

struct FunctionDef {
  OpDef signature;
  NodeList body;
  std::vector<std::pair<std::string_view, std::string_view>> ret,
      control_ret;  // output name -> tensor / node
  std::vector<RawAttr> attrs;
  std::vector<std::vector<RawAttr>> arg_attrs;  // by argument; may be shorter than the arguments
};

struct RawFunction {
  std::string_view name;
  Bytes bytes;  // a FunctionDef, for parse_function
};

struct GraphDef {
  NodeList body;
  std::vector<RawFunction> functions;
  std::int64_t producer = 0, min_consumer = 0;
  Bytes op_list;  // of the MetaGraph (stripped_op_list), an OpList; empty when there is none
  Owner owner;
};

// Views into the bytes, which `owner` keeps alive. Reads the structure alone: attributes and functions on
// demand.
GraphDef parse_graph_def(Bytes, Owner owner);
FunctionDef parse_function(Bytes, const Owner&);

}  // namespace t2o::tf
