#include "verify/tf/variables.h"

#include <unordered_map>
#include <unordered_set>

#include "diagnostics.h"
#include "tf/variables.h"

namespace t2o::verify {
namespace {

using engines::TfGraph;

struct Kind {  // of variable ops
  const char *ask, *assign, *type_attr;
};

const Kind* kind_of(std::string_view op) {
  static constexpr Kind kResource = {"VarIsInitializedOp", "AssignVariableOp", "dtype"};
  static constexpr Kind kRef = {"IsVariableInitialized", "Assign", "T"};
  if (op == "VarHandleOp") return &kResource;
  return op == "VariableV2" || op == "Variable" ? &kRef : nullptr;
}

// One too many costs time alone.
bool may_write(std::string_view op) {
  for (const std::string_view prefix :
       {"Assign", "Scatter", "Apply", "SparseApply", "StridedSliceAssign", "CountUpTo", "ResourceScatter",
        "ResourceApply", "ResourceSparseApply", "ResourceStridedSliceAssign", "ResourceCountUpTo"})
    if (op.starts_with(prefix)) return true;
  return false;
}

// "^x", "x:0" and "x" are of one node.
std::string bare(std::string_view tensor) {
  if (tensor.starts_with('^')) tensor.remove_prefix(1);
  return std::string(tensor.ends_with(":0") ? tensor.substr(0, tensor.size() - 2) : tensor);
}

// What the fetches need of the graph and of its functions.
class Needed {
 public:
  explicit Needed(const tf::GraphDef& g) : graph_(g) {
    for (const tf::RawFunction& f : g.functions) functions_.emplace(f.name, &f);
  }

  void run(const Strings& fetches, const Strings& feeds) {
    std::unordered_map<std::string_view, const tf::NodeDef*> index;
    for (const tf::NodeDef& n : graph_.body.nodes) index.emplace(n.name, &n);
    std::unordered_set<std::string> fed;
    for (const std::string& tensor : feeds) fed.insert(bare(tensor));
    std::unordered_set<const tf::NodeDef*> seen;
    std::vector<const tf::NodeDef*> work;
    const auto visit = [&](std::string_view tensor) {
      const std::string name = bare(tensor);
      if (fed.contains(name)) return;
      const auto found = index.find(std::string_view(name).substr(0, name.find(':')));
      if (found != index.end() && seen.insert(found->second).second) work.push_back(found->second);
    };
    for (const std::string& tensor : fetches) visit(tensor);
    while (!work.empty()) {
      const tf::NodeDef& n = *work.back();
      work.pop_back();
      if (kind_of(n.op) != nullptr) variables.push_back(&n);
      look_at(n);
      for (const std::string_view input : n.inputs) visit(input);
    }
    if (!variables.empty()) look_into_functions();
  }

  std::vector<const tf::NodeDef*> variables;
  bool writes = false;

 private:
  void look_at(const tf::NodeDef& n) {
    writes = writes || may_write(n.op);
    call(n.op);
    for (const tf::RawAttr& attr : n.attrs)
      for (const std::string& name : tf::function_names(attr.value)) call(name);
  }

  void call(std::string_view name) {
    const auto found = functions_.find(name);
    if (found != functions_.end() && called_.insert(found->second).second) waiting_.push_back(found->second);
  }

  void look_into_functions() {
    while (!waiting_.empty() && !writes) {
      const tf::FunctionDef f = tf::parse_function(waiting_.back()->bytes, graph_.owner);
      waiting_.pop_back();
      for (const tf::NodeDef& n : f.body.nodes) look_at(n);
    }
  }

  const tf::GraphDef& graph_;
  std::unordered_map<std::string_view, const tf::RawFunction*> functions_;
  std::unordered_set<const tf::RawFunction*> called_;
  std::vector<const tf::RawFunction*> waiting_;
};

class Planner {
 public:
  Planner(engines::TfSession& session, const tf::Source& source)
      : session_(session), graph_(session.graph()), source_(source) {}

  Assignments run(const Needed& needed) {
    Assignments plan{{}, {}, needed.writes};
    Strings questions;
    for (const tf::NodeDef* n : needed.variables) questions.push_back(ask(*n));
    const std::vector<TensorPtr> has_value = session_.run({}, questions);
    for (std::size_t i = 0; i < needed.variables.size(); ++i)
      if (needed.writes || !has_value[i]->at<bool>(0)) assign(*needed.variables[i], plan);
    return plan;
  }

 private:
  std::string next_name() { return "t2o_variables/n" + std::to_string(next_++); }

  std::string ask(const tf::NodeDef& n) {
    engines::TfOp op{.op = kind_of(n.op)->ask, .name = next_name(), .inputs = {std::string(n.name)}};
    return graph_.add(op);
  }

  void assign(const tf::NodeDef& n, Assignments& plan) {
    TensorPtr value;
    try {
      value = source_.variable(tf::variable_ref(n, source_.graph.owner));
    } catch (const ConversionError&) {
      return;  // it has not stopped the conversion; when it is read, TensorFlow tells
    }
    const Kind& kind = *kind_of(n.op);
    const std::string fed = graph_.placeholder(next_name(), value->dtype(), value->shape());
    plan.targets.push_back(graph_.add({.op = kind.assign,
                                       .name = next_name(),
                                       .inputs = {std::string(n.name), fed},
                                       .attrs = {{kind.type_attr, value->dtype()}}}));
    plan.values.emplace_back(fed, std::move(value));
  }

  engines::TfSession& session_;
  TfGraph graph_;  // the session's own
  const tf::Source& source_;
  int next_ = 0;
};

}  // namespace

Assignments plan_assignments(engines::TfSession& session, const tf::Source& source, const Strings& fetches,
                             const Strings& feeds) {
  Needed needed(source.graph);
  needed.run(fetches, feeds);
  if (needed.variables.empty()) return {};
  return Planner(session, source).run(needed);
}

}  // namespace t2o::verify
