#include "op_mappers/control_flow.h"

#include "op_mappers/all.h"
#include "op_mappers/constant_loops.h"
#include "op_mappers/list_sequences.h"
#include "op_mappers/loop_lists.h"
#include "op_mappers/numbers.h"
#include "op_mappers/tensor_lists.h"

namespace t2o::op_mappers {

Wanted used_outputs(const ir::Node& n) {
  Wanted used;
  for (const Value* v : n.outputs()) used.push_back(v->is_used());
  return used;
}

Value* own(GraphContext& c, ir::Graph& g, Value* v, std::unordered_set<const Value*>& taken) {
  if (v->graph() == &g && v->producer() && taken.insert(v).second) return v;
  return g
      .add({.op = "Identity",
            .inputs = {v},
            .outputs = {{{}, v->dtype(), v->shape()}},
            .origin = c.shared_origin(),
            .name_later = true})
      .output();
}

Value* as_condition(Emitter& e, Value* v) {
  if (v->shape().ranked() && v->shape().rank() > 0) {
    Value* size = e.size_of(v);
    Value* none = e.i64(0);
    return e.greater(size, none);
  }
  if (v->dtype() != DType::string) return e.cast(v, DType::boolean);
  Value* empty = zero_of(e, DType::string);
  Value* is_empty = e.equal(v, empty);
  return e.logical_not(is_empty);
}

namespace {

// ---- While

// The values that some values are made of, those of graphs around included; each is looked at once.
class Sources {
 public:
  // Calls found(v) for each that has not been found before.
  template <class F>
  void add(const Value* root, F&& found) {
    reach(root, found);
    while (!work_.empty()) {
      const ir::Node& n = *work_.back();
      work_.pop_back();
      for (const Value* in : n.inputs()) reach(in, found);
      ir::for_each_subgraph(n, [&](const ir::Graph& g) {
        for (const Value* o : g.outputs()) reach(o, found);
        for (const ir::Node& inner : g.nodes())
          if (nodes_.insert(&inner).second) work_.push_back(&inner);
      });
    }
  }

 private:
  template <class F>
  void reach(const Value* v, F&& found) {
    if (!v || !values_.insert(v).second) return;
    found(v);
    if (v->producer() && nodes_.insert(v->producer()).second) work_.push_back(v->producer());
  }

  std::unordered_set<const Value*> values_;
  std::unordered_set<const ir::Node*> nodes_;
  std::vector<const ir::Node*> work_;
};

class LoopMaker {
 public:
  LoopMaker(GraphContext& c, const tfgraph::Loop& loop)
      : c_(c), loop_(loop), body_(loop.body()), types_(c.settled()) {}
  MappedValues run();

 private:
  std::size_t size() const { return c_.input_count(); }
  bool is_variable(std::size_t i) const { return carried_[i] && !scanned(i); }  // of the ONNX Loop
  bool scanned(std::size_t i) const { return written_[i] && !initial_[i].list->is_sequence(); }
  void find_rounds();
  void find_carried();
  void find_written();
  void begin();
  VariableType settle(std::size_t variable, const VariableType& now, const VariableType& after);
  bool settle_all(const MappedValues& after);
  MappedValues loop(Value* at_first, const GraphPtr& body, const MappedValues& after);
  Value* condition(ir::Graph& g, const MappedValues& variables);
  Mapped variable_in(ir::Graph& body, std::size_t i);
  GraphPtr make_body(MappedValues& after);
  void add_scan_output(std::size_t i, ir::Graph& body, ir::NodeSpec& spec) const;

