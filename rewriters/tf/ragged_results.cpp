#include <optional>

#include "rewriters/all.h"
#include "rewriters/tf/loop.h"
#include "tf/op_builder.h"

// tf.map_fn collects rows of different lengths as a list of variants, which become a ragged tensor behind the
// loop. Instead, the list holds the lengths of the rows, and one more variable the rows so far.
namespace t2o::rewriters {
namespace {

struct Found {
  ir::Node *from, *stack, *loop, *set, *row;  // RaggedTensorFromVariant .. RaggedTensorToVariant
  std::size_t variable;
};

ir::Node* maker(Value* v, std::string_view op) {
  v = through_identities(v);
  return is_op(v, op) ? v->producer() : nullptr;
}

bool is_only_read_by(const Value* v, const ir::Node* reader) {
  return !v->is_graph_output() && v->uses().size() == 1 && v->uses()[0].node == reader;
}

const char* find(ir::Node& from, Found& f) {
  f.from = &from;
  if (int_attr(from, "output_ragged_rank") != 1 || int_attr(from, "input_ragged_rank", -1) > 0)
    return "it is ragged more than once";
  f.stack = maker(from.input(0), "TensorListStack");
  if (!f.stack || !is_only_read_by(f.stack->output(), &from)) return "it is no list";
  Value* list = through_identities(f.stack->input(0));
  f.loop = list->producer();
  const auto loop = f.loop ? Loop::view(*f.loop) : std::nullopt;
  if (!loop || f.loop->graph() != from.graph()) return "no loop makes it";
  while (f.variable < loop->size() && f.loop->output(f.variable) != list) ++f.variable;
  if (!is_only_read_by(list, f.stack)) return "the list is read twice";
  f.set = maker(loop->result(f.variable), "TensorListSetItem");
  if (!f.set || f.set->graph() != &loop->body() || !loop->is_step(f.set->input(1)))
    return "its items are not set in turn";
  const Value* before = loop->body().inputs()[f.variable];
  if (through_identities(f.set->input(0)) != before || !is_only_read_by(before, f.set))
    return "its items are read";
  f.row = maker(f.set->input(2), "RaggedTensorToVariant");
  if (!f.row || f.row->input_count() != 1 || int_attr(*f.row, "batched_input") != 0)
    return "its items are no rows";
  if (!maker(loop->initial(f.variable), "TensorListReserve")) return "the list is there before the loop";
  if (f.row->input(0)->dtype() != from.outputs().back()->dtype()) return "the rows have another type";
  if (f.row->input(0)->dtype() == DType::string) return "the rows are texts";
  return nullptr;
}

Value* vector(Rewrite& r, std::int32_t n) { return r.constant(Tensor::of<std::int32_t>({1}, {n})); }
Value* number(Rewrite& r, std::int32_t n) { return r.constant(Tensor::scalar<std::int32_t>(n)); }

Value* joined(Rewrite& r, Value* a, Value* b, Shape shape) {
  return r.make(tf::op_spec("ConcatV2", {a, b, number(r, 0)}, {}, {std::move(shape)}));
}

// What the loop gets beside its variables.
struct Variable {
  Value *first, *next;  // in front of the loop, in its body
};

Value* added(const Found& f, Value* first) {
  for (const char* graph : {"cond", "body"})
    (*std::get_if<GraphPtr>(f.loop->attr(graph)))
        ->add_input("rows", first->dtype(), Shape(Ints{kUnknownDim}));
  return f.set->graph()->inputs().back();
}

Values with_variables(ir::Graph& g, const Found& f, const std::vector<Variable>& more) {
  ir::Graph& body = *f.set->graph();
  Values results = body.outputs();
  ir::NodeSpec spec{f.loop->op(), f.loop->inputs(),        f.loop->attrs(),
                    {},           f.loop->shared_origin(), f.loop->name()};
  for (const Value* v : f.loop->outputs()) spec.outputs.push_back({"", v->dtype(), v->shape()});
  for (const Variable& v : more) {
    results.push_back(v.next);
    spec.inputs.push_back(v.first);
    spec.outputs.push_back({"", v.first->dtype(), Shape(Ints{kUnknownDim})});
    for (ir::NamedAttr& a : spec.attrs)
      if (auto* types = std::get_if<DTypes>(&a.value); types && a.name == "T")
        types->push_back(v.first->dtype());
  }
  body.set_outputs(results);
  const ir::Node& made = g.add(std::move(spec), f.loop);
  const std::size_t old = f.loop->outputs().size();
  for (std::size_t i = 0; i < old; ++i)
    if (f.loop->output(i)->is_used()) replace_value(g, f.loop->output(i), made.output(i));
  for (const char* graph : {"body", "cond"}) g.remove_attr(*f.loop, graph);  // which are the new loop's
  g.erase(*f.loop);
  return Values(made.outputs().begin() + static_cast<std::ptrdiff_t>(old), made.outputs().end());
}

const Shape kAny(Ints{kUnknownDim});

// Nothing tells the sizes of a row before the loop: its elements are collected in one axis, and the sizes of
// what they make up are a variable too.
void replace(ir::Graph& g, const Found& f) {
  const DType type = f.from->output(0)->dtype();
  Value* row = f.row->input(0);
  Rewrite in(*f.set->graph(), *f.set);
  Value* shape = in.make(tf::op_spec("Shape", {row}, {{"out_type", type}}, {kAny}));
  Value* length =
      in.make(tf::op_spec("GatherV2", {shape, number(in, 0), number(in, 0)}, {}, {Shape::scalar()}));
  Value* flat = in.make(tf::op_spec("Reshape", {row, vector(in, -1)}, {}, {kAny}));
  Value* one = vector(in, 1);
  Value* sizes = in.make(tf::op_spec("StridedSlice", {shape, one, one, one}, {{"end_mask", 1}}, {kAny}));
  f.set->graph()->set_input(*f.set, 2, length);
  f.set->graph()->set_attr(*f.set, "element_dtype", type);

  Rewrite before(g, *f.loop);
  Value* count = maker(f.loop->input(f.variable), "TensorListReserve")->input(1);
  Value* scalars = before.constant(Tensor::of<std::int32_t>({0}, std::vector<std::int32_t>{}));
  Value* list =
      before.make(tf::op_spec("TensorListReserve", {scalars, count},
                              {{"element_dtype", type}, {"shape_type", DType::i32}}, {Shape::scalar()}));
  g.set_input(*f.loop, f.variable, list);
  const auto nothing = [&](DType t) {
    return before.constant(Tensor::filled(t, {0}, std::vector<std::byte>(byte_size(t, 1))));
  };
  Value *no_elements = nothing(row->dtype()), *no_sizes = nothing(type);
  Value* so_far = added(f, no_elements);
  added(f, no_sizes);
  Value* elements = joined(in, so_far, flat, kAny);
  const Values last = with_variables(g, f, {{no_elements, elements}, {no_sizes, sizes}});

  Rewrite after(g, *f.from);
  Value* lengths = after.make(tf::op_spec("TensorListStack", {f.stack->input(0), scalars},
                                          {{"element_dtype", type}, {"num_elements", -1}}, {kAny}));
  Value* ends = after.make(tf::op_spec("Cumsum", {lengths, number(after, 0)}, {}, {kAny}));
  Value* zero = type == DType::i64 ? after.constant(Tensor::of<std::int64_t>({1}, {0})) : vector(after, 0);
  Value* splits = joined(after, zero, ends, kAny);
  Value* total =
      after.make(tf::op_spec("Sum", {lengths, number(after, 0)}, {{"keep_dims", 1}}, {Shape(Ints{1})}));
  Value* dims = joined(after, total, last[1], kAny);
  Value* rows = after.make(tf::op_spec("Reshape", {last[0], dims}, {}, {f.from->output(1)->shape()}));
  replace_value(g, f.from->output(0), splits);
  replace_value(g, f.from->output(1), rows);
}

bool replace(ir::Graph& g, ir::Node& n) {
  if (n.op() != "RaggedTensorFromVariant") return false;
  Found f{};
  const char* why = find(n, f);
  trace_match("ragged_results", n.output(), why ? why : "replaced");
  if (!why) replace(g, f);
  return !why;
}

}  // namespace

Rewriter ragged_results() {
  return for_each_node("ragged_results", {"RaggedTensorFromVariant"},
                       [](ir::Graph& g, ir::Node& n) { return replace(g, n); });
}

}  // namespace t2o::rewriters
