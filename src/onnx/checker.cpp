#include "onnx/checker.h"

#include <onnx/defs/schema.h>

#include <unordered_map>
#include <unordered_set>

#include "ir/verify.h"
#include "onnx/schema.h"

namespace t2o::onnx {
namespace {

class Checker {
 public:
  explicit Checker(const ModelInfo& info) : info_(info) {}

  Diagnostics run(const ir::Graph& main) {
    if (info_.verify_ir) found_ = ir::verify_graph(main);
    if (has_errors(found_)) return std::move(found_);  // what follows would only repeat them
    const Skeleton s = to_skeleton(main, info_);
    todo_.push_back({&main, &s.graph});
    while (!todo_.empty()) {
      const auto [g, proto] = todo_.back();
      todo_.pop_back();
      check_graph(*g, *proto);
    }
    return std::move(found_);
  }

 private:
  struct Pair {
    const ir::Graph* graph;
    const pb::GraphProto* proto;
  };

  void check_graph(const ir::Graph& g, const pb::GraphProto& proto) {
    if (g.outputs().empty()) report("graph '" + g.name() + "' has no outputs", {});
    std::unordered_set<const Value*> seen;
    for (const Value* v : g.outputs())
      if (!seen.insert(v).second) report("graph output '" + v->name() + "' is listed twice", {});
    int i = 0;
    for (const ir::Node& n : g.nodes()) {
      const pb::NodeProto& p = proto.node(i++);
      check_node(n, p);
      add_subgraphs(n, p);
    }
  }

  void add_subgraphs(const ir::Node& n, const pb::NodeProto& p) {
    int i = 0;
    for (const ir::NamedAttr& a : n.attrs()) {
      const pb::AttributeProto& attr = p.attribute(i++);
      if (const auto* g = std::get_if<GraphPtr>(&a.value)) todo_.push_back({g->get(), &attr.g()});
      if (const auto* gs = std::get_if<Graphs>(&a.value))
        for (std::size_t k = 0; k < gs->size(); ++k)
          todo_.push_back({(*gs)[k].get(), &attr.graphs(static_cast<int>(k))});
    }
  }

  void check_node(const ir::Node& n, const pb::NodeProto& p) {
    const bool standard = p.domain().empty() || p.domain() == "ai.onnx" || p.domain() == "ai.onnx.ml";
    if (!standard) return;  // nobody but its runtime knows the operator
    const Target& t = info_.target;
    const OpInfo* op = op_info(n.op(), t.opset, t.ml_opset, false);
    if (!op) return report_node(n, "opset " + std::to_string(t.opset) + " has no such operator");
    try {
      op->schema->Verify(p);
    } catch (const std::runtime_error& e) {
      return report_node(n, e.what());
    }
    check_types(n, *op);
  }

  // Inputs of one type parameter have one type, which is among those of the schema.
  void check_types(const ir::Node& n, const OpInfo& op) {
    std::vector<DType> bound(op.params.size(), DType::undefined);
    for (std::size_t i = 0; i < n.input_count(); ++i) {
      const int at = op.param_of_input(i);
      if (at < 0 || !n.input(i)) continue;
      const OpInfo::TypeParam& param = op.params[static_cast<std::size_t>(at)];
      const DType dtype = n.input(i)->dtype();
      const auto input = [&] {
        return "input " + std::to_string(i) + " ('" + n.input(i)->name() + "', " + std::string(name(dtype)) +
               ")";
      };
      if (!param.standard.empty() && !param.standard.has(dtype)) {
        if (const int opset = opset_that_takes(n, i))
          report_too_low(n, dtype, opset);
        else
          report_node(n, input() + " has a type that is not among those of " + param.name);
      }
      const bool mixed = op.variadic_input && i + 1 >= op.input_param.size();
      DType& first = bound[static_cast<std::size_t>(at)];
      if (first == DType::undefined) first = dtype;
      if (first != dtype && !mixed)
        report_node(n, input() + " has another type than the other inputs of " + param.name + ", " +
                           std::string(name(first)));
    }
  }

  // A type that ONNX has now, but had not yet.
  int opset_that_takes(const ir::Node& n, std::size_t input) {
    const Target& t = info_.target;
    for (int opset = t.opset + 1; opset <= kHighestOpset; ++opset) {
      const OpInfo* op = op_info(n.op(), opset, t.ml_opset, false);
      const int at = op ? op->param_of_input(input) : -1;
      if (at >= 0 && op->params[static_cast<std::size_t>(at)].standard.has(n.input(input)->dtype()))
        return opset;
    }
    return 0;
  }

  void report_too_low(const ir::Node& n, DType dtype, int opset) {
    const std::string at_least = "opset " + std::to_string(opset);
    found_.push_back({Severity::error, Code::opset_too_low,
                      n.op() + " of " + std::string(name(dtype)) + " needs " + at_least,
                      "--" + at_least + " or above", n.origin()});
  }

  void report_node(const ir::Node& n, const std::string& why) {
    report(n.op() + " '" + n.name() + "' is no valid ONNX node: " + why, n.origin());
  }

  void report(std::string message, const Origin& origin) {
    found_.push_back({Severity::error, Code::internal, std::move(message), "", origin});
  }

  const ModelInfo& info_;
  std::vector<Pair> todo_;
  Diagnostics found_;
};

}  // namespace

Diagnostics check(const ir::Graph& g, const ModelInfo& info) { return Checker(info).run(g); }

}  // namespace t2o::onnx
