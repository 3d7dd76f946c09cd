#include "onnx/checker.h"

#include <onnx/checker.h>

#include <unordered_set>

#include "ir/verify.h"

namespace t2o::onnx {
namespace {

namespace standard = ::onnx::checker;

standard::CheckerContext context_of(const pb::ModelProto& model) {
  standard::CheckerContext context;
  context.set_ir_version(static_cast<int>(model.ir_version()));
  std::unordered_map<std::string, int> opsets;
  for (const auto& o : model.opset_import()) opsets[o.domain()] = static_cast<int>(o.version());
  context.set_opset_imports(std::move(opsets));
  return context;
}

class Checker {
 public:
  Diagnostics run(const ir::Graph& g, const ModelInfo& info) {
    found_ = ir::verify_graph(g);
    if (has_errors(found_)) return std::move(found_);  // what follows would only repeat them
    check_interface(g);
    const Skeleton s = to_skeleton(g, info);
    const standard::CheckerContext context = context_of(s.model);
    standard::LexicalScopeContext scope;
    for (const Value* v : g.inputs()) scope.add(v->name());
    for (const Value* v : s.initializers) scope.add(v->name());

    int i = 0;
    for (const ir::Node& n : g.nodes()) {
      const pb::NodeProto& p = s.graph.node(i++);
      attempt(n, [&] { standard::check_node(p, context, scope); });
      for (const std::string& output : p.output()) scope.add(output);
    }
    return std::move(found_);
  }

 private:
  void check_interface(const ir::Graph& g) {
    std::unordered_set<const Value*> seen;
    for (const Value* v : g.outputs())
      if (!seen.insert(v).second) report("graph output '" + v->name() + "' is listed twice", {});
    if (g.outputs().empty()) report("the graph has no outputs", {});
  }

  // Both the checker and the schemas throw exceptions of their own.
  template <class F>
  void attempt(const ir::Node& n, F&& f) {
    try {
      f();
    } catch (const ConversionError&) {
      throw;
    } catch (const std::runtime_error& e) {
      report(n.op() + " '" + n.name() + "' is no valid ONNX node: " + e.what(), n.origin());
    }
  }

  void report(std::string message, const Origin& origin) {
    found_.push_back({Severity::error, Code::internal, std::move(message), "", origin});
  }

  Diagnostics found_;
};

}  // namespace

Diagnostics check(const ir::Graph& g, const ModelInfo& info) { return Checker().run(g, info); }

}  // namespace t2o::onnx
