#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace t2o::rewriters {

// The nodes of a graph in execution order. A node of a subgraph has the place of the node that holds the subgraph.
class NodeOrder {
 public:
  explicit NodeOrder(ir::Graph& g);
  std::size_t size() const { return nodes_.size(); }
  ir::Node* node(std::size_t at) const { return nodes_[at]; }  // null: it was erased
  // A node that was added later has the place of the known node after it. An unknown node has size().
  std::size_t place(const ir::Node& n) const { return position(n).first; }
  bool is_new(const ir::Node& n) const {
    const Position p = position(n);
    return p.first < size() && p.second != kOld;
  }
  bool is_before(const ir::Node& a, const ir::Node& b) const { return position(a) < position(b); }
  void add_before(std::size_t at);  // registers the new nodes before this place
  void erase(ir::Node& n);

 private:
  using Position = std::pair<std::size_t, std::size_t>;  // the place, and the number among the new nodes at this place
  static constexpr std::size_t kOld = static_cast<std::size_t>(-1);
  Position position(const ir::Node& n) const;

  ir::Graph* graph_;
  std::vector<ir::Node*> nodes_;
  std::unordered_map<const ir::Node*, Position> positions_;
  std::unordered_map<const ir::Graph*, std::size_t> inner_;  // the places of the nodes that hold them
  std::size_t added_ = 0;
};

}  // namespace t2o::rewriters
