#include <algorithm>

#include "op_mappers/tensor_lists.h"

namespace t2o::op_mappers {
namespace {

constexpr int kDeepest = 6;  // of the arithmetic on shapes that makes sizes

bool is_op(const Value* v, std::initializer_list<std::string_view> ops) {
  return v->producer() && std::find(ops.begin(), ops.end(), v->producer()->op()) != ops.end();
}

bool is_number(const Value* v, std::int64_t n) {
  const auto known = constant_ints(v);
  return known && known->size() == 1 && (*known)[0] == n;
}

// Computed alike, so equal.
bool same(const Value* a, const Value* b, int depth = kDeepest) {
  a = behind_identities(a);
  b = behind_identities(b);
  if (a == b) return true;
  if (a->constant() && b->constant()) {
    const auto x = constant_ints(a), y = constant_ints(b);
    return x && x == y;
  }
  const ir::Node *x = a->producer(), *y = b->producer();
  if (!x || !y || depth == 0 || x->op() != y->op() || a->index() != b->index() ||
      x->input_count() != y->input_count() || x->attrs().size() != y->attrs().size())
    return false;
  if (!is_op(a, {"StridedSlice", "Shape", "Cast", "GatherV2", "Sub", "AddV2", "TensorListLength"}))
    return false;
  for (const ir::NamedAttr& attr : x->attrs()) {
    const Attr* other = y->attr(attr.name);
    if (!other || !(*other == attr.value)) return false;
  }
  for (std::size_t i = 0; i < x->input_count(); ++i)
    if (!same(x->input(i), y->input(i), depth - 1)) return false;
  return true;
}

class LoopFacts {
 public:
  LoopFacts(const ir::Node& loop, const ir::Graph& condition, const ir::Graph& body)
      : loop_(loop), condition_(condition), body_(body) {}

  // 0, 1, 2 ...
  bool is_counter(const ir::Graph& g, const Value* v) const {
    const auto i = variable(g, v);
    if (!i || !is_number(behind_identities(loop_.input(*i)), 0)) return false;
    const Value* next = behind_identities(body_.outputs()[*i]);
    if (!is_op(next, {"Add", "AddV2"})) return false;
    const ir::Node& sum = *next->producer();
    return (variable(body_, sum.input(0)) == i && is_number(around(body_, sum.input(1)), 1)) ||
           (variable(body_, sum.input(1)) == i && is_number(around(body_, sum.input(0)), 1));
  }

  // It goes on while a counter is below `size`, and for no other reason.
  bool runs_to(const Value* size) const { return runs_to(condition_.outputs()[0], size); }

 private:
  std::optional<std::size_t> variable(const ir::Graph& g, const Value* v) const {
    v = behind_identities(v);
    const auto it = std::find(g.inputs().begin(), g.inputs().end(), v);
    if (it == g.inputs().end()) return std::nullopt;
    return static_cast<std::size_t>(it - g.inputs().begin());
  }

  // What the value is before the loop, where that does not change.
  const Value* around(const ir::Graph& g, const Value* v) const {
    v = behind_identities(v);
    const auto i = variable(g, v);
    if (!i) return v;
    const bool changes = behind_identities(body_.outputs()[*i]) != body_.inputs()[*i];
    return changes ? v : behind_identities(loop_.input(*i));
  }

  bool runs_to(const Value* test, const Value* size) const {
    test = behind_identities(test);
    if (is_op(test, {"LogicalAnd"}))
      return runs_to(test->producer()->input(0), size) && runs_to(test->producer()->input(1), size);
    const bool less = is_op(test, {"Less"});
    if (!less && !is_op(test, {"Greater"})) return false;
    const ir::Node& n = *test->producer();
    return is_counter(condition_, n.input(less ? 0 : 1)) &&
           same(around(condition_, n.input(less ? 1 : 0)), size);
  }

  const ir::Node& loop_;
  const ir::Graph& condition_;
  const ir::Graph& body_;
};

bool read_only_by(const Value* v, const ir::Node* reader) {
  if (v->is_graph_output()) return false;
  return std::all_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) {
    return u.node == reader || (u.node->op() == "Identity" && read_only_by(u.node->output(), reader));
  });
}

bool is_only_output(const ir::Graph& g, const Value* v, std::size_t output) {
  for (std::size_t i = 0; i < g.outputs().size(); ++i)
    if (i != output && behind_identities(g.outputs()[i]) == v) return false;
  return std::all_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) {
    return u.node->op() == "Identity" && u.node->graph() == &g && is_only_output(g, u.node->output(), output);
  });
}

}  // namespace

const Value* behind_identities(const Value* v) {
  while (v->producer() && v->producer()->op() == "Identity") v = v->producer()->input(0);
  return v;
}

std::optional<Written> written_once(const ir::Node& loop, const ir::Graph& condition, const ir::Graph& body,
                                    std::size_t variable) {
  const Value* last = behind_identities(body.outputs()[variable]);
  if (!is_op(last, {"TensorListSetItem", "TensorListPushBack"})) return std::nullopt;
  const ir::Node& write = *last->producer();
  const Value* before = body.inputs()[variable];
  if (write.graph() != &body || behind_identities(write.input(0)) != before ||
      condition.inputs()[variable]->is_used() || !read_only_by(before, &write) ||
      !is_only_output(body, last, variable))
    return std::nullopt;
  const Value* first = behind_identities(loop.input(variable));
  if (write.op() == "TensorListPushBack")
    return Written{.appends = true, .to_end = is_op(first, {"EmptyTensorList"})};
  const LoopFacts facts(loop, condition, body);
  if (!facts.is_counter(body, write.input(1))) return std::nullopt;
  if (!is_op(first, {"TensorListReserve"})) return Written{};
  const Value* size = behind_identities(first->producer()->input(1));
  const bool to_end = facts.runs_to(size);
  const auto known = constant_ints(size);
  return Written{.to_end = to_end || is_number(size, 0),
                 .length = to_end && known && known->size() == 1 ? known->front() : kUnknownDim};
}

}  // namespace t2o::op_mappers
