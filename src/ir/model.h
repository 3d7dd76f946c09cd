#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace t2o::ir {

// One graph of a model, and what is said of it alone.
struct ModelGraph {
  std::string name = {};  // of the signature; empty if the conversion is of one
  GraphPtr graph = {};
  std::vector<std::pair<std::string, TensorPtr>> input_defaults = {};  // values of inputs that a caller may leave out
  std::vector<std::pair<std::string, std::string>> properties = {};    // "source": what the graph was made from
};

// What a conversion makes: graphs, and what is said of all of them. Graphs of one model may have constants in common.
struct Model {
  std::vector<ModelGraph> graphs = {};
  std::string producer_version = {}, doc_string = {};
  std::vector<std::pair<std::string, std::string>> properties = {};
};

// Constants of a model that have the same bytes, so a file needs these once.
struct EqualConstants {
  Values values;
  bool is_shared = false;  // several graphs have them
};

// The constants of a model's graphs, each graph a list, in the order of their first occurrence. Smaller constants than `smallest`
// bytes are left out. Constants are equal if Storage::identity says so. Contents are only compared (by a hash) where constants of
// several graphs have one size and identities leave one of them to a single graph.
std::vector<EqualConstants> equal_constants(const std::vector<Values>& by_graph, std::size_t smallest);

}  // namespace t2o::ir
