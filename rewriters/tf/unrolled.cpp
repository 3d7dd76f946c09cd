#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/tf/recurrent_build.h"
#include "rewriters/tf/unrolled_steps.h"

namespace t2o::rewriters {
namespace {

using Uses = std::vector<ir::Use>;

std::int64_t axis_of(const ir::Node& n) {
  const auto* axis = n.attr_if<std::int64_t>("axis");
  return axis ? *axis : 0;
}

// A chain of steps becomes the loop that it was drawn from, and that one the layers it is. When it is none,
// nothing is changed.
class Roller {
 public:
  Roller(ir::Graph& g, NodeOrder& order, const Unrolled& u)
      : g_(g), order_(order), u_(u), steps_(static_cast<std::int64_t>(u.steps)) {}

  bool run(std::string& why) {
    collect_steps();
    if (!collect_outputs(why) || !find_place(why)) return false;
    for (const bool finals_in_lists : {false, true}) {
      if (!build_loop(finals_in_lists, why)) return false;
      if (const auto found = find_recurrent_loop(*loop_, why)) {
        for (Output& o : outputs_) rewire(o);
        build_layers(*found);
        finish();
        return true;
      }
      undo();
    }
    return false;
  }

 private:
  struct Output {  // a value of the steps that is read elsewhere
    Value* value;  // of the second step
    const Values* steps;
    const Unrolled::State* state = nullptr;  // when it is one
    bool last_only = true;
    std::size_t variable = 0;
    bool is_list = false;
    Value* read = nullptr;  // the stacked list, or the final state
  };

  // ---- what is read of the steps

  void collect_steps() {
    for (const auto& [b, all] : u_.in_each_step)
      for (const Value* v : all)
        if (v) inside_.insert(v->producer());
  }

  bool is_inside(ir::Node* n) const { return inside_.contains(n) || u_.zeros.contains(n); }

  bool is_read_outside(const Value* v) const {
    return v && (v->is_graph_output() || std::any_of(v->uses().begin(), v->uses().end(),
                                                     [&](const ir::Use& u) { return !is_inside(u.node); }));
  }

  bool collect_outputs(std::string& why) {
    for (const ir::Node* n : u_.body) {
      if (u_.aside.contains(n)) continue;
      for (Value* v : n->outputs()) {
        const auto all = u_.in_each_step.find(v);
        if (all == u_.in_each_step.end()) {
          if (is_read_outside(v)) return no(why, "another output of a step's operator is read elsewhere");
          continue;
        }
        Output o{v, &all->second};
        for (std::size_t step = 0; step < u_.steps; ++step)
          if (is_read_outside(all->second[step])) {
            o.last_only = o.last_only && step + 1 == u_.steps;
            o.variable = 1;
          }
        if (o.variable == 0) continue;
        for (const Unrolled::State& s : u_.states)
          if (s.after[1] == v) o.state = &s;
        outputs_.push_back(o);
      }
    }
    if (outputs_.empty()) return no(why, "nothing of it is read");
    return true;
  }

  static bool no(std::string& why, const char* text) {
    why = text;
    return false;
  }

  // ---- where the loop may stand: behind all that it needs, in front of all that reads it

  bool find_place(std::string& why) {
    std::size_t needed = 0;
    const auto need = [&](const Value* v) {
      if (!v || !v->producer() || v->graph() != &g_ || inside_.contains(v->producer())) return;
      const ir::Node& n = *v->producer();
      needed = std::max(needed, order_.place(n) + (order_.is_new(n) ? 0 : 1));
    };
    need(u_.source->input(0));
    for (const auto& [v, unpack] : u_.items) need(unpack->input(0));
    for (const Unrolled::State& s : u_.states)
      if (!s.is_own_zero) need(s.initial);
    for (const ir::Node* n : u_.body)
      for (const Value* in : n->inputs()) need(in);
    std::size_t first = order_.size();
    bool is_new = false;
    for (const Output& o : outputs_)
      for (const Value* v : *o.steps)
        for (const ir::Use& use : v ? v->uses() : Uses()) {
          if (is_inside(use.node)) continue;
          const std::size_t at = order_.place(*use.node);
          if (at < first) is_new = false;
          if (at <= first) is_new = is_new || order_.is_new(*use.node);
          first = std::min(first, at);
        }
    while (needed < order_.size() && !order_.node(needed)) ++needed;
    if (needed >= order_.size() || needed > first || (is_new && needed == first))
      return no(why, "something is read before all is there that its steps need");
    place_ = needed;
    return true;
  }

