#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "tf/op_kinds.h"

namespace t2o::tf {

using Nodes = std::vector<ir::Node*>;

bool is_op(const ir::Node&, OpKind);
bool is_op(const Value*, OpKind);  // made by such a node
bool is_loop_edge(const ir::Node& reader, const Value*);  // from a NextIteration to a Merge
bool hands_on(const ir::Node&);  // a node of loops or conditionals whose results are its input
[[noreturn]] void refuse(const ir::Node&, Code, std::string why, std::string remedy = "");

Values reads_of(const ir::Node&);  // its inputs, and what its subgraphs read of the graphs around them
Nodes in_order(ir::Graph&);        // sources before readers, apart from loop edges; else as they stand
void put_in_order(ir::Graph&);     // of a graph whose loops are gone

// Nodes that values are computed by, and the values from outside that they need.
struct Slice {
  Nodes nodes;
  Values captured;
};

// Of `roots`, back to where `stops` says so. Constants are no captures. `through` may name another value that
// stands for the one given.
class Slicer {
 public:
  using Stops = std::function<bool(const Value*)>;
  using Through = std::function<Value*(Value*)>;
  Slicer(ir::Graph& g, Stops stops, Through through = {});
  void add(Value* root);
  Slice take() { return std::move(slice_); }

 private:
  void reach(Value*);
  ir::Graph* graph_;
  Stops stops_;
  Through through_;
  Slice slice_;
  std::unordered_set<const Value*> captured_;
  std::unordered_set<const ir::Node*> seen_;
  Nodes stack_;
};

// Names that become free when the originals of copies are gone.
using Renames = std::vector<std::pair<Value*, std::string>>;
void rename_all(const Renames&);

// Makes copies of nodes of one graph in another.
class Region {
 public:
  Region(const ir::Graph& from, ir::Graph& to, Renames& renames)
      : from_(&from), to_(&to), renames_(&renames) {}
  void bind(const Value* outer, Value* inner) { map_[outer] = inner; }
  void copy(const Nodes&);
  Value* inner(Value*);  // what stands for it in the copy
  void set_through(Slicer::Through t) { through_ = std::move(t); }
  Value* own_output(Value* outer,
                    std::unordered_set<const Value*>& taken);  // as an output of the copy's own nodes

 private:
  ir::Node& copy_node(const ir::Node&, ir::Graph& to);
  void connect(const ir::Node& original, ir::Node& copy, bool nested);
  void copy_subgraphs();

  const ir::Graph* from_;
  ir::Graph* to_;
  Renames* renames_;
  Slicer::Through through_;
  std::unordered_map<const Value*, Value*> map_;
  std::vector<std::pair<const ir::Graph*, ir::Graph*>> subgraphs_;
};

// The path without its last level, if it has several.
std::string scope_of(const std::string& path);
// Of a node that stands for what a scope holds, `first` among it.
std::shared_ptr<const Origin> origin_around(const ir::Node& first, const ir::NodeSpec& made);

// A node that hands on one value. If there is no name, the node gets it later. Without an origin it has that of the value.
Value* add_identity(ir::Graph&, Value*, std::string name = "", std::shared_ptr<const Origin> = nullptr);

// Refuses a subgraph in `around` that would be nested too deep. `holder`: the node that holds it.
void check_nesting(const ir::Graph& around, const ir::Node* holder = nullptr);

// Puts `to` in the place of `from`, under its name where that is a name of the interface.
void replace_value(Value* from, Value* to);

}  // namespace t2o::tf
