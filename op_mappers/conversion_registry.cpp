#include "op_mappers/conversion_registry.h"

#include "ir/nesting.h"
#include "onnx/raise_opset.h"

namespace t2o {

std::optional<Way> ConversionRegistry::way_by(const OpRegistry& rows, const ir::Node& n,
                                              const std::string& form) const {
  if (!rows.knows(form)) return std::nullopt;
  Way way{rows.find(form, target_.opset), std::nullopt, rows.lowest_opset(form)};
  if (!way.row)
    way.refusal = Refusal{"needs opset " + std::to_string(way.lowest_opset) + ", the target is " +
                              std::to_string(target_.opset),
                          onnx::raise_opset(way.lowest_opset, target_), Code::opset_too_low};
  else if (way.row->refuses)
    way.refusal = way.row->refuses(n);
  return way;
}

Way ConversionRegistry::way_of(const ir::Node& n) const {
  const std::string form = OpRegistry::form_of(n);
  std::optional<Way> lowest;  // of the rows that hold at higher opsets
  for (std::size_t i = 0; i <= overlays_.size(); ++i) {
    const OpRegistry& rows = i < overlays_.size() ? overlays_[overlays_.size() - 1 - i] : *dialect_;
    std::optional<Way> way = way_by(rows, n, form);
    if (way && way->row) return *way;
    if (way && (!lowest || way->lowest_opset < lowest->lowest_opset)) lowest = std::move(way);
  }
  if (lowest) return *lowest;
  if (dialect_->knows(n.op()))
    return {nullptr,
            Refusal{n.op() + " of complex numbers is not supported", "{cut}", Code::unsupported_type}};
  return {nullptr, refusal_of(n.op())};
}

std::vector<std::pair<const ir::Node*, Way>> ConversionRegistry::without_way(
    const ir::Graph& main_graph) const {
  std::vector<std::pair<const ir::Node*, Way>> found;
  ir::for_each_node(main_graph, [&](const ir::Node& n) {
    if (Way way = way_of(n); !way) found.emplace_back(&n, std::move(way));
  });
  return found;
}

}  // namespace t2o
