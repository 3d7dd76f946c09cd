#pragma once
#include "op_mappers/context.h"
#include "op_mappers/list_types.h"

namespace t2o {

// A loop variable between two rounds.
struct VariableType {
  Shape shape;  // of the ONNX value
  std::shared_ptr<const ListType> list;  // null: no list
};

class Walk;

// The context of a node that works on more than tensors: it holds subgraphs, or its operands may be lists.
class GraphContext : public MapperContext {
 public:
  GraphContext(const ir::Node& source, MappedValues in, ir::Graph& out, const Target& target, Walk& walk)
      : MapperContext(source, values_of(in), out, target), mapped_(std::move(in)), walk_(&walk) {}

  const MappedValues& mapped() const { return mapped_; }
  const ListType& list(std::size_t input) const {
    if (input >= mapped_.size() || !mapped_[input].list)
      fail(Code::bad_model, "input " + std::to_string(input) + " is no TensorList");
    return *mapped_[input].list;
  }
  List list_at(std::size_t input) const { return {in(input), list(input)}; }
  ListPlan& lists();

  // Emits the nodes that the wanted outputs of `source` need into `into`. The inputs of `source` are replaced by values
  // that `into` can read. Returns the outputs; null for an output that is not wanted, and for one whose node failed
  // (which is reported).
  MappedValues map(const ir::Graph& source, const MappedValues& inputs, const std::vector<bool>& wanted, ir::Graph& into);
  // The types on which the variables of this loop settled when it was mapped before; empty before the first time.
  std::vector<VariableType>& settled();
  // Drops what was reported since `before`, the earlier result of reported(), if it is notes alone: for a graph that is mapped
  // again.
  std::size_t reported() const;
  void drop_notes(std::size_t before);
  void forget(std::size_t before);  // drops all that was reported since, errors too: for an attempt that may fail
  bool failed() const { return failed_; }  // an error was reported; the node has no results

  static Values values_of(const MappedValues& mapped) {
    Values values;
    for (const Mapped& m : mapped) values.push_back(m.value);
    return values;
  }

 private:
  MappedValues mapped_;
  Walk* walk_;
  bool failed_ = false;
};

}  // namespace t2o
