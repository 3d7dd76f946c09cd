#pragma once
#include "op_mappers/context.h"
#include "op_mappers/list_types.h"

namespace t2o {

// A loop variable between two rounds.
struct VariableType {
  Shape shape;  // of the ONNX value
  std::shared_ptr<const ListType> list;  // null: no list
};

// Maps the graphs that a source node holds; walk.cpp implements it.
class SubgraphMapper {
 public:
  virtual ~SubgraphMapper() = default;
  // Emits the nodes that the wanted outputs of `source` need into `into`. The inputs of `source` are replaced by values
  // that `into` can read. Returns the outputs; null for an output that is not wanted, and for one whose node failed
  // (which is reported).
  virtual MappedValues map(const ir::Graph& source, const MappedValues& inputs, const std::vector<bool>& wanted,
                           ir::Graph& into) = 0;
  virtual ListPlan& lists() = 0;
  // The types on which the variables of this loop settled when it was mapped before; empty before the first time.
  virtual std::vector<VariableType>& settled(const ir::Node& loop) = 0;
};

// The context of a node that works on more than tensors: it holds subgraphs, or its operands may be lists.
class GraphContext : public MapperContext {
 public:
  GraphContext(const ir::Node& source, MappedValues in, ir::Graph& out, const Target& target, SubgraphMapper& mapper)
      : MapperContext(source, values_of(in), out, target), mapped_(std::move(in)), mapper_(&mapper) {}

  const MappedValues& mapped() const { return mapped_; }
  const ListType& list(std::size_t input) const {
    if (input >= mapped_.size() || !mapped_[input].list)
      fail(Code::bad_model, "input " + std::to_string(input) + " is no TensorList");
    return *mapped_[input].list;
  }
  List list_at(std::size_t input) const { return {in(input), list(input)}; }
  ListPlan& lists() { return mapper_->lists(); }

  MappedValues map(const ir::Graph& source, const MappedValues& inputs, const std::vector<bool>& wanted, ir::Graph& into) {
    MappedValues out = mapper_->map(source, inputs, wanted, into);
    for (std::size_t i = 0; i < out.size(); ++i) failed_ = failed_ || (wanted[i] && !out[i].value);
    return out;
  }
  std::vector<VariableType>& settled() { return mapper_->settled(node()); }
  bool failed() const { return failed_; }  // an error was reported; the node has no results

  static Values values_of(const MappedValues& mapped) {
    Values values;
    for (const Mapped& m : mapped) values.push_back(m.value);
    return values;
  }

 private:
  MappedValues mapped_;
  SubgraphMapper* mapper_;
  bool failed_ = false;
};

}  // namespace t2o
