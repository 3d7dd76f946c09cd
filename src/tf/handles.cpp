#include "tf/handles.h"

#include "tf/region.h"

namespace t2o::tf {
namespace {

bool is_handle(const Value* v) { return v && v->dtype() == DType::resource; }

// Takes the type of the value that it hands on.
bool retype(ir::Graph& g, ir::Node& n) {
  const Value* from = nullptr;
  for (const Value* v : n.inputs())
    if (v && !is_handle(v) && v->dtype() != DType::undefined && !from) from = v;
  if (!from || !is_handle(n.output())) return false;
  g.set_attr(n, "T", from->dtype());
  for (std::size_t i = 0; i < (is_op(n, OpKind::merge) ? 1 : n.outputs().size()); ++i)
    g.set_type(n.output(i), from->dtype(), from->shape());
  return true;
}

}  // namespace

void resolve_handles(ir::Graph& g) {
  Nodes work, reads;
  for (ir::Node& n : g.nodes()) {
    if (is_op(n, OpKind::read_variable)) reads.push_back(&n);
    if (!n.outputs().empty() && is_handle(n.output()) && hands_on(n)) work.push_back(&n);
  }
  while (!work.empty()) {
    ir::Node& n = *work.back();
    work.pop_back();
    if (!retype(g, n)) continue;
    for (const Value* v : n.outputs())
      for (const ir::Use& u : v->uses())
        if (hands_on(*u.node)) work.push_back(u.node);
  }
  for (ir::Node* n : reads)
    if (n->input_count() == 1 && !is_handle(n->input(0))) replace_value(n->output(), n->input(0));
}

}  // namespace t2o::tf
