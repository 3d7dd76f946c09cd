#include "op_mappers/list_sequences.h"

#include <algorithm>

#include "ir/complex.h"
#include "onnx/schema.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"
#include "op_mappers/tensor_lists.h"

namespace t2o::op_mappers {

Value* empty_sequence(Emitter& e, DType element) { return e.emit("SequenceEmpty", {}, {{"dtype", element}}); }

namespace {

Value* appended(Emitter& e, Value* sequence, Value* element) {
  return e.emit("SequenceInsert", {sequence, element});
}
Value* length(Emitter& e, Value* sequence) { return e.emit("SequenceLength", {sequence}); }  // a scalar
Value* element_at(Emitter& e, Value* sequence, Value* index, const Shape& shape) {
  Value* v = e.emit("SequenceAt", {sequence, index});
  e.graph().set_type(v, v->dtype(), shape);
  return v;
}
Value* scalar_of(Emitter& e, Value* v) { return e.reshape(e.cast(v, DType::i64), Ints{}); }

// The elements of a new list. A sequence of a few known elements is one node.
Value* repeated(Emitter& e, Value* element, Value* count) {
  constexpr std::int64_t kFew = 8;
  const auto known = constant_ints(count);
  if (known && known->front() > 0 && known->front() <= kFew)
    return e.emit("SequenceConstruct", Values(static_cast<std::size_t>(known->front()), element));
  return extended(e, empty_sequence(e, element->dtype()), count,
                  [element](Emitter&, Value*) { return element; });
}

// What stands for an element that was not written yet. TensorFlow reads it only if its whole shape is known:
// then it is zeros.
Value* placeholder(Emitter& e, DType type, const Shape& stated) {
  Ints dims = stated.ranked() ? stated.dims() : Ints{0};
  std::ranges::replace_if(
      dims, [](Dim d) { return !is_known(d); }, std::int64_t{0});
  return e.expand(zero_of(e, type), e.ints(dims));
}

class SequenceMapper {
 public:
  explicit SequenceMapper(GraphContext& c)
      : c_(c),
        op_(c.node().op()),
        list_(c.node().output()->dtype() == DType::variant ? c.node().output() : c.node().input(0)) {
    type_.form = ListForm::sequence;
    if (c.input_count() > 0 && c.node().input(0)->dtype() == DType::variant) type_ = c.list(0);
    if (op_ != "TensorListLength" && op_ != "TensorListResize") type_.dtype = element_type(c);
    const Shape stated = c.lists().lists().family_of(list_).stated();
    stated_ = is_complex(type_.dtype) ? shape_of_pairs(stated) : stated;
  }
  MappedValues run();

 private:
  // ONNX has no sequences of bf16: they hold f32.
  DType part() const { return type_.dtype == DType::bf16 ? DType::f32 : part_type(type_.dtype); }
  Value* to_sequence_type(Value* element) { return c_.cast(element, part()); }
  Value* from_sequence_type(Value* element) { return c_.cast(element, part_type(type_.dtype)); }
  Value* sequence() const { return c_.in(0); }
  Mapped as_list(Value* v) const { return {v, type_}; }
  void write(const Shape& element) { type_ = type_after_write(c_, list_, type_, element); }
  Shape element() const {
    return merge(type_.filled == Filled::never ? Shape() : type_.element, stated_).value_or(Shape());
  }
  bool can_be_split(DType) const;
  Value* extended_to(Value* from, Value* size);
  Value* of_rows(Value* x);
  Value* pieces();
  Value* set();
  Value* resized();
  Value* joined_with(const List& other);
  MappedValues concat();
  Value* stack();