  // ---- the loop

  std::string name() const { return u_.body.back()->name() + "/const"; }
  Value* add(std::string op, Values inputs, Attrs attrs, DType dtype, Shape shape,
             const std::string& name = "") {
    ir::Node& n = g_.add({std::move(op),
                          std::move(inputs),
                          std::move(attrs),
                          {{"", dtype, std::move(shape)}},
                          u_.body.back()->shared_origin(),
                          name.empty() ? u_.body.back()->name() : name},
                         order_.node(place_));
    made_.push_back(&n);
    return n.output();
  }
  Value* constant(TensorPtr t) { return g_.add_constant(name(), std::move(t)); }
  Value* i32(std::int32_t v) { return constant(Tensor::scalar<std::int32_t>(v)); }
  Value* i32s(const std::vector<std::int32_t>& v) {
    return constant(Tensor::of<std::int32_t>({static_cast<std::int64_t>(v.size())}, v));
  }

  Value* reversed(Value* v) {
    return add("ReverseV2", {v, i32s({0})}, {{"T", v->dtype()}, {"Tidx", DType::i32}}, v->dtype(),
               v->shape());
  }
  Value* swapped(Value* v, int rank) {
    std::vector<std::int32_t> perm{1, 0};
    if (rank == 3) perm.push_back(2);
    Shape shape = v->shape();
    if (shape.ranked()) {
      Ints dims = shape.dims();
      std::swap(dims[0], dims[1]);
      shape = Shape(dims);
    }
    return add("Transpose", {v, i32s(perm)}, {{"T", v->dtype()}, {"Tperm", DType::i32}}, v->dtype(), shape);
  }

  // [time, batch, ...] of what the Unpack takes apart; null: its shape is not known well enough.
  Value* rows_of(const ir::Node& unpack) {
    Value* from = unpack.input(0);
    const int rank = known_rank(from);
    std::int64_t axis = axis_of(unpack);
    if (rank != 2 && rank != 3) return nullptr;
    if (axis < 0) axis += rank;
    if (axis > 1) return nullptr;
    Ints dims{steps_};
    for (int i = 0; i < rank; ++i)
      if (i != axis) dims.push_back(extent_of(from, i).dim);
    Value* rows = from;
    if (axis == 1) {
      rows = swapped(from, rank);
      g_.set_type(rows, from->dtype(), Shape(dims));
    } else if (from->shape() != Shape(dims)) {  // what is known of it now
      rows = add("Identity", {from}, {{"T", from->dtype()}}, from->dtype(), Shape(dims));
    }
    return u_.backwards ? reversed(rows) : rows;
  }

  Value* item_shape(ir::Graph& g, const Value* rows) const {
    std::vector<std::int32_t> dims;
    for (int i = 1; i < rows->shape().rank(); ++i)
      dims.push_back(static_cast<std::int32_t>(rows->shape()[i]));
    for (std::int32_t& d : dims) d = std::max(d, -1);
    return g.add_constant(name(), Tensor::of<std::int32_t>({static_cast<std::int64_t>(dims.size())}, dims));
  }

  bool add_item(const Value* item, ir::Node& unpack) {
    Value*& list = lists_[&unpack];
    const Attrs attrs{{"element_dtype", item->dtype()}};
    if (!list) {
      Value* rows = rows_of(unpack);
      if (!rows) return false;
      shapes_[&unpack] = rows;
      list =
          add("TensorListFromTensor", {rows, item_shape(g_, rows)}, attrs, DType::variant, Shape::scalar());
    }
    ir::NodeSpec spec{.op = "TensorListGetItem",
                      .inputs = {list, counter_, item_shape(*body_, shapes_[&unpack])},
                      .attrs = attrs,
                      .outputs = {{"", item->dtype(), {}}},
                      .origin = unpack.shared_origin(),
                      .name = unpack.name()};
    inner_[item] = body_->add(std::move(spec)).output();
    return true;
  }

