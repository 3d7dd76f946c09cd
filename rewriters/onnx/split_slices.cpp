#include <algorithm>
#include <set>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

struct Piece {
  ir::Node* node = nullptr;
  std::int64_t axis = 0, first = 0, last = 0;
};

// What a Slice takes of one axis of known size, one by one.
std::optional<Piece> piece(ir::Node& n) {
  const Shape& x = n.op() == "Slice" ? n.input(0)->shape() : Shape();
  if (!x.ranked() || n.input_count() < 4) return std::nullopt;
  for (std::size_t i = 1; i < n.input_count(); ++i)
    if (!n.input(i) || !n.input(i)->constant() || n.input(i)->constant()->elements() != 1)
      return std::nullopt;
  const auto at = [&](std::size_t i) { return n.input(i)->constant()->int_at(0); };
  const std::int64_t axis = at(3) < 0 ? at(3) + x.rank() : at(3);
  if (axis < 0 || axis >= x.rank() || (n.input_count() == 5 && at(4) != 1)) return std::nullopt;
  const Dim size = x[static_cast<int>(axis)];
  if (!is_known(size)) return std::nullopt;
  const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? i + size : i, std::int64_t{0}, size); };
  return Piece{&n, axis, place(at(1)), place(at(2))};
}

// All the Slices of what the node takes a piece of, in their order, when they part its axis.
std::vector<Piece> parted(ir::Node& n, std::int64_t axis) {
  std::vector<Piece> pieces;
  const Value& x = *n.input(0);
  for (const ir::Use& u : x.uses()) {
    const auto p = u.input == 0 && u.node->graph() == n.graph() ? piece(*u.node) : std::nullopt;
    if (p && p->axis == axis) pieces.push_back(*p);
  }
  std::ranges::sort(pieces, [](const Piece& a, const Piece& b) { return a.first < b.first; });
  std::int64_t end = 0;
  for (const Piece& p : pieces) {
    if (p.first != end || p.last <= p.first) return {};
    end = p.last;
  }
  return pieces.size() > 1 && end == x.shape()[static_cast<int>(axis)] ? pieces : std::vector<Piece>();
}

int split(ir::Graph& g, const onnx::Target& target) {
  const onnx::DTypeSet types = kernel_types("Split", target);
  std::set<std::pair<const Value*, std::int64_t>> tried;  // and the axis
  int changes = 0;
  for (ir::Node* n = g.first(); n; n = n->next()) {
    if (n->op() != "Slice" || !types.has(n->output()->dtype()) || !n->output()->is_used()) continue;
    const auto own = piece(*n);
    if (!own || !tried.emplace(n->input(0), own->axis).second) continue;
    const std::vector<Piece> pieces = parted(*n, own->axis);
    if (pieces.empty()) continue;
    Ints sizes;
    for (const Piece& p : pieces) sizes.push_back(p.last - p.first);
    Emitter e(*n, target);
    const Values parts = e.split(n->input(0), sizes, pieces[0].axis);
    for (std::size_t i = 0; i < pieces.size(); ++i) take_over(g, pieces[i].node->output(), parts[i]);
    for (const Piece& p : pieces)
      if (p.node != n) g.erase(*p.node);
    ++changes;
  }
  return changes;
}

}  // namespace

Rewriter split_slices(const onnx::Target& target) {
  return {"split_slices", [target](ir::Graph& g) { return split(g, target); }, {"Slice"}};
}

}  // namespace t2o::rewriters
