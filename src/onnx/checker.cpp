#include "onnx/checker.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <unordered_set>

#include "ir/nesting.h"
#include "ir/verify.h"
#include "onnx/elem_type.h"
#include "onnx/legalize.h"
#include "onnx/schema.h"

namespace t2o::onnx {
namespace {

class Checker {
 public:
  explicit Checker(const WriteOptions& options) : options_(options) {}

  Diagnostics run(const ir::Graph& main) {
    if (options_.verify_ir) found_ = ir::verify_graph(main);
    if (has_errors(found_)) return std::move(found_);  // what follows would only repeat them
    check_outputs(main);
    each_node(main, options_, [&](const ir::Node& n, const pb::NodeProto& p) {
      check_node(n, p);
      add_subgraphs(n, p);
      while (!todo_.empty()) {
        const auto [g, proto] = todo_.back();
        todo_.pop_back();
        check_graph(*g, *proto);
      }
    });
    return std::move(found_);
  }

 private:
  struct Pair {
    const ir::Graph* graph;
    const pb::GraphProto* proto;
  };

  void check_outputs(const ir::Graph& g) {
    if (g.outputs().empty()) report("graph '" + g.name() + "' has no outputs", {});
    std::unordered_set<const Value*> seen;
    for (const Value* v : g.outputs())
      if (!seen.insert(v).second) report("graph output '" + v->name() + "' is listed twice", {});
  }

  void check_graph(const ir::Graph& g, const pb::GraphProto& proto) {
    check_outputs(g);
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
    const Target& t = options_.target;
    const OpInfo* op = op_info(n.op(), t.opset, t.ml_opset, false);
    if (!op) return report_node(n, "opset " + std::to_string(t.opset) + " has no such operator");
    try {
      op->schema->Verify(p);
    } catch (const std::runtime_error& e) {
      return report_node(n, e.what());
    }
    check_types(n, *op);
    check_bodies(n);
  }

  struct Slot {
    const char* side;  // "input" or "output"
    std::size_t index;
    const Value* value;
    int param;   // of the operator's type parameters
    bool mixed;  // each of a list has a type of its own
    DType fixed;
  };

  static std::vector<Slot> slots_of(const ir::Node& n, const OpInfo& op) {
    std::vector<Slot> slots;
    const auto add = [&](const char* side, const Values& values, const auto& formals, const auto& param_of) {
      for (std::size_t i = 0; i < values.size() && !formals.empty(); ++i) {
        if (!values[i]) continue;
        const auto& formal = formals[std::min(i, formals.size() - 1)];
        const int param = param_of(i);
        slots.push_back({side, i, values[i], param, !formal.GetIsHomogeneous(),
                         param < 0 ? dtype_of_type_string(formal.GetTypeStr().c_str()) : DType::undefined});
      }
    };
    add("input", n.inputs(), op.schema->inputs(), [&](std::size_t i) { return op.param_of_input(i); });
    add("output", n.outputs(), op.schema->outputs(), [&](std::size_t i) { return op.param_of_output(i); });
    return slots;
  }

  // Inputs and outputs of one type parameter have one type, which is among those of the schema.
  void check_types(const ir::Node& n, const OpInfo& op) {
    std::vector<const Slot*> bound(op.params.size(), nullptr);
    std::vector<DTypeSet> refused(op.params.size());  // each is told once
    const std::vector<Slot> slots = slots_of(n, op);
    for (const Slot& s : slots) {
      const DType dtype = s.value->dtype();
      if (s.fixed != DType::undefined && s.fixed != dtype)
        report_node(n, spell(s) + " is not of type " + std::string(name(s.fixed)));
      if (s.param < 0) continue;
      const OpInfo::TypeParam& param = nth(op.params, s.param);
      DTypeSet& told = nth(refused, s.param);
      if (!param.standard.empty() && !is_sequence(dtype) && !param.standard.has(dtype) && !told.has(dtype)) {
        told.add(dtype);
        if (const int opset = opset_that_takes(n, s))
          report_too_low(n, dtype, opset);
        else
          report_node(n, spell(s) + " has a type that is not among those of " + param.name);
      }
      const Slot*& first = nth(bound, s.param);
      if (!first) first = &s;
      if (first->value->dtype() != dtype && !s.mixed)
        report_node(n, spell(s) + " has another type than the other " + first->side + "s of " + param.name +
                           ", " + std::string(name(first->value->dtype())));
    }
  }

  static std::string spell(const Slot& s) {
    return std::string(s.side) + " " + std::to_string(s.index) + " ('" + s.value->name() + "', " +
           std::string(name(s.value->dtype())) + ")";
  }

  // What a body takes and gives has the types that the node says.
  void check_bodies(const ir::Node& n) {
    const bool is_loop = n.op() == "Loop", is_scan = n.op() == "Scan";
    if (!is_loop && !is_scan && n.op() != "If") return;
    const std::size_t first = is_loop ? 1 : 0;  // output: behind the condition
    ir::for_each_subgraph(n, [&](const ir::Graph& body) {
      const auto same = [&](const char* side, std::size_t i, const Values& inside, std::size_t k,
                            const Value* outside) {
        if (outside && (k >= inside.size() || inside[k]->dtype() != outside->dtype()))
          report_node(n, "graph '" + body.name() + "' has no " + side + " of the type of " + side + " " +
                             std::to_string(i) + ", " + std::string(name(outside->dtype())));
      };
      for (std::size_t i = 0; (is_loop || is_scan) && i < n.input_count(); ++i)
        same("input", i, body.inputs(), i, n.input(i));
      for (std::size_t i = 0; i < n.outputs().size(); ++i)
        same("output", i, body.outputs(), i + first, n.output(i));
    });
  }

  // A type that ONNX has now, but had not yet.
  int opset_that_takes(const ir::Node& n, const Slot& s) {
    const Target& t = options_.target;
    const DType dtype = s.value->dtype();
    if (ir::holds_subgraph(n))  // what a body carries is cast where it must be
      if (const int opset = opset_that_casts(t, dtype, DType::f32)) return opset;
    for (int opset = t.opset + 1; opset <= kHighestOpset; ++opset) {
      const OpInfo* op = op_info(n.op(), opset, t.ml_opset, false);
      if (!op) continue;
      const int at = s.side[0] == 'i' ? op->param_of_input(s.index) : op->param_of_output(s.index);
      if (at >= 0 && nth(op->params, at).standard.has(dtype)) return opset;
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
    report(n.op() + " '" + n.name() + "' is not a valid ONNX node: " + why, n.origin());
  }

  void report(std::string message, const Origin& origin) {
    found_.push_back({Severity::error, Code::internal, std::move(message), "", origin});
  }

  const WriteOptions& options_;
  std::vector<Pair> todo_;
  Diagnostics found_;
};

}  // namespace

Diagnostics check(const ir::Graph& g, const WriteOptions& options) { return Checker(options).run(g); }

}  // namespace t2o::onnx