  Value* inner(Value* v) const {
    const auto at = inner_.find(v);
    return at == inner_.end() ? v : at->second;
  }

  void copy_body() {
    for (const ir::Node* n : u_.body) {
      ir::NodeSpec spec{n->op(), {}, n->attrs(), {}, n->shared_origin(), n->name()};
      for (Value* in : n->inputs()) spec.inputs.push_back(inner(in));
      for (const Value* out : n->outputs()) spec.outputs.push_back({"", out->dtype(), out->shape()});
      const ir::Node& copy = body_->add(std::move(spec));
      for (std::size_t i = 0; i < n->outputs().size(); ++i) inner_.try_emplace(n->output(i), copy.output(i));
    }
  }

  void add_variable(Value* initial, DType dtype, Shape shape) {
    initial_.push_back(initial);
    types_.push_back({"", dtype, shape});
    body_->add_input("", dtype, shape);
    condition_->add_input("", dtype, std::move(shape));
  }

  void add_list(Output& o, bool finals_in_lists) {
    o.is_list = !o.last_only || !o.state || finals_in_lists;
    if (!o.is_list) return;
    const DType dtype = o.value->dtype();
    const bool is_one = o.last_only;
    Value* length = i32(is_one ? 1 : static_cast<std::int32_t>(steps_));
    Value* list =
        add("TensorListReserve", {i32s({-1, -1}), length},
            {{"element_dtype", dtype}, {"shape_type", DType::i32}}, DType::variant, Shape::scalar());
    o.variable = initial_.size();
    add_variable(list, DType::variant, Shape::scalar());
  }

  Value* written(const Output& o) {
    Value* index = o.last_only ? body_->add_constant(name(), Tensor::scalar<std::int32_t>(0)) : counter_;
    return body_
        ->add({"TensorListSetItem",
               {body_->inputs()[o.variable], index, inner(o.value)},
               {{"element_dtype", o.value->dtype()}},
               {{"", DType::variant, Shape::scalar()}},
               o.value->producer()->shared_origin(),
               o.value->producer()->name()})
        .output();
  }

  // Zeros are no input of the layer: any will do that are as wide.
  Value* initial_of(const Unrolled::State& s) {
    if (!s.is_own_zero) return s.initial;
    std::int64_t width = known_last_dim(s.initial);
    for (const Unrolled::State& other : u_.states)
      if (width < 0) width = known_last_dim(other.initial);
    const std::vector<std::byte> zero(byte_size(s.initial->dtype(), 1));
    return constant(Tensor::filled(s.initial->dtype(), {1, std::max<std::int64_t>(width, 1)}, zero));
  }

  bool build_loop(bool finals_in_lists, std::string& why) {
    body_ = g_.make_subgraph();
    condition_ = g_.make_subgraph();
    add_variable(i32(0), DType::i32, Shape::scalar());
    counter_ = body_->inputs()[0];
    for (const Unrolled::State& s : u_.states) {
      Value* initial = initial_of(s);
      const Dim width = initial->shape().ranked() ? kUnknownDim : extent_of(initial, 1).dim;
      add_variable(initial, s.initial->dtype(),
                   is_known(width) ? Shape(Ints{kUnknownDim, width}) : initial->shape());
      inner_[s.after[0]] = body_->inputs().back();
    }
    for (Output& o : outputs_) {
      add_list(o, finals_in_lists);
      if (!o.is_list) o.variable = 1 + static_cast<std::size_t>(o.state - u_.states.data());
    }
    bool fits = add_item(u_.source->output(u_.row(1)), *u_.source);
    for (const auto& [v, unpack] : u_.items) fits = fits && add_item(v, *unpack);
    if (!fits) {
      undo();
      return no(why, "the rank of its input is not known, or is another than 3");
    }
    copy_body();
    close_loop();
    return true;
  }

