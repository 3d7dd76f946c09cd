#include "rewriters/tf/loop.h"

#include "ir/postorder.h"

namespace t2o::rewriters {

Value* Hoister::hoist(Value* invariant) {
  ir::Graph& g = *node_->graph();
  ir::for_each_before(
      through_identities(invariant),
      [&](Value* v, Values& needs) {
        const auto [it, fresh] = made_.try_emplace(v, nullptr);
        if (!fresh || !v) return false;
        if (Value* o = loop_->outside(v)) {
          it->second =
              o->constant() && o->graph() == &loop_->body() ? g.add_constant(o->name(), o->constant()) : o;
          return false;
        }
        for (Value* in : v->producer()->inputs()) needs.push_back(through_identities(in));
        return true;
      },
      [&](Value* v) {
        if (!made_[v]) copy(*v->producer());  // with its other outputs
      });
  return made_.at(through_identities(invariant));
}

void Hoister::copy(const ir::Node& n) {
  ir::NodeSpec spec{n.op(), {}, n.attrs(), {}, n.shared_origin(), n.name()};
  for (Value* in : n.inputs()) spec.inputs.push_back(made_.at(through_identities(in)));
  for (const Value* out : n.outputs()) spec.outputs.push_back({"", out->dtype(), out->shape()});
  const ir::Node& made = node_->graph()->add(std::move(spec), node_);
  for (std::size_t i = 0; i < n.outputs().size(); ++i) made_[n.output(i)] = made.output(i);
}

}  // namespace t2o::rewriters
