#pragma once
#include <functional>
#include <unordered_map>

#include "op_mappers/conversion_registry.h"
#include "op_mappers/graph_context.h"

namespace t2o {

// The inputs' shapes as a use of the walk supposes them; other inputs have their own.
using SupposedShapes = std::unordered_map<const Value*, Shape>;

// One walk over a source graph: maps each node, with its subgraphs, and records what each value of the source became. map_ops
// makes the model of it, infer_shapes takes the shapes, and remedies ask which nodes it could map.
class Walk {
 public:
  struct Failure {
    std::size_t diagnostic;        // in diagnostics()
    const ir::Node *node, *top;    // `top`: the node of the main graph that holds it
  };

  Walk(const ir::Graph& source, const ConversionRegistry&, ListPlan&, const SupposedShapes& = {});
  void run();

  const GraphPtr& graph() const { return root_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  const std::vector<Failure>& failures() const { return failures_; }
  void forget(std::size_t before);  // the diagnostics from this one on, and their failures
  bool has_mapped(const ir::Node&) const;
  const Mapped* find(const Value* v) const;  // null: it was not mapped
  Value* mapped(const Value*);               // null: its node failed

  // For GraphContext, which says what they do.
  MappedValues map(const ir::Graph& source, const MappedValues& inputs, const std::vector<bool>& wanted, ir::Graph& into);
  ListPlan& lists() { return lists_; }
  std::vector<VariableType>& settled(const ir::Node& loop) { return settled_[&loop]; }

 private:
  class Inside;
  void add_interface();
  Shape shape_of(const Value&) const;
  void note_pairs(const std::string& what, const Value&);
  Mapped& entry(const Value*);
  void map_node(const ir::Node&);
  void finish(const ir::Node&, const MappedValues& in, MappedValues results);
  void note_unread(const ir::Node&, const OpRegistry::Entry&, const MapperContext&);

  const ir::Graph& source_;
  const ConversionRegistry& registry_;
  const Target& target_;
  ListPlan& lists_;
  const SupposedShapes& supposed_;
  Diagnostics diagnostics_;
  std::vector<Failure> failures_;
  const ir::Node* top_ = nullptr;  // the node of the main graph that is being mapped
  GraphPtr root_;
  ir::Graph* out_;  // the root, or its subgraph that is being filled
  std::unordered_map<const Value*, Mapped> mapped_;
  std::unordered_map<const ir::Node*, std::vector<VariableType>> settled_;  // by loop
};

// Walks until it is known which lists are sequences: each walk after the first one follows from lists that it found.
void walk(const ir::Graph& source, const ConversionRegistry&, const SupposedShapes&, const std::function<void(Walk&)>& use);

}  // namespace t2o
