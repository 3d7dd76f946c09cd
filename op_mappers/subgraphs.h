#pragma once
#include "op_mappers/context.h"

namespace t2o {

// Maps the subgraphs of a source node; map_ops.cpp implements it.
class SubgraphMapper {
 public:
  // The number of mapped nodes, and of those among them in graphs that were mapped only as a trial and then discarded.
  // Each level of nested graphs can double the second number.
  struct Effort {
    std::size_t mapped = 0, discarded = 0;
  };

  virtual ~SubgraphMapper() = default;
  // Emits the nodes that the wanted outputs of `source` need into `into`. The inputs of `source` are replaced by values
  // that `into` can read. Returns the outputs; null for an output that is not wanted, and for one whose node failed
  // (which is reported).
  virtual Values map(const ir::Graph& source, const Values& inputs, const std::vector<bool>& wanted,
                     ir::Graph& into) = 0;
  Effort effort;
};

// The context of a node that holds subgraphs. Every context of map_ops is one.
class SubgraphContext : public MapperContext {
 public:
  SubgraphContext(const ir::Node& source, Values in, ir::Graph& out, const Target& target,
                  SubgraphMapper& mapper)
      : MapperContext(source, std::move(in), out, target), mapper_(&mapper), outer_(innermost_) {
    innermost_ = this;
  }
  ~SubgraphContext() { innermost_ = outer_; }
  SubgraphContext(const SubgraphContext&) = delete;
  SubgraphContext& operator=(const SubgraphContext&) = delete;

  // A mapper that another mapper applies has a plain context.
  static SubgraphContext& of(MapperContext& c) {
    for (SubgraphContext* mine = innermost_; mine; mine = mine->outer_)
      if (mine == &c) return *mine;
    c.fail(Code::internal, "its mapper was applied by another, which has no subgraphs to map");
  }

  Values map(const ir::Graph& source, const Values& inputs, const std::vector<bool>& wanted,
             ir::Graph& into) {
    Values out = mapper_->map(source, inputs, wanted, into);
    for (std::size_t i = 0; i < out.size(); ++i) failed_ = failed_ || (wanted[i] && !out[i]);
    return out;
  }
  SubgraphMapper::Effort& effort() { return mapper_->effort; }
  bool failed() const { return failed_; }  // an error was reported; the node has no results

 private:
  SubgraphMapper* mapper_;
  SubgraphContext* outer_;                                       // the context that maps the graph around
  inline static thread_local SubgraphContext* innermost_ = nullptr;  // among the contexts that are being mapped
  bool failed_ = false;
};

}  // namespace t2o
