#include "onnx/emitter.h"
#include "onnx/legalize.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// If, Loop and Scan take fewer element types at low opsets than Cast does. There they carry a wider type that
// holds every value, with a Cast on both sides: f32 for bf16 below opset 16.
namespace t2o::rewriters {
namespace {

// Which inputs and outputs of a body belong to which of the node.
struct Interface {
  std::string op;
  bool has_inputs = false;
  std::size_t first_output = 0;  // of the body, that belongs to the node's first
};

std::optional<Interface> interface_of(const ir::Node& n) {
  if (n.op() == "If") return Interface{n.op(), false, 0};
  if (n.op() == "Loop") return Interface{n.op(), true, 1};
  if (n.op() == "Scan") return Interface{n.op(), true, 0};
  return std::nullopt;
}

class Carrying {
 public:
  Carrying(ir::Graph& g, ir::Node& n, Interface interface, const onnx::Target& target)
      : g_(g), n_(n), interface_(std::move(interface)), target_(target), op_(*op_info(n.op(), target)) {
    ir::for_each_subgraph(n, [&](ir::Graph& body) { bodies_.push_back(&body); });
  }

  int run() {
    int changes = 0;
    for (std::size_t i = 0; interface_.has_inputs && i < n_.input_count(); ++i)
      if (const DType wide =
              n_.input(i) ? carrier(n_.input(i)->dtype(), op_.param_of_input(i)) : DType::undefined;
          wide != DType::undefined) {
        widen_input(i, wide);
        ++changes;
      }
    for (std::size_t i = 0; i < n_.outputs().size(); ++i)
      if (const DType wide = carrier(n_.output(i)->dtype(), op_.param_of_output(i));
          wide != DType::undefined) {
        widen_output(i, wide);
        ++changes;
      }
    return changes;
  }

 private:
  // undefined where the operator takes the type itself, or nothing can carry it.
  DType carrier(DType t, int param) const {
    if (param < 0) return DType::undefined;
    const onnx::DTypeSet& taken = nth(op_.params, param).standard;
    if (taken.has(t)) return DType::undefined;
    const DType wide = onnx::exact_carrier(target_, t);
    return taken.has(wide) ? wide : DType::undefined;
  }

  void widen_input(std::size_t i, DType wide) {
    Emitter before(n_, target_);
    g_.set_input(n_, i, before.cast(n_.input(i), wide));
    for (ir::Graph* body : bodies_) {
      Value* v = body->inputs()[i];
      const DType own = v->dtype();
      body->set_type(v, wide, v->shape());
      Emitter e(*body, target_, n_.shared_origin(), body->first());
      replace_by_cast(*body, v, own, e);
    }
  }

  void widen_output(std::size_t i, DType wide) {
    for (ir::Graph* body : bodies_) {
      Emitter e(*body, target_, n_.shared_origin());
      Values outputs = body->outputs();
      Value*& v = outputs[interface_.first_output + i];
      v = e.cast(v, wide);
      body->set_outputs(std::move(outputs));
    }
    Value* v = n_.output(i);
    const DType own = v->dtype();
    g_.set_type(v, wide, v->shape());
    Emitter e(g_, target_, n_.shared_origin(), n_.next());
    replace_by_cast(g_, v, own, e);
  }

  // Who reads v reads it cast to its own type; a graph output keeps its name.
  static void replace_by_cast(ir::Graph& g, Value* v, DType own, Emitter& e) {
    const std::string name = v->name();
    Value* narrow = e.cast(v, own);
    g.replace_all_uses(v, narrow);
    g.set_input(*narrow->producer(), 0, v);
    g.derive(narrow, v, {});  // what v was
    g.rename(v, name + "/wide");
    g.rename(narrow, name);
  }

  ir::Graph& g_;
  ir::Node& n_;
  Interface interface_;
  const onnx::Target& target_;
  const onnx::OpInfo& op_;
  std::vector<ir::Graph*> bodies_;
};

}  // namespace

Rewriter carry_types(const onnx::Target& target) {
  return for_each_node("carry_types", {"If", "Loop", "Scan"}, [target](ir::Graph& g, ir::Node& n) {
    auto interface = interface_of(n);
    return interface ? Carrying(g, n, std::move(*interface), target).run() : 0;
  });
}

}  // namespace t2o::rewriters
