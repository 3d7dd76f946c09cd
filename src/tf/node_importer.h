#pragma once
#include <map>
#include <string>

#include "tf/import_frame.h"
#include "tf/main_interface.h"

namespace t2o::tf {

// Imports single nodes: all but calls and control flow.
class NodeImporter {
 public:
  NodeImporter(ImportContext& c, MainInterface& i) : c_(c), interface_(i) {}

  Values import_leaf(Frame&, std::uint32_t node, const Values& inputs);
  Values add_node(Frame&, std::uint32_t node, Attrs, const Values& inputs);
  Values inputs_of(Frame&, std::uint32_t node);
  Value* find(Frame&, const InputRef&);  // null: there is none
  Value* find_or_poison(Frame&, const InputRef&);
  Value* plain(Frame&, std::uint32_t reader, Value*);  // of a reference variable: what it holds when the node reads it
  void guard(Frame&, std::uint32_t node, Values& results);
  void refine_shape(Value*, const Shape&);
  std::vector<Variable>& variables() { return variables_; }

 private:
  Values import_constant(Frame&, std::uint32_t node);
  Values import_placeholder(Frame&, std::uint32_t node, const Values& inputs);
  Values import_variable(Frame&, std::uint32_t node);
  Value* read(Frame&, std::uint32_t reader, Value* handle);
  Values import_write(Frame&, std::uint32_t node, const Values& inputs);
  void report_missing(const Frame&, std::uint32_t node, std::size_t first, std::size_t count);
  std::size_t first_output(Frame&, std::uint32_t node, std::size_t argument);  // the number of the argument's first tensor
  static void check_inputs(const DTypes& types, const Values& inputs);
  Shapes output_shapes(const Frame&, std::uint32_t node, const Attrs&, std::size_t count) const;

  ImportContext& c_;
  MainInterface& interface_;
  std::vector<Variable> variables_;
  std::map<std::string, std::size_t> variable_ids_;
};

}  // namespace t2o::tf
