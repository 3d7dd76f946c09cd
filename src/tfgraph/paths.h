#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace t2o::tfgraph {

// Paths of nodes, such as "StatefulPartitionedCall/model/dense/MatMul". An exporter puts levels into them that no author wrote:
// "PartitionedCall_3", "__inference_call_42".
bool is_made_up(std::string_view level);

// The beginning of the path up to the last made-up level before the node itself, with its slash; "" if there is none.
std::string_view made_up_beginning(std::string_view path);

std::string without_made_up(std::string_view path);  // without made-up levels, except for the last level

// The layer of a node that computes a weighted sum or reads a weight: "dense" of "dense/MatMul". Other paths stay.
std::string layer_of(std::string_view path);

// A weight's path from that of a node that reads it. Other paths stay.
enum class Named : std::uint8_t {
  by_itself,  // "dense/kernel/Read/ReadVariableOp": "dense/kernel"
  by_reader,  // "dense/BiasAdd/ReadVariableOp": "dense/bias"; "norm/Read/ReadVariableOp": "norm/weight"
};
std::string of_weight(std::string_view path, Named);

}  // namespace t2o::tfgraph