  GraphContext& c_;
  const tfgraph::Loop& loop_;
  const ir::Graph& body_;
  std::vector<VariableType>& types_;
  Value* count_ = nullptr;  // of its rounds, where that is settled at first; not 0 for certain
  Wanted read_;             // by the condition, where it counts, or by the next value of a carried variable
  Wanted carried_;          // the others are the same in each round, or nobody asks for them
  std::vector<std::optional<Written>>
      written_;  // lists that a round writes once; those that are no sequences are scan outputs
  MappedValues initial_ = c_.mapped();
};

// The least of the numbers that its counters stay below, so that the loop need not compare in each round.
void LoopMaker::find_rounds() {
  Values mapped;
  for (const Value* limit : loop_.limits().value_or(Values())) {
    std::size_t i = 0;
    while (i < size() && loop_.initial(i) != limit) ++i;
    if (i == size() && !limit->constant()) return;
    Value* v = i < size() ? c_.in(i) : c_.constant(limit->constant());
    if (!is_int(v->dtype()) || v->shape() != Shape::scalar()) return;
    if (!contains(mapped, v)) mapped.push_back(v);
  }
  Value* least = nullptr;
  for (Value* limit : mapped) {
    Value* v = c_.cast(limit, DType::i64);
    least = least ? c_.minimum(least, v) : v;
  }
  if (least && constant_ints(least).value_or(Ints{1}).front() > 0) count_ = least;
}

// Finds the variables that change and that are read: after the loop, by its condition, or by the next value
// of such a variable.
void LoopMaker::find_carried() {
  Wanted needed(size());
  std::vector<std::size_t> work;
  const auto need = [&](std::size_t i) {
    if (needed[i]) return;
    needed[i] = true;
    work.push_back(i);
  };
  const auto need_variable = [&](const Value* v) {
    const int i = loop_.variable(v);
    if (i < 0) return;
    need(static_cast<std::size_t>(i));
    read_[static_cast<std::size_t>(i)] = true;
  };
  const Wanted used = used_outputs(c_.node());
  for (std::size_t i = 0; i < size(); ++i)
    if (used[i]) need(i);
  Sources sources;
  read_.assign(size(), false);
  if (!count_) sources.add(loop_.condition().outputs()[0], need_variable);
  carried_.assign(size(), false);
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    carried_[i] = loop_.result(i) != body_.inputs()[i];
    if (carried_[i]) sources.add(body_.outputs()[i], need_variable);
  }
}

void LoopMaker::find_written() {
  Wanted lists = carried_;
  for (std::size_t i = 0; i < size(); ++i) lists[i] = lists[i] && initial_[i].list;
  written_ = written_once(loop_, lists);
  for (std::size_t i = 0; i < size(); ++i) {
    const Mapped& list = initial_[i];
    if (!written_[i]) continue;
    if (list.list->is_sequence()) {
      if (!written_[i]->in_order()) written_[i] = std::nullopt;
      continue;
    }
    if (!count_ || written_[i]->appends || !written_[i]->reaches_first()) continue;
    const Shape& shape = list.value->shape();
    if (!shape.ranked() || constant_ints(count_) != Ints{shape[0]}) continue;
    written_[i]->from_front = written_[i]->to_end = true;  // each of its elements, as none is written twice
    written_[i]->length = shape[0];
  }
}

Value* LoopMaker::condition(ir::Graph& g, const MappedValues& variables) {
  Value* v = c_.map(loop_.condition(), variables, {true}, g)[0].value;
  if (!v) return nullptr;
  Emitter e(g, c_.target(), c_.shared_origin());
  return as_condition(e, v);
}

Mapped LoopMaker::variable_in(ir::Graph& body, std::size_t i) {
  Mapped v = initial_[i];
  const DType type = scanned(i) ? DType::variant : v.value->dtype();
  v.value = body.add_input(body_.inputs()[i]->name(), type, types_[i].shape);
  if (!types_[i].list) return v;
  ListType list = *types_[i].list;
  if (written_[i]) list.form = list.is_sequence() ? ListForm::appended : ListForm::scanned;
  return {v.value, std::move(list)};
}

// (round, condition, variables) -> (condition, variables, elements of lists); null when it failed.
GraphPtr LoopMaker::make_body(MappedValues& after) {
  GraphPtr g = c_.graph().make_subgraph();
  const std::string name = c_.origin().label() + "/body";
  g->set_name(name);
  g->add_input(name + "/round", DType::i64, Shape::scalar());
  g->add_input(name + "/condition", DType::boolean, Shape::scalar());
  MappedValues before = initial_;
  Values outputs = {nullptr};
  for (std::size_t i = 0; i < size(); ++i)
    if (carried_[i]) before[i] = variable_in(*g, i);
  after = c_.map(body_, before, carried_, *g);
  for (std::size_t i = 0; i < size(); ++i)
    if (!carried_[i]) after[i] = before[i];
  Value* go_on = c_.failed() ? nullptr : count_ ? g->inputs()[1] : condition(*g, after);
  if (go_on) {
    std::unordered_set<const Value*> taken;
    outputs[0] = own(c_, *g, go_on, taken);
    for (const bool scans : {false, true})
      for (std::size_t i = 0; i < size(); ++i)
        if (carried_[i] && scanned(i) == scans)
          outputs.push_back(after[i].value = own(c_, *g, after[i].value, taken));
    for (std::size_t i = 0; i < size(); ++i)
      if (scanned(i)) g->remove_input(before[i].value);
    g->set_outputs(std::move(outputs));
    return g;
  }
  return nullptr;
}

// The type of a variable that is `now` before a round and `after` behind it.
VariableType LoopMaker::settle(std::size_t variable, const VariableType& now, const VariableType& after) {
  VariableType both{common(now.shape, after.shape), now.list};
  if (!now.list || !after.list || now.list->is_sequence()) {
    if (now.list && after.list) both.list = std::make_shared<const ListType>(common(*now.list, *after.list));
    return both;
  }
  ListType list = common(*now.list, *after.list);
  const bool was_fresh = now.list->form == ListForm::fresh;
  if (was_fresh && after.list->form == ListForm::fresh) {
    both.shape = now.shape;
  } else if (was_fresh && after.shape.ranked()) {
    Mapped& first = initial_[variable];
    if (first.list->form == ListForm::fresh)
      first = with_rank(c_, {first.value, *first.list}, element_of_stack(after.shape));
    both.shape = common(first.value->shape(), after.shape);
  } else if (!now.shape.ranked() || !after.shape.ranked() || now.shape.rank() != after.shape.rank()) {
    c_.fail(Code::unsupported_op,
            "the elements of its TensorList '" + body_.inputs()[variable]->name() +
                "' are not known to have one rank",
            "{shapes} | {cut}");
  }
  both.list = std::make_shared<const ListType>(std::move(list));
  return both;
}

bool is_same(const VariableType& a, const VariableType& b) {
  return a.shape == b.shape && !a.list == !b.list && (!a.list || *a.list == *b.list);
}

// The first supposition: what the variables are at first. A loop inside of another one begins with what its
// variables were when it was mapped last, as far as that fits.
void LoopMaker::begin() {
  const bool again = !types_.empty();
  types_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const VariableType first{initial_[i].value->shape(), initial_[i].list};
    const bool was_fresh = types_[i].list && types_[i].list->form == ListForm::fresh;
    types_[i] = again && is_variable(i) && !was_fresh ? settle(i, first, types_[i]) : first;
  }
}