  void close_loop() {
    Value* one = body_->add_constant(name(), Tensor::scalar<std::int32_t>(1));
    Values results{
        body_->add({"AddV2", {counter_, one}, {{"T", DType::i32}}, {{"", DType::i32, Shape::scalar()}}})
            .output()};
    for (const Unrolled::State& s : u_.states) results.push_back(inner(s.after[1]));
    for (const Output& o : outputs_)
      if (o.is_list) results.push_back(written(o));
    body_->set_outputs(std::move(results));
    Value* limit =
        condition_->add_constant(name(), Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(steps_)));
    Value* runs = condition_
                      ->add({"Less",
                             {condition_->inputs()[0], limit},
                             {{"T", DType::i32}},
                             {{"", DType::boolean, Shape::scalar()}}})
                      .output();
    condition_->set_outputs({runs});
    const ir::Node& last = *u_.body.back();
    loop_ = &g_.add({"StatelessWhile",
                     initial_,
                     {{"cond", condition_}, {"body", body_}},
                     types_,
                     last.shared_origin(),
                     last.name()},
                    order_.node(place_));
    made_.push_back(loop_);
    for (Output& o : outputs_) add_read(o);
  }

  void add_read(Output& o) {
    const DType dtype = o.value->dtype();
    Value* out = loop_->output(o.variable);
    if (!o.is_list) {
      o.read = add("Identity", {out}, {{"T", dtype}}, dtype, {});
      return;
    }
    const Shape shape(Ints{o.last_only ? 1 : steps_, kUnknownDim, kUnknownDim});
    o.read = add("TensorListStack", {out, i32s({-1, -1})},
                 {{"element_dtype", dtype}, {"num_elements", o.last_only ? std::int64_t{1} : steps_}}, dtype,
                 shape);
  }

  void undo() {
    body_->set_outputs({});
    if (!loop_) body_->erase_dead();  // it reads what is made around it
    for (auto n = made_.rbegin(); n != made_.rend(); ++n) g_.erase(**n);
    made_.clear();
    initial_.clear();
    types_.clear();
    lists_.clear();
    shapes_.clear();
    inner_.clear();
    loop_ = nullptr;
  }

  // ---- its readers

  Value* row(Value* stack, std::int64_t at) {
    const auto i = static_cast<std::int32_t>(at);
    return add("StridedSlice", {stack, i32s({i}), i32s({i == -1 ? 0 : i + 1}), i32s({1})},
               {{"T", stack->dtype()},
                {"Index", DType::i32},
                {"begin_mask", std::int64_t{0}},
                {"end_mask", std::int64_t{i == -1 ? 1 : 0}},
                {"ellipsis_mask", std::int64_t{0}},
                {"new_axis_mask", std::int64_t{0}},
                {"shrink_axis_mask", std::int64_t{1}}},
               stack->dtype(), Shape(Ints{kUnknownDim, kUnknownDim}));
  }

  // Packs of all steps are the stacked list itself.
  void replace_packs(const Output& o) {
    const Values& all = *o.steps;
    Value* stack[2][2] = {{o.read, nullptr}, {nullptr, nullptr}};  // by order and layout
    for (const ir::Use& use : Uses(all[0]->uses())) {
      ir::Node& n = *use.node;
      if (inside_.contains(&n) || n.op() != "Pack" || n.input_count() != all.size() || !n.output()->is_used())
        continue;
      const bool forward = std::equal(all.begin(), all.end(), n.inputs().begin());
      const bool backward = std::equal(all.rbegin(), all.rend(), n.inputs().begin());
      const std::int64_t axis = axis_of(n);
      if ((!forward && !backward) || (axis != 0 && axis != 1)) continue;
      auto& [first, second] = stack[backward ? 1 : 0];
      if (!first) first = reversed(o.read);
      if (axis == 1 && !second) second = swapped(first, 3);
      replace_value(g_, n.output(), axis == 1 ? second : first);
    }
  }

