#include "rewriters/tf/node_order.h"

#include <functional>

namespace t2o::rewriters {

NodeOrder::NodeOrder(ir::Graph& g) : graph_(&g) {
  const std::function<void(const ir::Node&)> enter = [&](const ir::Node& n) {
    ir::for_each_subgraph(n, [&](ir::Graph& inner) {
      inner_[&inner] = nodes_.size();
      for (const ir::Node& m : inner.nodes()) enter(m);
    });
  };
  for (ir::Node& n : g.nodes()) {
    enter(n);
    positions_[&n] = {nodes_.size(), kOld};
    nodes_.push_back(&n);
  }
}

NodeOrder::Position NodeOrder::position(const ir::Node& n) const {
  if (n.graph() != graph_) {
    const auto at = inner_.find(n.graph());
    return {at == inner_.end() ? size() : at->second, kOld};
  }
  const auto at = positions_.find(&n);
  return at == positions_.end() ? Position(size(), kOld) : at->second;
}

void NodeOrder::add_before(std::size_t at) {
  std::vector<ir::Node*> added;
  for (ir::Node* n = nodes_[at]->prev(); n && !positions_.contains(n); n = n->prev()) added.push_back(n);
  for (auto n = added.rbegin(); n != added.rend(); ++n) positions_[*n] = {at, added_++};
}

void NodeOrder::erase(ir::Node& n) {
  if (const Position p = position(n); p.first < size() && p.second == kOld) nodes_[p.first] = nullptr;
  positions_.erase(&n);
  n.graph()->erase(n);
}

}  // namespace t2o::rewriters
