#include "ir/verify.h"

#include <unordered_map>
#include <unordered_set>

namespace t2o::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(Named named) : named_(named) {}
  Diagnostics run(const Graph& main) {
    todo_.push_back({&main, nullptr});
    for (std::size_t i = 0; i < todo_.size(); ++i)
      collect(*todo_[i].graph, todo_[i].owner);  // grows on the way
    for (const Item& item : todo_) check_graph(*item.graph);
    check_counts();
    return std::move(found_);
  }

 private:
  struct Item {
    const Graph* graph;
    const Node* owner;  // of a subgraph
  };

  void report(const std::string& message, const Origin& origin = {}) {
    found_.push_back({Severity::error, Code::internal, message, "", origin});
  }
  static std::string quoted(const Value& v) { return "'%" + v.name() + "'"; }
  static std::string quoted(const Node& n) { return n.op() + " '" + n.name() + "'"; }

  void define(const Value& v, const Graph& g) {
    if (v.name().empty() && named_ == Named::all) report("a value has no name");
    if (!v.name().empty() && !value_names_.insert(v.name()).second)
      report("two values have the name " + quoted(v));
    if (v.graph() != &g) report(quoted(v) + " stands in graph '" + g.name() + "' but belongs to another");
    defined_.insert(&v);
  }

  void collect(const Graph& g, const Node* owner) {
    if (!owners_.emplace(&g, owner).second)
      return report("graph '" + g.name() + "' is held by two attributes");
    for (const Value* v : g.inputs()) {
      define(*v, g);
      if (!v->is_graph_input() || v->producer()) report(quoted(*v) + " is listed as an input and is none");
    }
    for (const Value* v : g.constants()) {
      define(*v, g);
      if (!v->constant() || v->producer()) report(quoted(*v) + " is listed as a constant and is none");
    }
    std::size_t count = 0;
    for (const Node& n : g.nodes()) {
      positions_[&n] = count++;
      if (!n.outputs().empty() && !n.name().empty() && !node_names_.insert(n.name()).second)
        report("two nodes have the name " + quoted(n), n.origin());
      for (std::size_t i = 0; i < n.outputs().size(); ++i) {
        const Value& v = *n.output(i);
        define(v, g);
        if (v.producer() != &n || v.index() != i)
          report(quoted(v) + " has another producer than " + quoted(n), n.origin());
      }
      for_each_subgraph(n, [&](const Graph& sub) { todo_.push_back({&sub, &n}); });
    }
    if (count != g.node_count())
      report("graph '" + g.name() + "' has " + std::to_string(count) + " nodes and counts " +
             std::to_string(g.node_count()));
  }

  void check_graph(const Graph& g) {
    for (const Value* v : g.inputs()) check_uses(*v);
    for (const Value* v : g.constants()) check_uses(*v);
    for (const Node& n : g.nodes()) {
      for (std::size_t i = 0; i < n.input_count(); ++i)
        if (n.input(i)) check_read(*n.input(i), n);
      for (const Value* v : n.outputs()) check_uses(*v);
    }
    for (const Value* v : g.outputs()) {
      if (!defined_.contains(v))
        report("an output of graph '" + g.name() + "' is not in the graph: " + quoted(*v));
      if (!v->is_graph_output()) report(quoted(*v) + " does not know that it is a graph output");
      check_type(*v, g);
    }
  }

  void check_read(const Value& v, const Node& n) {
    ++reads_[&v];
    if (!defined_.contains(&v))
      return report(quoted(n) + " reads " + quoted(v) + ", which is not in the graph", n.origin());
    check_type(v, *n.graph());
    const Node* reader = &n;  // or the node around it that stands in the graph of the value
    while (reader && reader->graph() != v.graph()) {
      const auto owner = owners_.find(reader->graph());
      reader = owner == owners_.end() ? nullptr : owner->second;
    }
    if (!reader)
      return report(quoted(n) + " reads " + quoted(v) + ", which is not visible there", n.origin());
    if (!v.producer() || n.graph()->dialect() == "tf") return;
    if (positions_[v.producer()] >= positions_[reader])
      report(quoted(n) + " reads " + quoted(v) + ", which is made behind it", n.origin());
  }

  void check_type(const Value& v, const Graph& reader) {
    if (v.dtype() == DType::undefined && reader.dialect() == "onnx" && untyped_.insert(&v).second)
      report(quoted(v) + " has no element type", v.producer() ? v.producer()->origin() : Origin{});
  }

  void check_uses(const Value& v) {
    for (const Use& u : v.uses())
      if (u.node->input(u.input) != &v)
        report(quoted(v) + " lists a use that is none: input " + std::to_string(u.input) + " of " +
               quoted(*u.node));
    use_counts_.emplace_back(&v, v.uses().size());
  }

  void check_counts() {
    for (const auto& [v, uses] : use_counts_)
      if (const auto it = reads_.find(v); uses != (it == reads_.end() ? 0 : it->second))
        report(quoted(*v) + " lists " + std::to_string(uses) + " uses and is read otherwise");
  }

  Diagnostics found_;
  std::vector<Item> todo_;
  std::unordered_map<const Graph*, const Node*> owners_;
  std::unordered_map<const Node*, std::size_t> positions_;
  std::unordered_map<const Value*, std::size_t> reads_;
  std::vector<std::pair<const Value*, std::size_t>> use_counts_;  // in the order of the graph
  std::unordered_set<const Value*> defined_, untyped_;
  std::unordered_set<std::string_view> value_names_, node_names_;
  Named named_;
};

}  // namespace

Diagnostics verify_graph(const Graph& g, Named named) { return Verifier(named).run(g); }

}  // namespace t2o::ir