// Widens the types of the variables to those that the body gives; whether they were the same.
bool LoopMaker::settle_all(const MappedValues& after) {
  bool stable = true;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is_variable(i)) continue;
    const DType before = initial_[i].value->dtype(), now = after[i].value->dtype();
    if (before != now)
      c_.fail(Code::bad_model, "its variable '" + body_.inputs()[i]->name() + "' is " +
                                   std::string(name(before)) + " before a round and " +
                                   std::string(name(now)) + " after it");
    VariableType both = settle(i, types_[i], {after[i].value->shape(), after[i].list});
    stable = stable && is_same(both, types_[i]);
    types_[i] = std::move(both);
  }
  return stable;
}

// A variable keeps its first type if the body, given that type, returns it. Types only widen, so this ends.
// They stay wide when the loop around is mapped again, so all rounds together are as many as there are steps
// to widen.
MappedValues LoopMaker::run() {
  find_rounds();
  find_carried();
  if (auto known = run_constant_loop(c_, loop_, {carried_, read_, count_})) return *std::move(known);
  find_written();
  Value* at_first = count_ ? c_.constant(true) : condition(c_.graph(), c_.mapped());
  if (!at_first) return {};
  for (std::size_t i = 0; i < size(); ++i)
    if (written_[i] && initial_[i].list->is_sequence() && !written_[i]->appends)
      initial_[i] = {empty_sequence(c_, element_of(initial_[i].value->dtype())),
                     {initial_[i].list->dtype, ListForm::sequence}};
  begin();
  for (;;) {
    MappedValues after;
    const std::size_t before = c_.reported();
    const GraphPtr body = make_body(after);
    if (!body) return {};
    if (settle_all(after)) return contains(carried_, true) ? loop(at_first, body, after) : c_.mapped();
    c_.drop_notes(before);
  }
}

