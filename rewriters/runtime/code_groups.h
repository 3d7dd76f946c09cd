#pragma once
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

// The int8 values of a model, in groups: the values of one group have to be of one type, because operators move codes from one to
// the other, or compare them.
namespace t2o::rewriters {

bool moves_codes(const ir::Node&);     // its results of int8 are codes of its inputs, in the order of their size or of their places
bool compares_codes(const ir::Node&);  // its results depend on the order of the codes alone
bool is_offset_type(DType);            // integers and floats that hold code + 128 for each code

class CodeGroups {
 public:
  explicit CodeGroups(ir::Graph& main);

  // The value may be of u8: all operators of its group can follow, and one of them is a QuantizeLinear or a DequantizeLinear.
  bool may_be_unsigned(const Value*) const;
  // The scale and the zero point of a QuantizeLinear or DequantizeLinear of the group; null: these are no single numbers.
  const ir::Node* scaled_by(const Value*) const;
  std::vector<Value*> values() const;  // that may be of u8, in the order of the graph

 private:
  struct Group {
    std::size_t parent = 0;
    bool is_fixed = false, is_used = false;
    const ir::Node* scale = nullptr;
  };
  std::size_t add(Value*);
  std::size_t root(std::size_t) const;
  void join(Value*, Value*);
  void fix(Value*);
  void visit(const ir::Node&);
  void visit_conversion(const ir::Node&);
  void visit_cast(const ir::Node&);
  void visit_subgraphs(const ir::Node&);
  const Group* group_of(const Value*) const;

  std::unordered_map<const Value*, std::size_t> index_;
  std::vector<Value*> values_;
  std::vector<Group> groups_;
};

}  // namespace t2o::rewriters
