#include <algorithm>

#include "op_mappers/tensor_lists.h"

namespace t2o::op_mappers {
namespace {

using tfgraph::is_op;
using tfgraph::Loop;
using tfgraph::through_identities;

// It goes on while a counter is below `size`, and for no other reason.
bool runs_to(const Loop& loop, const Value* size) {
  const auto limits = loop.limits();
  return limits && std::all_of(limits->begin(), limits->end(),
                               [&](const Value* l) { return tfgraph::computed_alike(l, size); });
}

bool read_only_by(const Value* v, const ir::Node* reader) {
  if (v->is_graph_output()) return false;
  return std::all_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) {
    return u.node == reader || (tfgraph::is_identity(*u.node) && read_only_by(u.node->output(), reader));
  });
}

bool is_only_output(const ir::Graph& g, const Value* v, std::size_t output) {
  for (std::size_t i = 0; i < g.outputs().size(); ++i)
    if (i != output && through_identities(g.outputs()[i]) == v) return false;
  return std::all_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) {
    return tfgraph::is_identity(*u.node) && u.node->graph() == &g &&
           is_only_output(g, u.node->output(), output);
  });
}

}  // namespace

std::optional<Written> written_once(const Loop& loop, const ir::Graph& condition, std::size_t variable) {
  const ir::Graph& body = loop.body();
  const Value* last = loop.result(variable);
  if (!is_op(last, "TensorListSetItem") && !is_op(last, "TensorListPushBack")) return std::nullopt;
  const ir::Node& write = *last->producer();
  const Value* before = body.inputs()[variable];
  if (write.graph() != &body || through_identities(write.input(0)) != before ||
      condition.inputs()[variable]->is_used() || !read_only_by(before, &write) ||
      !is_only_output(body, last, variable))
    return std::nullopt;
  const Value* first = through_identities(loop.initial(variable));
  if (write.op() == "TensorListPushBack")
    return Written{.appends = true, .to_end = is_op(first, "EmptyTensorList")};
  const int counter = loop.argument(through_identities(write.input(1)));
  if (counter < 0 || !loop.is_counter(static_cast<std::size_t>(counter))) return std::nullopt;
  if (!is_op(first, "TensorListReserve")) return Written{};
  const Value* size = through_identities(first->producer()->input(1));
  const bool to_end = runs_to(loop, size);
  const auto known = constant_ints(size);
  return Written{.to_end = to_end || tfgraph::is_number(size, 0),
                 .length = to_end && known && known->size() == 1 ? known->front() : kUnknownDim};
}

}  // namespace t2o::op_mappers
