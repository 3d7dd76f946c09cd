#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tf/graph_def.h"
#include "tf/name_index.h"
#include "tf/op_kinds.h"

namespace t2o::tf {

struct Body;

// What is to be known of an op; one per op and import.
struct OpInfo {
  OpKind kind = OpKind::ordinary;
  const OpDef* def = nullptr;  // null: nobody knows the op
  Body* function = nullptr;    // of OpKind::function
  bool holds_functions = false;  // among its attributes; for an op that is no call and no control flow
};

// Where a data input comes from.
struct InputRef {
  std::int32_t node = -1;      // of the same body; below 0: not a node
  std::int32_t argument = -1;  // of the function
  std::int32_t output = 0;     // the tensor's number; with output_arg >= 0 counted from that formal output on
  std::int32_t output_arg = -1;
};

// The nodes of the graph or of a function, with their edges resolved; made once, read by every call.
struct Body {
  std::string name;  // of the function; empty for the graph itself
  const RawFunction* raw = nullptr;
  const OpDef* signature = nullptr;  // null for the graph itself
  FunctionDef function;
  const NodeList* list = nullptr;
  NameIndex index;
  std::vector<const OpInfo*> ops;
  std::vector<std::uint32_t> first_input;   // of each node in `inputs`, and one past the end
  std::vector<InputRef> inputs;             // data inputs only
  std::vector<std::uint32_t> outputs_seen;  // of ops that nobody knows: highest output that is read, plus 1
  std::vector<InputRef> results;            // of the function, by output argument
  std::vector<bool> needed;                 // for the function's results
  std::vector<std::uint32_t> order;         // of the needed nodes, if some of them write variables: the order in which they run
  std::vector<std::int32_t> handed_on;      // for each result the argument that it is unchanged, or -1
  std::vector<std::uint32_t> plan;          // the needed nodes: first those of `order`, then the others; made by plan_nodes()
  std::vector<std::uint32_t> place;         // of each node in `plan`; plan.size() for a node that is not needed
  std::vector<bool> guarded;                // the last input is what a control edge from a conditional's side names; may be empty
  bool prepared = false, active = false;    // active: a call of it is being imported

  const NodeDef& node(std::size_t i) const { return list->nodes[i]; }
  std::size_t size() const { return list->nodes.size(); }
  bool is_guarded(std::size_t i) const { return !guarded.empty() && guarded[i]; }
  std::span<const InputRef> inputs_of(std::size_t i) const {
    return std::span(inputs).subspan(first_input[i], first_input[i + 1] - first_input[i]);
  }
};

// The graph's and the functions' bodies, prepared when first asked for. Refusals go to the diagnostics.
class Bodies {
 public:
  Bodies(const GraphDef&, Diagnostics&);
  Body& main() { return main_; }
  Body* function(std::string_view name);  // prepared; null when there is no such function
  void prepare(Body&);
  const GraphDef& graph() const { return *graph_; }

 private:
  void load(Body&);  // reads the function, without resolving its edges
  const OpInfo* op_info(std::string_view op);
  const OpDef* op_def(std::string_view op);
  void resolve_inputs(Body&);
  InputRef resolve_function_ref(const Body&, std::string_view ref);
  InputRef resolve_graph_ref(const Body&, std::string_view ref);
  void mark_needed(Body&);
  void add_guards(Body&);
  InputRef find_side(const Body&, std::uint32_t node) const;

  const GraphDef* graph_;
  Diagnostics* diagnostics_;
  Body main_;
  std::unordered_map<std::string_view, Body> functions_;
  std::unordered_map<std::string_view, OpInfo> ops_;
  std::unordered_map<std::string, OpDef> extra_ops_;
};

void plan_nodes(Body&, const std::vector<bool>& needed);  // once, when it is known what is needed
bool is_back_edge(const Body&, std::size_t node, const InputRef&);  // from a NextIteration to a Merge
std::pair<std::string_view, std::int64_t> split_tensor_name(
    std::string_view);  // "a:1" -> a, 1; -1 when it is not a number

// Marks all nodes that data edges lead to from the roots; `stop` says where an edge is cut.
template <class Stop>
std::vector<bool> reachable(const Body& body, std::vector<std::uint32_t> work, Stop&& stop) {
  std::vector<bool> seen(body.size());
  for (const std::uint32_t n : work) seen[n] = true;
  while (!work.empty()) {
    const std::uint32_t n = work.back();
    work.pop_back();
    for (const InputRef& in : body.inputs_of(n)) {
      if (in.node < 0 || seen[static_cast<std::size_t>(in.node)] || stop(in)) continue;
      seen[static_cast<std::size_t>(in.node)] = true;
      work.push_back(static_cast<std::uint32_t>(in.node));
    }
  }
  return seen;
}

}  // namespace t2o::tf
