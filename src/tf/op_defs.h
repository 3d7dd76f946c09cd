#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/graph.h"

namespace t2o::tf {

// One formal input or output; it stands for several tensors when it has a number_attr or a type_list_attr.
struct ArgDef {
  std::string name;
  DType type = DType::undefined;
  std::string type_attr, number_attr, type_list_attr;
  bool is_ref = false;
};

struct AttrDef {
  std::string name, type;  // "int", "list(shape)", "func" ...
  std::optional<Attr> fallback;
};

struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs, outputs;
  std::vector<AttrDef> attrs;
  bool stateful = false, commutative = false;
  const AttrDef* attr(std::string_view name) const;
};

std::vector<std::string_view> op_def_names();  // sorted
const OpDef* find_op_def(std::string_view op);  // of TensorFlow itself; null when it has no such op
OpDef parse_op_def(Bytes op_def, const Owner& owner);

const Attr* find_attr(const Attrs&, std::string_view name);  // null when absent

// The tensors that an argument stands for, and the types of all of a node's inputs or outputs. They refuse
// (bad_model) attributes that are missing or out of bounds.
std::size_t tensor_count(const ArgDef&, const Attrs&);
DTypes tensor_types(const std::vector<ArgDef>&, const Attrs&);

void add_defaults(const OpDef&, Attrs&);  // of the attributes that are absent: exporters strip them

}  // namespace t2o::tf
