#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "op_mappers/refusals.h"
#include "op_mappers/registry.h"

namespace t2o {

// How a node is converted: by a row, or not at all for a reason.
struct Way {
  const OpRegistry::Entry* row = nullptr;
  std::optional<Refusal> refusal;
  int lowest_opset = 0;  // at which the node has a row; 0: at none
  explicit operator bool() const { return row && !refusal; }
};

// The rows of one conversion: those of the source's dialect, and overlays that come before them. An overlay adds ops or
// replaces rows: the ops of --custom-ops are one.
class ConversionRegistry {
 public:
  explicit ConversionRegistry(onnx::Target target = {}, const OpRegistry& dialect = tf_registry())
      : target_(std::move(target)), dialect_(&dialect) {}

  void add_overlay(OpRegistry rows) { overlays_.push_back(std::move(rows)); }  // later ones come first

  const onnx::Target& target() const { return target_; }
  Way way_of(const ir::Node&) const;

  // The nodes of a graph and of its subgraphs that have no way. The mapping need not be tried for that.
  std::vector<std::pair<const ir::Node*, Way>> without_way(const ir::Graph&) const;

 private:
  std::optional<Way> way_by(const OpRegistry&, const ir::Node&, const std::string& form) const;  // none: no row is for the op

  onnx::Target target_;
  const OpRegistry* dialect_;
  std::vector<OpRegistry> overlays_;
};

}  // namespace t2o
