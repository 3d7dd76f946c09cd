#include "op_mappers/control_flow.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/tensor_lists.h"

namespace t2o::op_mappers {

Wanted used_outputs(const ir::Node& n) {
  Wanted used;
  for (const Value* v : n.outputs()) used.push_back(v->is_used());
  return used;
}

Value* own(SubgraphContext& c, ir::Graph& g, Value* v, std::unordered_set<const Value*>& taken) {
  if (v->graph() == &g && v->producer() && taken.insert(v).second) return v;
  return g
      .add({.op = "Identity",
            .inputs = {v},
            .outputs = {{{}, v->dtype(), v->shape()}},
            .origin = c.shared_origin(),
            .name_later = true})
      .output();
}

Shape common(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return {};
  Ints dims;
  for (int i = 0; i < a.rank(); ++i) dims.push_back(a[i] == b[i] ? a[i] : kUnknownDim);
  return Shape(std::move(dims));
}

Value* as_condition(Emitter& e, Value* v) {
  if (v->shape().ranked() && v->shape().rank() > 0) {
    Value* size = e.size_of(v);
    Value* none = e.constant<std::int64_t>(0);
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
  LoopMaker(SubgraphContext& c, const tfgraph::Loop& loop, const ir::Graph& condition)
      : c_(c), loop_(loop), condition_(condition), body_(loop.body()) {}
  Values run();

 private:
  std::size_t size() const { return c_.input_count(); }
  void find_rounds();
  void find_carried();
  void find_written();
  Shape settle(std::size_t variable, const Shape& now, const Shape& after, bool last_try);
  Shapes first_shapes();
  void check_effort();
  Values loop(Value* at_first, const GraphPtr& body, const Shapes& shapes);
  Value* condition(ir::Graph& g, const Values& variables);
  GraphPtr make_body(const Shapes& shapes);
  void discard(const GraphPtr&);

  SubgraphContext& c_;
  const tfgraph::Loop& loop_;
  const ir::Graph& condition_;
  const ir::Graph& body_;
  Value* count_ = nullptr;  // of its rounds, where that is settled at first; not 0 for certain
  Wanted carried_;          // the others are the same in each round, or nobody asks for them
  std::vector<std::optional<Written>> written_;  // the lists that become scan outputs
  Values initial_ = c_.inputs();
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
    if (std::find(mapped.begin(), mapped.end(), v) == mapped.end()) mapped.push_back(v);
  }
  Value* least = nullptr;
  for (Value* limit : mapped) {
    Value* v = c_.cast(limit, DType::i64);
    least = least ? c_.minimum(least, v) : v;
  }
  if (least && constant_ints(least).value_or(Ints{1}).front() > 0) count_ = least;
}

// What changes and is asked for: behind the loop, by its condition, or for the next round of what is.
void LoopMaker::find_carried() {
  std::unordered_map<const Value*, std::size_t> variables;
  for (std::size_t i = 0; i < size(); ++i) {
    variables[body_.inputs()[i]] = i;
    variables[condition_.inputs()[i]] = i;
  }
  Wanted needed(size());
  std::vector<std::size_t> work;
  const auto need = [&](std::size_t i) {
    if (needed[i]) return;
    needed[i] = true;
    work.push_back(i);
  };
  const auto need_variable = [&](const Value* v) {
    if (const auto it = variables.find(v); it != variables.end()) need(it->second);
  };
  const Wanted used = used_outputs(c_.node());
  for (std::size_t i = 0; i < size(); ++i)
    if (used[i]) need(i);
  Sources sources;
  if (!count_) sources.add(condition_.outputs()[0], need_variable);
  carried_.assign(size(), false);
  while (!work.empty()) {
    const std::size_t i = work.back();
    work.pop_back();
    carried_[i] = loop_.result(i) != body_.inputs()[i];
    if (carried_[i]) sources.add(body_.outputs()[i], need_variable);
  }
}

void LoopMaker::find_written() {
  for (std::size_t i = 0; i < size(); ++i) {
    const bool asked = carried_[i] && is_list(body_.inputs()[i]);
    written_.push_back(asked ? written_once(loop_, condition_, i) : std::nullopt);
    if (!count_ || !written_[i] || written_[i]->appends || !written_[i]->reaches_first()) continue;
    const Shape& list = c_.in(i)->shape();
    if (!list.ranked() || constant_ints(count_) != Ints{list[0]}) continue;
    written_[i]->from_front = written_[i]->to_end = true;  // each of its elements, as none is written twice
    written_[i]->length = list[0];
  }
}

Value* LoopMaker::condition(ir::Graph& g, const Values& variables) {
  Value* v = c_.map(condition_, variables, {true}, g)[0];
  if (!v) return nullptr;
  Emitter e(g, c_.target(), c_.shared_origin());
  return as_condition(e, v);
}

// (round, condition, variables) -> (condition, variables, elements of lists); null when it failed.
GraphPtr LoopMaker::make_body(const Shapes& shapes) {
  GraphPtr g = c_.graph().make_subgraph();
  const std::string name = c_.origin().node + "/body";
  g->set_name(name);
  g->add_input(name + "/round", DType::i64, Shape::scalar());
  g->add_input(name + "/condition", DType::boolean, Shape::scalar());
  Values before = initial_, outputs = {nullptr};
  for (std::size_t i = 0; i < size(); ++i)
    if (carried_[i])
      before[i] = g->add_input(body_.inputs()[i]->name(), written_[i] ? DType::variant : before[i]->dtype(),
                               shapes[i]);
  Values after = c_.map(body_, before, carried_, *g);
  for (std::size_t i = 0; i < size(); ++i)
    if (!carried_[i]) after[i] = before[i];
  Value* go_on = c_.failed() ? nullptr : count_ ? g->inputs()[1] : condition(*g, after);
  if (go_on) {
    std::unordered_set<const Value*> taken;
    outputs[0] = own(c_, *g, go_on, taken);
    for (const bool scanned : {false, true})
      for (std::size_t i = 0; i < size(); ++i)
        if (carried_[i] && written_[i].has_value() == scanned)
          outputs.push_back(own(c_, *g, after[i], taken));
    for (std::size_t i = 0; i < size(); ++i)
      if (written_[i]) g->remove_input(before[i]);
    g->set_outputs(std::move(outputs));
    return g;
  }
  discard(g);
  return nullptr;
}

void LoopMaker::discard(const GraphPtr& g) {  // with what it reads outside
  c_.graph().erase(c_.graph().add({.op = "Loop", .attrs = {{"body", g}}, .name_later = true}));
}

// The shape of a variable that is `now` before a round and `after` behind it.
Shape LoopMaker::settle(std::size_t variable, const Shape& now, const Shape& after, bool last_try) {
  if (!is_list(body_.inputs()[variable])) {
    Shape both = common(now, after);
    return both != now && last_try ? Shape() : both;  // loops in loops make this cost
  }
  if (!now.ranked() && !after.ranked()) return now;
  if (!now.ranked()) {
    Value*& first = initial_[variable];
    first = with_rank(c_, first, Shape(Ints(after.dims().begin() + 1, after.dims().end())));
    return common(first->shape(), after);
  }
  if (!after.ranked() || now.rank() != after.rank())
    c_.fail(Code::unsupported_op,
            "the elements of its TensorList '" + body_.inputs()[variable]->name() +
                "' are not known to have one rank",
            "{shapes} | {cut}");
  Shape both = common(now, after);
  return both != now && last_try ? Shape::unknown_dims(now.rank()) : both;
}

constexpr std::size_t kMuchDiscarded = 1 << 17, kMostDiscarded = 1 << 20;

// Where loops in loops have already made it cost, nothing is supposed of the shapes.
Shapes LoopMaker::first_shapes() {
  Shapes shapes;
  for (std::size_t i = 0; i < size(); ++i) {
    const Shape& s = c_.in(i)->shape();
    const bool open = carried_[i] && !written_[i] && c_.effort().discarded > kMuchDiscarded;
    shapes.push_back(!open                         ? s
                     : !is_list(body_.inputs()[i]) ? Shape()
                     : s.ranked()                  ? Shape::unknown_dims(s.rank())
                                                   : s);
  }
  return shapes;
}

void LoopMaker::check_effort() {
  if (c_.effort().discarded > kMostDiscarded)
    c_.fail(Code::unsupported_op,
            "loops in loops change the shapes of their variables, which takes too long to follow",
            "do not nest the loops, or keep the shapes of their variables");
}

// The variables keep the shape they have at first where the body, given that, gives it back.
Values LoopMaker::run() {
  find_rounds();
  find_carried();
  find_written();
  Value* at_first = count_ ? c_.constant(true) : condition(c_.graph(), c_.inputs());
  if (!at_first) return {};
  Shapes shapes = first_shapes();
  GraphPtr body;
  bool stable = false;
  for (int round = 0; !stable; ++round) {
    const std::size_t mapped = c_.effort().mapped;
    body = make_body(shapes);
    if (!body) return {};
    stable = true;
    std::size_t at = 1;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!carried_[i] || written_[i]) continue;
      Shape both;
      try {
        both = settle(i, shapes[i], body->outputs()[at++]->shape(), round > 0);
      } catch (const ConversionError&) {
        discard(body);
        throw;
      }
      stable = stable && both == shapes[i];
      shapes[i] = std::move(both);
    }
    if (stable) break;
    discard(body);
    c_.effort().discarded += c_.effort().mapped - mapped;
    check_effort();
  }
  if (std::find(carried_.begin(), carried_.end(), true) == carried_.end()) return c_.inputs();
  return loop(at_first, body, shapes);
}

