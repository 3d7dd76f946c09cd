#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "tf/import.h"

namespace t2o::tf {

// What a variable's handle is in a frozen graph: the variable's value.
struct Frozen {
  DType dtype = DType::undefined;
  Shape shape;
};
using FrozenArgs = std::vector<std::optional<Frozen>>;  // of a function, by argument; may be shorter

// The main graph, or a function for certain arguments.
struct Scope {
  std::string name;  // of the function that is written; empty: the main graph
  const NodeList* nodes = nullptr;
  FunctionDef function = {};
  FrozenArgs args = {};
  std::unordered_map<std::string_view, const NodeDef*> index = {};
  std::map<std::pair<const NodeDef*, std::size_t>, std::optional<Frozen>> known = {};
  bool is_function() const { return !name.empty(); }
};

struct TensorRef {  // "node", "node:1", "^node"; in a function "argument" and "node:output:1"
  std::string_view node, output;
  std::size_t index = 0;
  bool control = false;
};
TensorRef parse_ref(std::string_view tensor, bool in_function);

std::vector<std::string_view> data_inputs(const NodeDef&);

// How a node calls functions; null for a node that does not.
struct CallForm {
  std::string_view op;
  std::size_t first_argument;             // among the data inputs
  std::string_view input_types, output_types;  // attributes
};
const CallForm* call_form(std::string_view op);

// Which tensors are handles of variables, and what functions become where they get such ones.
class Scopes {
 public:
  Scopes(const GraphDef&, std::function<TensorPtr(const VariableRef&)> variable);

  Scope& main() { return main_; }
  bool is_function(std::string_view op) const { return library_.contains(op); }
  std::optional<Frozen> handle(Scope&, std::string_view tensor);
  FrozenArgs arguments(Scope&, const NodeDef&, std::size_t first_argument);
  Scope& function(std::string_view name, const FrozenArgs&);  // it is written then
  Scope* next();                                              // that nobody has written yet
  TensorPtr value(const NodeDef& variable) const;
  const Owner& owner() const { return graph_.owner; }

 private:
  std::optional<Frozen> find_handle(Scope&, const NodeDef&, const TensorRef&);
  std::optional<Frozen> result_of_call(Scope&, const NodeDef&, const TensorRef&);

  const GraphDef& graph_;
  std::function<TensorPtr(const VariableRef&)> variable_;
  std::unordered_map<std::string_view, const RawFunction*> library_;
  Scope main_;
  std::deque<Scope> functions_;
  std::size_t next_ = 0;
  std::map<std::string, Scope*> by_arguments_;
  std::set<std::string, std::less<>> names_;
  int depth_ = 0;
};

}  // namespace t2o::tf
