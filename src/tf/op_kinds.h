#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tfgraph/internal_ops.h"

namespace t2o::tf {

struct OpDef;

enum class OpKind : std::uint8_t {
  ordinary,
  constant,
  placeholder,
  placeholder_with_default,
  pass_through,       // its output is its first input
  pass_through_each,  // each output is the input of the same position
  ensure_shape,
  no_data,  // NoOp, Assert ...: only control edges
  variable_handle,
  variable_reference,
  read_variable,
  write_variable,  // its first input is the variable
  dequeue,         // the next element of a dataset or a queue: what it gives are inputs of the model
  call,            // of the function in attribute f
  function,        // the op is a function's name
  if_,             // functional, as are the two below
  case_,
  while_,
  computation,     // holds functions of its elements, whose arguments are not its inputs: a reduction's, a sort's
  switch_,         // TF1's control flow: that of conditionals, which loops end by, too
  switch_n,        // one output for each side
  merge,           // may be the end of a loop's back edge
  next_iteration,  // its start
  enter,
  exit,
  loop_cond,
  guarded,  // kGuarded
  refused,
};

using tfgraph::kGuarded;

// Of an op by its name, where that says it; RefSwitch is what Switch is.
OpKind op_kind(std::string_view op);
// Of an op that a file names. Its definition (null: nobody knows the op) says whether it writes a variable; those
// that only the importer and the rewriters may make are refused.
OpKind op_kind(std::string_view op, const OpDef*);

inline bool passes_through(OpKind k) { return k == OpKind::pass_through || k == OpKind::pass_through_each; }
inline bool is_variable(OpKind k) { return k == OpKind::variable_handle || k == OpKind::variable_reference; }
inline bool is_functional(OpKind k) { return contains({OpKind::if_, OpKind::case_, OpKind::while_}, k); }
inline bool runs_functions(OpKind k) { return k == OpKind::call || k == OpKind::function || is_functional(k); }
inline bool is_any_switch(OpKind k) { return k == OpKind::switch_ || k == OpKind::switch_n; }
inline bool draws_control_flow(OpKind k) { return k >= OpKind::switch_ && k <= OpKind::guarded; }

// The number of the input that the output is, or none; of a Merge it is not known before it runs.
std::optional<std::size_t> handed_on_input(OpKind, std::size_t output);

}  // namespace t2o::tf