  bool is_still_read(const Value* v) const {
    if (!v) return false;
    return v->is_graph_output() || std::any_of(v->uses().begin(), v->uses().end(), [&](const ir::Use& u) {
             if (is_inside(u.node)) return false;
             return u.node->op() != "Pack" || u.node->output()->is_used();
           });
  }

  void rewire(Output& o) {
    if (!o.is_list) return replace_value(g_, o.steps->back(), o.read);
    if (o.last_only) return replace_value(g_, o.steps->back(), row(o.read, 0));
    replace_packs(o);
    Ints read;
    for (std::size_t step = 0; step < u_.steps; ++step)
      if (is_still_read((*o.steps)[step])) read.push_back(static_cast<std::int64_t>(step));
    if (!read.empty() && read.back() == steps_ - 1) {
      replace_value(g_, o.steps->back(), row(o.read, -1));
      read.pop_back();
    }
    if (read.empty()) return;
    if (read.size() <= 2) {
      for (const std::int64_t step : read)
        replace_value(g_, (*o.steps)[static_cast<std::size_t>(step)], row(o.read, step));
      return;
    }
    Value* stack = u_.backwards ? reversed(o.read) : o.read;
    ir::NodeSpec spec{.op = "Unpack",
                      .inputs = {stack},
                      .attrs = {{"T", stack->dtype()}, {"axis", std::int64_t{0}}, {"num", steps_}},
                      .origin = u_.body.back()->shared_origin(),
                      .name = u_.body.back()->name()};
    for (std::size_t i = 0; i < u_.steps; ++i)
      spec.outputs.push_back({"", stack->dtype(), Shape(Ints{kUnknownDim, kUnknownDim})});
    const ir::Node& n = g_.add(std::move(spec), order_.node(place_));
    for (const std::int64_t step : read) {
      const auto i = static_cast<std::size_t>(step);
      replace_value(g_, (*o.steps)[i], n.output(u_.row(i)));
    }
  }

  void finish() {
    order_.add_before(place_);
    std::vector<ir::Node*> old(inside_.begin(), inside_.end());
    std::sort(old.begin(), old.end(),
              [&](const ir::Node* a, const ir::Node* b) { return order_.is_before(*b, *a); });
    for (ir::Node* n : old)
      if (std::none_of(n->outputs().begin(), n->outputs().end(), [](const Value* v) { return v->is_used(); }))
        order_.erase(*n);
  }

  ir::Graph& g_;
  NodeOrder& order_;
  const Unrolled& u_;
  std::int64_t steps_;
  std::unordered_set<ir::Node*> inside_;  // the nodes of all steps
  std::vector<Output> outputs_;
  std::size_t place_ = 0;
  std::vector<ir::Node*> made_;

  GraphPtr body_, condition_;
  Value* counter_ = nullptr;
  Values initial_;
  std::vector<ir::OutputSpec> types_;
  std::unordered_map<const ir::Node*, Value*> lists_, shapes_;
  std::unordered_map<const Value*, Value*> inner_;
  ir::Node* loop_ = nullptr;
};

int run(ir::Graph& g) {
  std::vector<ir::Node*> sources;
  for (ir::Node& n : g.nodes()) {
    if (n.op() == "Unpack") sources.push_back(&n);
  }
  if (sources.empty()) return 0;
  NodeOrder order(g);
  std::string why;
  UnrolledFinder finder(order, why);
  int changes = 0;
  for (ir::Node* n : sources)
    for (const bool backwards : {false, true}) {
      const auto found = finder.find(*n, backwards);
      const bool done = found && Roller(g, order, *found).run(why);
      trace_match("unrolled", n->output(), done ? "replaced" : why.c_str());
      if (done) ++changes;
    }
  g.erase_dead();
  return changes;
}

}  // namespace

Rewriter unrolled() { return {"unrolled", run, {"Unpack"}}; }

}  // namespace t2o::rewriters
