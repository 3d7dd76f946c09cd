#pragma once
#include "op_mappers/context.h"

namespace t2o {

// Maps what stands in a source node's subgraphs; map_ops.cpp has it.
class SubgraphMapper {
 public:
  // Nodes that were mapped, and those of them that stand in graphs that were mapped to learn something and then
  // discarded. In graphs in graphs the latter can double with each.
  struct Effort {
    std::size_t mapped = 0, discarded = 0;
  };

  virtual ~SubgraphMapper() = default;
  // Makes what the wanted outputs of `source` need as nodes of `into`, its inputs standing for values that
  // `into` sees. The outputs: null where they are not wanted, and where a node failed, which is reported
  // then.
  virtual Values map(const ir::Graph& source, const Values& inputs, const std::vector<bool>& wanted,
                     ir::Graph& into) = 0;
  Effort effort;
};

// What a mapper sees of a node that holds subgraphs. Every context of map_ops is one.
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

  // A mapper that another applies has a plain context.
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
  bool failed() const { return failed_; }  // and reported: the node has no results then

 private:
  SubgraphMapper* mapper_;
  SubgraphContext* outer_;                                       // that maps the graph around
  inline static thread_local SubgraphContext* innermost_ = nullptr;  // of the contexts that are being mapped
  bool failed_ = false;
};

}  // namespace t2o