// The dims of an element. A dim that the element does not know comes from the list, unless the list has 1
// there: 1 may stand for any size.
Ints dims_in(const Shape& element, const Shape& list) {
  Ints dims = element.dims();
  if (!list.ranked() || list.rank() != element.rank() + 1) return dims;
  for (int i = 0; i < element.rank(); ++i) {
    Dim& own = nth(dims, i);
    if (!is_known(own) && is_known(list[i + 1]) && list[i + 1] != 1) own = list[i + 1];
  }
  return dims;
}

// The list of the elements that the rounds give.
void LoopMaker::add_scan_output(std::size_t i, ir::Graph& body, ir::NodeSpec& spec) const {
  Value* element = body.outputs()[1 + spec.outputs.size()];
  Shape rows;
  if (element->shape().ranked()) {
    Ints dims = dims_in(element->shape(), initial_[i].value->shape());
    body.set_type(element, element->dtype(), Shape(dims));  // also what no round makes
    dims.insert(dims.begin(), written_[i]->length);
    rows = Shape(std::move(dims));
  }
  spec.outputs.push_back({{}, element->dtype(), std::move(rows)});
}

MappedValues LoopMaker::loop(Value* at_first, const GraphPtr& body, const MappedValues& after) {
  ir::NodeSpec spec{.op = "Loop",
                    .inputs = {count_, at_first},
                    .attrs = {{"body", body}},
                    .origin = c_.shared_origin(),
                    .name_later = true};
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is_variable(i)) continue;
    spec.inputs.push_back(initial_[i].value);
    spec.outputs.push_back({{}, initial_[i].value->dtype(), types_[i].shape});
  }
  for (std::size_t i = 0; i < size(); ++i)
    if (scanned(i)) add_scan_output(i, *body, spec);
  const Values made = c_.graph().add(std::move(spec)).outputs();
  MappedValues results = c_.mapped();
  std::size_t at = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is_variable(i)) continue;
    results[i].value = made[at++];
    results[i].list = types_[i].list;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (!scanned(i)) continue;
    Value* first = written_[i]->first < 0 ? nullptr : c_.in(static_cast<std::size_t>(written_[i]->first));
    ListType list = common(*initial_[i].list, *after[i].list);
    list.form = ListForm::stacked;
    const List before{initial_[i].value, *initial_[i].list};
    results[i] = {with_rest(c_, *written_[i], made[at++], before, first), std::move(list)};
  }
  return results;
}

MappedValues map_while(GraphContext& c) {
  for (const char* graph : {"cond", "body"}) c.attr<GraphPtr>(graph);  // read by way of the view
  const auto loop = tfgraph::Loop::view(c.node());
  if (!loop) c.fail(Code::bad_model, "its condition and body have other inputs or outputs than the loop");
  return LoopMaker(c, *loop).run();
}

}  // namespace

void register_control_flow(OpRegistry& r) {
  const auto rows = [](const auto& row) {  // complex numbers too: what is handed on may be pairs
    row("If", "StatelessIf", "XlaIf").ignores({"output_shapes"}).by_graph(map_if);
    row("Case", "StatelessCase").ignores({"output_shapes"}).by_graph(map_case);
    row("While", "StatelessWhile", "XlaWhile")
        .ignores({"output_shapes", "parallel_iterations"})
        .by_graph(map_while);
  };
  rows([&r](const auto&... names) { return r.op(names...); });
  rows([&r](const auto&... names) { return r.complex(names...); });
}

}  // namespace t2o::op_mappers
