#include "rewriters/tf/unrolled_loop.h"

#include <algorithm>
#include <limits>

#include "rewriters/tf/facts.h"

namespace t2o::rewriters {

std::int64_t axis_of(const ir::Node& n) { return n.attr_or<std::int64_t>("axis", 0); }

Value* UnrolledLoop::add(std::string op, Values inputs, Attrs attrs, DType dtype, Shape shape) {
  ir::Node& n = g_.add({std::move(op),
                        std::move(inputs),
                        std::move(attrs),
                        {{"", dtype, std::move(shape)}},
                        u_.body.back()->shared_origin(),
                        u_.body.back()->name()},
                       before_);
  made_.push_back(&n);
  return n.output();
}
Value* UnrolledLoop::reversed(Value* v) {
  return add("ReverseV2", {v, i32s({0})}, {{"T", v->dtype()}, {"Tidx", DType::i32}}, v->dtype(), v->shape());
}
Value* UnrolledLoop::swapped(Value* v, int rank) {
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
Value* UnrolledLoop::rows_of(const ir::Node& unpack) {
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

Value* UnrolledLoop::item_shape(ir::Graph& g, const Value* rows) const {
  constexpr Dim kMost = std::numeric_limits<std::int32_t>::max();  // a larger one is left to the rows
  std::vector<std::int32_t> dims;
  for (int i = 1; i < rows->shape().rank(); ++i) {
    const Dim d = rows->shape()[i];
    dims.push_back(is_known(d) && d <= kMost ? static_cast<std::int32_t>(d) : -1);
  }
  return g.add_constant(name(), Tensor::of<std::int32_t>({static_cast<std::int64_t>(dims.size())}, dims));
}

bool UnrolledLoop::add_item(const Value* item, ir::Node& unpack) {
  Value*& list = lists_[&unpack];
  const Attrs attrs{{"element_dtype", item->dtype()}};
  if (!list) {
    Value* rows = rows_of(unpack);
    if (!rows) return false;
    shapes_[&unpack] = rows;
    list = add("TensorListFromTensor", {rows, item_shape(g_, rows)}, attrs, DType::variant, Shape::scalar());
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

void UnrolledLoop::copy_body() {
  for (const ir::Node* n : u_.body) {
    ir::NodeSpec spec{n->op(), {}, n->attrs(), {}, n->shared_origin(), n->name()};
    for (Value* in : n->inputs()) spec.inputs.push_back(inner(in));
    for (const Value* out : n->outputs()) spec.outputs.push_back({"", out->dtype(), out->shape()});
    const ir::Node& copy = body_->add(std::move(spec));
    for (std::size_t i = 0; i < n->outputs().size(); ++i) inner_.try_emplace(n->output(i), copy.output(i));
  }
}

void UnrolledLoop::add_variable(Value* initial, DType dtype, Shape shape) {
  initial_.push_back(initial);
  types_.push_back({"", dtype, shape});
  body_->add_input("", dtype, shape);
  condition_->add_input("", dtype, std::move(shape));
}

void UnrolledLoop::add_list(UnrolledOutput& o, bool finals_in_lists) {
  o.is_list = !o.last_only || !o.state || finals_in_lists;
  if (!o.is_list) return;
  const DType dtype = o.value->dtype();
  const bool is_one = o.last_only;
  Value* length = i32(is_one ? 1 : static_cast<std::int32_t>(steps_));
  Value* list = add("TensorListReserve", {i32s({-1, -1}), length},
                    {{"element_dtype", dtype}, {"shape_type", DType::i32}}, DType::variant, Shape::scalar());
  o.variable = initial_.size();
  add_variable(list, DType::variant, Shape::scalar());
}

Value* UnrolledLoop::written(const UnrolledOutput& o) {
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
Value* UnrolledLoop::initial_of(const Unrolled::State& s) {
  return s.is_own_zero ? zero_like(s.initial) : s.initial;
}

Value* UnrolledLoop::zero_like(Value* zeros) {
  std::int64_t width = known_last_dim(zeros);
  for (const Unrolled::State& other : u_.states)
    if (width < 0) width = known_last_dim(other.initial);
  const std::vector<std::byte> zero(byte_size(zeros->dtype(), 1));
  return constant(Tensor::filled(zeros->dtype(), {1, std::max<std::int64_t>(width, 1)}, zero));
}

void UnrolledLoop::add_numbers() {
  for (const Value* v : u_.numbers) {
    const ir::NodeSpec cast{.op = "Cast",
                            .inputs = {counter_},
                            .attrs = {{"SrcT", DType::i32}, {"DstT", v->dtype()}},
                            .outputs = {{"", v->dtype(), Shape::scalar()}},
                            .origin = u_.body.back()->shared_origin(),
                            .name = name()};
    inner_[v] = v->dtype() == DType::i32 ? counter_ : body_->add(cast).output();
  }
  for (Value* v : u_.read_zeros) inner_[v] = zero_like(v);
}

bool UnrolledLoop::build(bool finals_in_lists, std::string& why) {
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
  for (UnrolledOutput& o : outputs_) {
    add_list(o, finals_in_lists);
    if (!o.is_list) o.variable = 1 + static_cast<std::size_t>(o.state - u_.states.data());
  }
  bool fits = add_item(u_.source->output(u_.row(1)), *u_.source);
  for (const auto& [v, unpack] : u_.items) fits = fits && add_item(v, *unpack);
  if (!fits) {
    undo();
    why = "the rank of its input is not known, or is another than 3";
    return false;
  }
  add_numbers();
  copy_body();
  close();
  return true;
}

void UnrolledLoop::close() {
  Value* one = body_->add_constant(name(), Tensor::scalar<std::int32_t>(1));
  Values results{
      body_->add({"AddV2", {counter_, one}, {{"T", DType::i32}}, {{"", DType::i32, Shape::scalar()}}})
          .output()};
  for (const Unrolled::State& s : u_.states) results.push_back(inner(s.after[1]));
  for (const UnrolledOutput& o : outputs_)
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
                  before_);
  made_.push_back(loop_);
  for (UnrolledOutput& o : outputs_) add_read(o);
}

void UnrolledLoop::add_read(UnrolledOutput& o) {
  const DType dtype = o.value->dtype();
  Value* out = loop_->output(o.variable);
  if (!o.is_list) {
    o.read = add("Identity", {out}, {{"T", dtype}}, dtype, {});
    return;
  }
  const Shape shape(Ints{o.last_only ? 1 : steps_, kUnknownDim, kUnknownDim});
  o.read =
      add("TensorListStack", {out, i32s({-1, -1})},
          {{"element_dtype", dtype}, {"num_elements", o.last_only ? std::int64_t{1} : steps_}}, dtype, shape);
}

void UnrolledLoop::undo() {
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

// ---- for its readers

Value* UnrolledLoop::row(Value* stack, std::int64_t at) {
  const auto i = static_cast<std::int32_t>(at);
  return add("StridedSlice", {stack, i32s({i}), i32s({i == -1 ? 0 : i + 1}), i32s({1})},
             {{"T", stack->dtype()},
              {"Index", DType::i32},
              {"begin_mask", 0},
              {"end_mask", i == -1 ? 1 : 0},
              {"ellipsis_mask", 0},
              {"new_axis_mask", 0},
              {"shrink_axis_mask", 1}},
             stack->dtype(), Shape(Ints{kUnknownDim, kUnknownDim}));
}

const Values& UnrolledLoop::unpacked(Value* stack) {
  ir::NodeSpec spec{.op = "Unpack",
                    .inputs = {stack},
                    .attrs = {{"T", stack->dtype()}, {"axis", 0}, {"num", steps_}},
                    .origin = u_.body.back()->shared_origin(),
                    .name = u_.body.back()->name()};
  for (std::size_t i = 0; i < u_.steps; ++i)
    spec.outputs.push_back({"", stack->dtype(), Shape(Ints{kUnknownDim, kUnknownDim})});
  return g_.add(std::move(spec), before_).outputs();
}

}  // namespace t2o::rewriters