// Of an element of a list of that shape, where a size 1 may stand for any.
Ints dims_in(const Shape& element, const Shape& list) {
  Ints dims = element.dims();
  if (!list.ranked() || list.rank() != element.rank() + 1) return dims;
  for (int i = 0; i < element.rank(); ++i) {
    Dim& own = dims[static_cast<std::size_t>(i)];
    if (!is_known(own) && is_known(list[i + 1]) && list[i + 1] != 1) own = list[i + 1];
  }
  return dims;
}

Values LoopMaker::loop(Value* at_first, const GraphPtr& body, const Shapes& shapes) {
  ir::NodeSpec spec{.op = "Loop",
                    .inputs = {count_, at_first},
                    .attrs = {{"body", body}},
                    .origin = c_.shared_origin(),
                    .name_later = true};
  for (std::size_t i = 0; i < size(); ++i) {
    if (!carried_[i] || written_[i]) continue;
    spec.inputs.push_back(initial_[i]);
    spec.outputs.push_back({{}, initial_[i]->dtype(), shapes[i]});
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (!written_[i]) continue;
    Value* element = body->outputs()[1 + spec.outputs.size()];
    if (!element->shape().ranked()) {
      discard(body);
      c_.fail(Code::not_constant,
              "the rank of the elements of its TensorList '" + body_.inputs()[i]->name() + "' is not known",
              "{shapes} | {cut}");
    }
    Ints dims = dims_in(element->shape(), c_.in(i)->shape());
    body->set_type(element, element->dtype(), Shape(dims));  // also what no round makes
    dims.insert(dims.begin(), written_[i]->length);
    spec.outputs.push_back({{}, element->dtype(), Shape(std::move(dims))});
  }
  const Values made = c_.graph().add(std::move(spec)).outputs();
  Values results = c_.inputs();
  std::size_t at = 0;
  for (std::size_t i = 0; i < size(); ++i)
    if (carried_[i] && !written_[i]) results[i] = made[at++];
  for (std::size_t i = 0; i < size(); ++i) {
    if (!written_[i]) continue;
    Value* first = written_[i]->first < 0 ? nullptr : c_.in(static_cast<std::size_t>(written_[i]->first));
    results[i] = with_rest(c_, *written_[i], made[at++], c_.in(i), first);
  }
  return results;
}

Values map_while(MapperContext& context) {
  SubgraphContext& c = SubgraphContext::of(context);
  const auto condition = c.attr<GraphPtr>("cond");
  c.attr<GraphPtr>("body");  // read by way of the view
  const auto loop = tfgraph::Loop::view(c.node());
  if (!loop) c.fail(Code::bad_model, "its condition and body have other inputs or outputs than the loop");
  return LoopMaker(c, *loop, *condition).run();
}

}  // namespace

void register_control_flow(OpRegistry& r) {
  const auto rows = [](const auto& row) {  // complex numbers too: what is handed on may be pairs
    row("If", "StatelessIf", "XlaIf").ignores({"output_shapes"}).by(map_if);
    row("Case", "StatelessCase").ignores({"output_shapes"}).by(map_case);
    row("While", "StatelessWhile", "XlaWhile")
        .ignores({"output_shapes", "parallel_iterations"})
        .by(map_while);
  };
  rows([&r](const auto&... names) { return r.op(names...); });
  rows([&r](const auto&... names) { return r.complex(names...); });
}

}  // namespace t2o::op_mappers
