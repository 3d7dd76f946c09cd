#include "tf/inner_cut.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "support/nearest.h"
#include "tf/region.h"

namespace t2o::tf {
namespace {

class InnerCut {
 public:
  InnerCut(ir::Graph& g, const ImportRequest& request, Diagnostics& diagnostics)
      : g_(g), request_(request), diagnostics_(diagnostics) {}

  void run() {
    index_nodes();
    cut_inputs();
    cut_outputs();
    if (has_errors(diagnostics_)) return;
    g_.erase_dead();
    drop_unused_inputs();
  }

 private:
  // By the whole path, and by its ends: "StatefulPartitionedCall/model/dense/MatMul" is "model/dense/MatMul"
  // too. A name that several have is nobody's.
  void index_nodes() {
    for (ir::Node& n : g_.nodes()) {
      if (n.outputs().empty()) continue;
      for (const std::string* name : {&n.name(), &n.origin().node}) {
        if (name == &n.origin().node && *name == n.name()) continue;
        if (const auto [it, fresh] = exact_.emplace(*name, &n); !fresh && it->second != &n)
          it->second = nullptr;
        for (std::size_t slash = name->find('/'); slash != std::string::npos;
             slash = name->find('/', slash + 1))
          by_end_[name->substr(slash + 1)].push_back(&n);
      }
    }
  }

  ir::Node* find_node(const std::string& name) {
    if (const auto it = exact_.find(name); it != exact_.end()) return it->second;
    const auto it = by_end_.find(name);
    if (it == by_end_.end()) return nullptr;
    std::vector<ir::Node*> nodes = it->second;
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes.size() == 1 ? nodes[0] : nullptr;
  }

  // "node" or "node:1"
  Value* find(const std::string& tensor, const char* what) {
    const std::size_t colon = tensor.rfind(':');
    const bool is_numbered = colon != std::string::npos && colon + 1 < tensor.size() &&
                             tensor.find_first_not_of("0123456789", colon + 1) == std::string::npos &&
                             tensor.size() - colon < 6;
    const std::string name = is_numbered ? tensor.substr(0, colon) : tensor;
    const std::size_t output = is_numbered ? std::stoul(tensor.substr(colon + 1)) : 0;
    ir::Node* n = find_node(name);
    if (n && output < n->outputs().size()) return n->output(output);
    complain(tensor, name, what, n != nullptr);
    return nullptr;
  }

  void complain(const std::string& tensor, const std::string& name, const char* what, bool node_exists) {
    std::vector<std::string> names;
    for (const auto& [known, _] : exact_) names.push_back(known);
    std::ranges::sort(names);
    const std::string near = nearest(name, names);
    const std::string message = std::string("the ") + what + " '" + tensor +
                                (node_exists ? "' does not exist: its node has fewer outputs"
                                             : "' is not in the graph, or in several places");
    diagnostics_.push_back({.code = Code::bad_option,
                            .message = message,
                            .remedy = node_exists
                                          ? ""
                                          : (near.empty() ? std::string() : "did you mean '" + near + "'? ") +
                                                "--dump-after read prints all names; what is inside of a "
                                                "loop or a branch cannot be cut"});
  }

  Value* input_called(const std::string& name) const {
    for (Value* v : g_.inputs())
      if (v->name() == name) return v;
    return nullptr;
  }

  void cut_inputs() {
    for (const Feed& feed : request_.cut_inputs) {
      Value* input = input_called(feed.name);
      if (!input)
        if (Value* v = find(feed.tensor, "input")) {
          input = g_.add_input(feed.name, v->dtype(), feed.shape_given ? feed.shape : v->shape());
          if (!cut_.emplace(v, input).second)
            diagnostics_.push_back(
                {.code = Code::bad_option,
                 .message = "the input '" + feed.tensor + "' is given twice, under another name"});
          g_.replace_all_uses(v, input);
        }
      if (input) listed_.push_back(input);
    }
  }

  void cut_outputs() {
    Values outputs;
    for (const Fetch& fetch : request_.cut_outputs) {
      Value* v = nullptr;
      for (Value* known : g_.outputs())
        if (known->name() == fetch.name) v = known;
      if (!v) v = find(fetch.tensor, "output");
      if (const auto it = cut_.find(v); it != cut_.end()) v = it->second;
      if (v) outputs.push_back(v);
    }
    if (request_.cut_outputs.empty() || has_errors(diagnostics_)) return;
    std::unordered_set<const Value*> taken;  // each output needs a node of its own
    for (Value*& v : outputs)
      if (v->is_graph_input() || !v->producer() || !taken.insert(v).second) v = add_identity(g_, v);
    for (std::size_t i = 0; i < outputs.size(); ++i) g_.rename(outputs[i], request_.cut_outputs[i].name);
    g_.set_outputs(std::move(outputs));
  }

  void drop_unused_inputs() {
    const Values inputs = g_.inputs();
    for (Value* v : inputs) {
      if (contains(listed_, v)) continue;
      if (!v->is_used())
        g_.remove_input(v);
      else if (!listed_.empty())
        diagnostics_.push_back(
            {Severity::warning,
             Code::bad_option,
             "the outputs need '" + v->name() + "', which is not among the inputs: it stays an input",
             "add it to --inputs, or cut the graph after it",
             {},
             SourceLoc::here()});
    }
    Values order = listed_;
    for (Value* v : g_.inputs())
      if (!contains(order, v)) order.push_back(v);
    g_.reorder_inputs(std::move(order));
  }

  ir::Graph& g_;
  const ImportRequest& request_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string, ir::Node*> exact_;
  std::unordered_map<std::string, std::vector<ir::Node*>> by_end_;
  Values listed_;
  std::unordered_map<const Value*, Value*> cut_;  // the inputs that are made of them
};

}  // namespace

void cut_inside(ir::Graph& g, const ImportRequest& request, Diagnostics& diagnostics) {
  InnerCut(g, request, diagnostics).run();
}

}  // namespace t2o::tf
