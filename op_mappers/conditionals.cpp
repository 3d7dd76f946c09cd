#include <functional>

#include "op_mappers/control_flow.h"
#include "op_mappers/tensor_lists.h"

// If and Case.
namespace t2o::op_mappers {
namespace {

using MakeBranch =
    std::function<MappedValues(ir::Graph&)>;  // the values of the wanted outputs; empty when it failed

// A list that is fresh in one branch alone gets the rank that its elements have in the other.
Mapped with_rank_of(GraphContext& c, ir::Graph& g, const Mapped& v, const Mapped& other) {
  if (!v.list || !other.list || v.list->form == ListForm::sequence) return v;
  const List list{v.value, *v.list}, like{other.value, *other.list};
  if (like.is_fresh()) return v;
  if (list.is_fresh() && like.value->shape().ranked()) {
    Emitter e(g, c.target(), c.shared_origin());
    return with_rank(e, list, element_of_stack(like.value->shape()));
  }
  const Shape &own = v.value->shape(), &as = like.value->shape();
  if (list.is_fresh() || own.ranked() != as.ranked() || (own.ranked() && own.rank() != as.rank()))
    c.fail(Code::unsupported_op, "a TensorList has elements of different ranks in its branches", "");
  return v;
}

// The value that is one or the other: `v` is what the If gives.
Mapped either(Value* v, const Mapped& a, const Mapped& b) {
  Mapped both(v);
  both.kind = a.kind;
  if (a.list && b.list) both = {v, common(*a.list, *b.list)};
  return both;
}

// One ONNX If in `g`; its wanted outputs. Of a condition that is known one branch alone: the other may not
// even fit the shapes.
MappedValues make_if(GraphContext& c, ir::Graph& g, Value* condition, const MakeBranch& then_branch,
                     const MakeBranch& else_branch) {
  if (const TensorPtr& known = condition->constant(); known && known->elements() == 1)
    return known->int_at(0) != 0 ? then_branch(g) : else_branch(g);
  GraphPtr branches[2];
  MappedValues results[2];
  for (const int side : {0, 1}) {
    branches[side] = g.make_subgraph();
    branches[side]->set_name(c.origin().label() + (side == 0 ? "/then" : "/else"));
    results[side] = side == 0 ? then_branch(*branches[side]) : else_branch(*branches[side]);
    if (c.failed()) return {};
  }
  for (const int side : {0, 1}) {
    std::unordered_set<const Value*> taken;
    for (std::size_t i = 0; i < results[side].size(); ++i) {
      Mapped& v = results[side][i];
      v = with_rank_of(c, *branches[side], v, results[1 - side][i]);
      v.value = own(c, *branches[side], v.value, taken);
    }
    branches[side]->set_outputs(GraphContext::values_of(results[side]));
  }
  ir::NodeSpec spec{.op = "If",
                    .inputs = {condition},
                    .attrs = {{"then_branch", branches[0]}, {"else_branch", branches[1]}},
                    .origin = c.shared_origin(),
                    .name_later = true};
  for (std::size_t i = 0; i < results[0].size(); ++i)
    spec.outputs.push_back({{},
                            results[0][i].value->dtype(),
                            common(results[0][i].value->shape(), results[1][i].value->shape())});
  ir::Node& made = g.add(std::move(spec));
  MappedValues outputs;
  for (std::size_t i = 0; i < made.outputs().size(); ++i)
    outputs.push_back(either(made.output(i), results[0][i], results[1][i]));
  return outputs;
}

MakeBranch branch_of(GraphContext& c, const ir::Graph& source) {
  return [&c, &source](ir::Graph& g) {
    const MappedValues inputs(c.mapped().begin() + 1, c.mapped().end());
    const Wanted wanted = used_outputs(c.node());
    MappedValues values;
    for (Mapped& v : c.map(source, inputs, wanted, g))
      if (v.value) values.push_back(std::move(v));
    return values;
  };
}

MappedValues spread(const ir::Node& n, const MappedValues& of_wanted) {
  MappedValues all;
  std::size_t next = 0;
  for (const bool used : used_outputs(n))
    all.push_back(used && next < of_wanted.size() ? of_wanted[next++] : Mapped());
  return all;
}

void check_branch(const GraphContext& c, const ir::Graph& branch) {
  if (branch.inputs().size() + 1 != c.input_count() || branch.outputs().size() != c.node().outputs().size())
    c.fail(Code::bad_model,
           "branch '" + branch.name() + "' has other inputs or outputs than the conditional");
}

// Halves the branches again and again; an index out of bounds means the last.
MappedValues choose(GraphContext& c, ir::Graph& g, Value* index, const Graphs& branches, std::size_t first,
                    std::size_t last) {
  if (last - first == 1) return branch_of(c, *branches[first])(g);
  const std::size_t middle = first + (last - first) / 2;
  Emitter e(g, c.target(), c.shared_origin());
  Value* bound = e.constant(static_cast<std::int32_t>(middle));
  Value* below = e.less(index, bound);
  return make_if(
      c, g, below, [&, middle](ir::Graph& b) { return choose(c, b, index, branches, first, middle); },
      [&, middle](ir::Graph& b) { return choose(c, b, index, branches, middle, last); });
}

// Compares with one branch after the other; what is none of them is the last.
MappedValues choose_one_by_one(GraphContext& c, ir::Graph& g, Value* index, const Graphs& branches,
                               std::size_t at) {
  if (at + 1 == branches.size()) return branch_of(c, *branches[at])(g);
  Emitter e(g, c.target(), c.shared_origin());
  Value* number = e.constant(static_cast<std::int32_t>(at));
  Value* is_this = e.equal(index, number);
  return make_if(c, g, is_this, branch_of(c, *branches[at]),
                 [&](ir::Graph& b) { return choose_one_by_one(c, b, index, branches, at + 1); });
}

constexpr std::size_t kFewBranches = 4;

}  // namespace

MappedValues map_if(GraphContext& c) {
  const auto then_graph = c.attr<GraphPtr>("then_branch"), else_graph = c.attr<GraphPtr>("else_branch");
  check_branch(c, *then_graph);
  check_branch(c, *else_graph);
  Value* condition = as_condition(c, c.in(0));
  return spread(c.node(),
                make_if(c, c.graph(), condition, branch_of(c, *then_graph), branch_of(c, *else_graph)));
}

MappedValues map_case(GraphContext& c) {
  const auto branches = c.attr<Graphs>("branches");
  if (branches.empty()) c.fail(Code::bad_model, "has no branches");
  for (const GraphPtr& b : branches) check_branch(c, *b);
  if (branches.size() <= kFewBranches)
    return spread(c.node(), choose_one_by_one(c, c.graph(), c.in(0), branches, 0));
  Value* zero = c.constant(std::int32_t{0});
  Value* past = c.constant(static_cast<std::int32_t>(branches.size()));
  Value* negative = c.less(c.in(0), zero);
  Value* index = c.where(negative, past, c.in(0));
  return spread(c.node(), choose(c, c.graph(), index, branches, 0, branches.size()));
}

}  // namespace t2o::op_mappers