  GraphContext& c_;
  const std::string& op_;
  Value* list_;  // in the source
  ListType type_;
  Shape stated_;
};

Value* SequenceMapper::extended_to(Value* from, Value* size) {
  Value* none = c_.i64(0);
  Value* missing = c_.maximum(c_.sub(size, length(c_, from)), none);
  Value* empty = placeholder(c_, part(), stated_);
  return extended(c_, from, missing, [empty](Emitter&, Value*) { return empty; });
}

bool SequenceMapper::can_be_split(DType t) const {
  return onnx::kernel_types("SplitToSequence", c_.target()).has(t);
}

Value* SequenceMapper::of_rows(Value* x) {
  write(element_of_stack(x->shape()));
  if (can_be_split(x->dtype())) return c_.emit("SplitToSequence", {x}, {{"axis", 0}, {"keepdims", 0}});
  Value* count = c_.reshape(c_.dims(x, 0, 1), Ints{});
  return extended(c_, empty_sequence(c_, x->dtype()), count, [x](Emitter& e, Value* k) {
    Value* at = e.reshape(k, Ints{});
    return e.gather(x, at, 0);
  });
}

Value* SequenceMapper::pieces() {
  Value* x = to_sequence_type(rows_at(c_, 0));
  Shape piece = x->shape();
  if (piece.ranked() && piece.rank() > 0) {
    Ints dims = piece.dims();
    dims[0] = kUnknownDim;
    piece = Shape(std::move(dims));
  }
  write(piece);
  Value* sizes = c_.cast(c_.in(2), DType::i64);
  if (can_be_split(x->dtype())) return c_.emit("SplitToSequence", {x, sizes}, {{"axis", 0}});
  Value* axis = c_.i64(0);
  Value* ends = c_.cumsum(sizes, axis, false, false);
  Value* begins = c_.sub(ends, sizes);
  Value* count = c_.size_of(sizes);
  return extended(c_, empty_sequence(c_, x->dtype()), count, [&](Emitter& e, Value* k) {
    Value* from = e.gather(begins, k, 0);
    Value* to = e.gather(ends, k, 0);
    return e.slice(x, from, to, e.ints({0}));
  });
}

Value* SequenceMapper::set() {
  const bool grows = c_.flag("resize_if_index_out_of_bounds");
  write(c_.in(2)->shape());
  if (type_.form == ListForm::appended) return appended(c_, sequence(), to_sequence_type(c_.in(2)));
  Value* index = scalar_of(c_, c_.in(1));
  Value* from = sequence();
  if (grows) from = extended_to(from, c_.add(index, c_.i64(1)));
  Value* without = c_.emit("SequenceErase", {from, index});
  return c_.emit("SequenceInsert", {without, to_sequence_type(c_.in(2)), index});
}

Value* SequenceMapper::resized() {
  Value* size = scalar_of(c_, c_.in(1));
  Value* longer = extended_to(sequence(), size);
  Value* surplus = c_.sub(length(c_, longer), size);
  return counted_loop(c_, surplus, {longer}, [](Emitter& e, Value*, const Values& state) -> Values {
    return {e.emit("SequenceErase", {state[0]})};
  })[0];
}

Value* SequenceMapper::joined_with(const List& other) {
  if (other.type.filled != Filled::never) write(other.type.element);
  return extended(c_, sequence(), length(c_, other.value), [&](Emitter& e, Value* k) {
    return element_at(e, other.value, e.reshape(k, Ints{}), other.type.element);
  });
}

// ConcatFromSequence takes no empty sequence: there is one more element, which has no rows.
MappedValues SequenceMapper::concat() {
  if (op_ == "TensorListConcat") c_.raw_attr("element_shape");
  Ints dims = element().ranked() ? element().dims() : Ints{};
  if (dims.empty() && element().ranked())
    c_.fail(Code::bad_model, "the elements of this TensorList have no axis to be concatenated along");
  Value* all = sequence();
  if (!dims.empty()) {
    Ints rows = dims;
    rows[0] = 0;
    Value* none = placeholder(c_, part(), Shape(std::move(rows)));
    all = c_.emit("SequenceInsert", {all, none, c_.i64(0)});
    dims[0] = kUnknownDim;
  }
  Value* values = c_.emit("ConcatFromSequence", {all}, {{"axis", 0}});
  c_.graph().set_type(values, part(), dims.empty() ? Shape() : Shape(std::move(dims)));
  values = from_sequence_type(values);
  if (!c_.node().output(1)->is_used()) return {values, nullptr};
  Value* sizes =
      counted_loop(c_, length(c_, sequence()), {}, [&](Emitter& e, Value* k, const Values&) -> Values {
        Value* one = element_at(e, sequence(), e.reshape(k, Ints{}), element());
        return {e.dim(one, 0)};
      })[0];
  return {values, sizes};
}

// TensorFlow stacks no empty list either, unless all sizes of the elements are known; then the list is no
// sequence.
Value* SequenceMapper::stack() {
  Value* v = c_.emit("ConcatFromSequence", {sequence()}, {{"axis", 0}, {"new_axis", 1}});
  Shape shape;
  if (element().ranked()) {
    Ints dims = element().dims();
    dims.insert(dims.begin(), kUnknownDim);
    shape = Shape(std::move(dims));
  }
  c_.graph().set_type(v, part(), std::move(shape));
  return from_sequence_type(v);
}

MappedValues SequenceMapper::run() {
  if (op_ == "EmptyTensorList") return {as_list(empty_sequence(c_, part()))};
  if (op_ == "TensorListReserve") {
    Value* element = placeholder(c_, part(), stated_);
    return {as_list(repeated(c_, element, scalar_of(c_, c_.in(1))))};
  }
  if (op_ == "TensorListFromTensor") {
    Value* v = of_rows(to_sequence_type(rows_at(c_, 0)));
    return {as_list(v)};
  }
  if (op_ == "TensorListSplit") {
    Value* v = pieces();
    return {as_list(v)};
  }
  if (op_ == "TensorListSetItem") {
    Value* v = set();
    return {as_list(v)};
  }
  if (op_ == "TensorListPushBack") {
    write(c_.in(1)->shape());
    return {as_list(appended(c_, sequence(), to_sequence_type(c_.in(1))))};
  }
  if (op_ == "TensorListPopBack") {
    Value* rest = c_.emit("SequenceErase", {sequence()});
    if (!c_.node().output(1)->is_used()) return {as_list(rest), nullptr};
    return {as_list(rest), from_sequence_type(element_at(c_, sequence(), c_.i64(-1), element()))};
  }
  if (op_ == "TensorListGetItem")
    return {from_sequence_type(element_at(c_, sequence(), scalar_of(c_, c_.in(1)), element()))};
  if (op_ == "TensorListLength") return {c_.cast(length(c_, sequence()), DType::i32)};
  if (op_ == "TensorListResize") return {as_list(resized())};
  if (op_ == "TensorListConcatLists") {
    Value* v = joined_with(c_.list_at(1));
    return {as_list(v)};
  }
  if (op_ == "TensorListConcat" || op_ == "TensorListConcatV2") return concat();
  if (op_ == "TensorListStack") return {stack()};
  if (op_ == "TensorListGather") {
    Value* all = stack();
    return {c_.gather(all, c_.in(1), 0)};
  }
  refuse_sizes(c_);
}

}  // namespace

Value* extended(Emitter& e, Value* sequence, Value* count,
                const std::function<Value*(Emitter&, Value*)>& make) {
  const auto known = constant_ints(count);
  if (known && known->front() <= 0) return sequence;
  return counted_loop(e, count, {sequence}, [&](Emitter& in, Value* k, const Values& state) -> Values {
    Value* element = make(in, k);
    return {appended(in, state[0], element)};
  })[0];
}

MappedValues map_list_as_sequence(GraphContext& c) { return SequenceMapper(c).run(); }

}  // namespace t2o::op_mappers
