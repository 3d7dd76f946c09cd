#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tf/body.h"
#include "tf/import.h"
#include "tf/state_effects.h"

namespace t2o::tf {

// A tensor while the import runs. A variable's handle becomes a constant only when a node reads it.
struct Item {
  Value* value = nullptr;
  std::int32_t variable = -1;
  bool operator==(const Item&) const = default;
};

struct Variable {
  VariableRef ref;
  Value* value = nullptr;
  Value* changed = nullptr;  // what the model leaves in it, where that is handed on
};

// A functional If, While or Case that waits for its branches to be imported, or an op for its computations.
struct PendingNode {
  std::uint32_t node;
  struct Branch {
    std::size_t attr;  // in attrs
    Func function;
  };
  Attrs attrs;
  std::vector<Item> inputs;
  std::vector<Branch> branches;
  std::vector<GraphPtr> graphs;  // of the branches that are done
};

struct LateEdge {  // of a loop's Merge, set when its source exists
  ir::Node* node;
  std::size_t input;
  InputRef source;
};

// One body in the making: the graph, a function call or a branch. Frames stand on a stack of our own, since
// calls may nest deeply.
struct Frame {
  enum class Kind : std::uint8_t { main, call, branch };
  enum State : std::uint8_t { unseen, open, done };
  struct Outputs {
    std::uint32_t first = 0, count = 0;  // in items
    bool failed = false;
  };

  Kind kind = Kind::main;
  Body* body = nullptr;
  ir::Graph* graph = nullptr;
  GraphPtr owned = {};  // a branch's graph
  Attrs attrs = {};     // of the call: what the function's "$T" stand for
  std::string prefix = {}, short_prefix = {};
  std::vector<Item> args = {};
  Values branch_inputs = {};
  const std::vector<bool>* needed = nullptr;
  std::vector<State> state = {};
  std::vector<Outputs> outputs = {};
  std::vector<Item> items = {};
  std::vector<std::uint32_t> stack = {};
  std::size_t next = 0;
  std::vector<LateEdge> late = {};
  std::unordered_map<std::uint32_t, Value*> changes = {};  // what nodes that others follow change a variable to
  std::unique_ptr<PendingNode> pending = {};
};

class Importer {
 public:
  Importer(const GraphDef&, const ImportRequest&, Diagnostics&);
  Importer(const Importer&) = delete;
  GraphPtr run();
  Interface interface();  // of the graph that was run for
  void tell_lost_changes();  // of variables, what the graph as it is now does not do: lost_changes.cpp

 private:
  struct Tensor {  // of the main graph
    std::int32_t node = 0, output = 0;
  };

  // importer.cpp: the interface
  GraphPtr import();
  void note_found_outputs(Severity);
  std::vector<Feed> feeds_or_placeholders();
  std::vector<Tensor> locate_all(const std::vector<Fetch>&);
  bool locate(const std::string& tensor, std::string_view what, Tensor&);
  template <class T> void name_found(std::vector<T>& found, const std::vector<std::string>& names, const char* option);
  void add_feed(const Feed&, Tensor);
  std::vector<std::uint32_t> needed_roots() const;
  void mark_needed();
  void set_outputs(Frame&);
  void tell_draws(bool may_keep);
  bool take_name(Value*, const std::string& wanted);
  void add_states(Values& outputs, std::unordered_set<const Value*>& taken);
  ir::OutputSpec known_type(Tensor);
  bool is_fed(const InputRef& in) const { return !fed_.empty() && fed_.contains(key({in.node, in.output})); }
  static std::uint64_t key(Tensor t) {
    return static_cast<std::uint64_t>(t.node) << 32 | static_cast<std::uint32_t>(t.output);
  }

  // dequeue.cpp: elements of datasets and queues
  std::vector<std::int32_t> components_read(std::uint32_t node);
  void note_components(std::uint32_t node);
  std::vector<Item> import_components(Frame&, std::uint32_t node);

