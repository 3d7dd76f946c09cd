#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tf/body.h"
#include "tf/import.h"
#include "tf/labels.h"
#include "tf/lift_variables.h"

namespace t2o::tf {

// A functional If, While or Case that waits for its branches to be imported, or an op for its computations.
struct PendingNode {
  std::uint32_t node;
  struct Branch {
    std::size_t attr;  // in attrs
    Func function;
  };
  Attrs attrs;
  Values inputs;
  std::vector<bool> invariant;  // of each input of a loop: its body returns it unchanged
  std::vector<Branch> branches;
  std::vector<GraphPtr> graphs;  // of the branches that are done
};

struct LateEdge {  // of a loop's Merge, set when its source exists
  ir::Node* node;
  std::size_t input;
  InputRef source;
};

// One body in the making: the graph, a function call or a branch.
struct Frame {
  enum class Kind : std::uint8_t { main, call, branch };
  enum class Mark : std::uint8_t { unseen, open, done };
  struct Outputs {
    std::uint32_t first = 0, count = 0;  // in values
    bool failed = false;
  };

  Kind kind = Kind::main;
  Body* body = nullptr;
  ir::Graph* graph = nullptr;
  GraphPtr owned = {};  // a branch's graph
  Attrs attrs = {};     // of the call: what the function's "$T" stand for
  std::string prefix = {};  // of the whole paths of the nodes
  BodyLabels labels = {};
  Values args = {}, branch_inputs = {};
  std::vector<Mark> marks = {};  // in the order of Body::plan, as are the outputs
  std::vector<Outputs> outputs = {};
  // Of a node with a list among its outputs: the number of the first tensor of each output argument.
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> first_outputs = {};
  Values values = {};
  std::vector<std::uint32_t> stack = {};
  std::size_t next = 0;
  std::vector<LateEdge> late = {};
  std::unique_ptr<PendingNode> pending = {};

  Mark& mark(std::uint32_t node) { return marks[body->place[node]]; }
  Outputs& outputs_of(std::uint32_t node) { return outputs[body->place[node]]; }
};

// What the parts of an import share.
struct ImportContext {
  ImportContext(const GraphDef& graph_def, const ImportRequest& r, Diagnostics& d)
      : request(r), diagnostics(d), bodies(graph_def, d), graph(std::make_shared<ir::Graph>()) {
    graph->set_dialect("tf");
  }
  void report(const Frame&, std::uint32_t node, Diagnostic);
  static Origin origin(const Frame&, std::uint32_t node);
  Attrs decode_attrs(const Frame&, std::uint32_t node) const;
  Value* poison();  // stands where an error was reported; the graph is discarded then
  bool is_poison(const Value* v) const { return v && v == poison_; }

  const ImportRequest& request;
  Diagnostics& diagnostics;
  Bodies bodies;
  GraphPtr graph;
  bool trust_shapes = true;  // not where the user has given the inputs other shapes

 private:
  Value* poison_ = nullptr;
};

}  // namespace t2o::tf