  // changes.cpp: states
  bool hands_on_change(const Frame&, std::uint32_t node) const;
  std::vector<Item> import_change(Frame&, std::uint32_t node, const std::vector<Item>& inputs);
  Value* changed_value(Frame&, std::uint32_t node, const std::vector<Item>& inputs);
  Value* changed(Frame&, std::uint32_t node);  // what the variable that it reads has been changed to

  // walk.cpp: the order of things
  void push_frame(Frame);
  void step();
  void expand(Frame&, std::uint32_t node);
  void give_up(const std::string& why);
  void report_cycle(const Frame&, std::uint32_t node);
  void finish_frame();
  void finish_branch(Frame&, const std::vector<Item>& results);
  void deliver(std::vector<Item>);  // the outputs of the node on top of the top frame
  void deliver_failure();

  // import_node.cpp: one node
  void process(Frame&, std::uint32_t node);
  std::vector<Item> import_leaf(Frame&, std::uint32_t node, const std::vector<Item>& inputs);
  std::vector<Item> import_constant(Frame&, std::uint32_t node);
  std::vector<Item> import_placeholder(Frame&, std::uint32_t node, const std::vector<Item>& inputs);
  std::vector<Item> import_variable(Frame&, std::uint32_t node);
  std::vector<Item> import_node(Frame&, std::uint32_t node, const std::vector<Item>& inputs);
  static void check_inputs(const DTypes& types, const std::vector<Item>& inputs);
  std::vector<Item> add_node(Frame&, std::uint32_t node, Attrs, const std::vector<Item>& inputs);
  Attrs decode_attrs(const Frame&, std::uint32_t node) const;
  Shapes output_shapes(const Frame&, std::uint32_t node, const Attrs&, std::size_t count) const;
  std::vector<Item> inputs_of(Frame&, std::uint32_t node);
  std::optional<Item> find_item(const Frame&, const InputRef&);
  Value* value(const Item&);
  Value* poison();
  void guard(Frame&, std::uint32_t node, std::vector<Item>& results);
  Item item_or_poison(const std::optional<Item>& i) { return i ? *i : Item{poison()}; }
  Value* identity(ir::Graph&, Value*, std::string name);
  void refine_shape(Value*, const Shape&);
  std::string node_name(const Frame&, std::string_view name);  // without the levels that only tell of calls
  Origin origin(const Frame&, std::uint32_t node) const;
  void report(const Frame&, std::uint32_t node, Diagnostic);

  // calls.cpp: calls and branches
  Body& enter(const std::string& function);
  void begin_call(Frame&, std::uint32_t node, const std::vector<Item>& inputs);
  void begin_control_flow(Frame&, std::uint32_t node, const std::vector<Item>& inputs);
  void begin_branch(Frame&, std::uint32_t node);
  void check_results(const Frame&, const PendingNode&) const;
  void end_branch(GraphPtr);
  void add_branch_inputs(Frame&, const PendingNode&, bool is_loop);
  void add_own_inputs(Frame&);
  Shape argument_shape(const Frame&, std::size_t argument) const;
  bool is_invariant(const PendingNode& loop, std::size_t i);

  const ImportRequest* request_;
  Diagnostics* diagnostics_;
  Bodies bodies_;
  GraphPtr graph_;
  std::deque<Frame> frames_;
  std::vector<Variable> variables_;
  std::map<std::string, std::int32_t> variable_ids_;
  std::vector<State> states_;
  std::vector<LostChange> lost_changes_;
  std::unordered_map<std::uint64_t, Value*> fed_;  // node and output of the main graph
  std::unordered_map<const Value*, std::string> input_tensors_;
  std::vector<bool> main_needed_;
  std::vector<Fetch> fetches_;
  std::vector<Tensor> fetched_;
  std::unordered_set<std::string> short_names_;
  Value* poison_ = nullptr;
  std::size_t nodes_made_ = 0;
  std::size_t calls_ = 0;
  bool cycle_reported_ = false, gave_up_ = false;
  bool trust_shapes_ = true;  // not where the user has given the inputs other shapes
};

}  // namespace t2o::tf
