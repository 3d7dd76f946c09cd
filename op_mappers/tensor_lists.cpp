#include "op_mappers/tensor_lists.h"

#include <algorithm>

#include "ir/complex.h"
#include "onnx/raise_opset.h"
#include "op_mappers/all.h"
#include "op_mappers/list_sequences.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {

namespace {
constexpr int kSequenceOpset = 18;
}

Value* of_rank(Emitter& e, Value* v, int rank) {
  if (!v->shape().ranked()) e.graph().set_type(v, v->dtype(), Shape::unknown_dims(rank));
  return v;
}

Shape element_of_stack(const Shape& s) {
  return s.ranked() && s.rank() > 0 ? Shape(Ints(s.dims().begin() + 1, s.dims().end())) : Shape();
}

DType element_type(GraphContext& c) {
  const auto type = c.attr<DType>("element_dtype");
  if (type == DType::variant || type == DType::resource)
    c.fail(Code::unsupported_type, "a TensorList of " + std::string(name(type)) + " is not supported",
           "{cut}");
  return type;
}

Value* rows_at(GraphContext& c, std::size_t input) {
  Value* rows = c.in(input);
  const int least = is_complex(c.node().input(input)->dtype()) ? 2 : 1;  // pairs have one more axis
  if (rows->shape().ranked() && rows->shape().rank() < least)
    c.fail(Code::bad_model, "input " + std::to_string(input) +
                                " is a scalar, which has no rows to be elements of a TensorList");
  return rows;
}

Value* length_of(Emitter& e, const List& list) {
  if (list.is_sequence()) return e.reshape(e.emit("SequenceLength", {list.value}), {1});
  if (!list.is_fresh()) return e.dims(list.value, 0, 1);
  const ir::Node* maker = list.value->producer();
  if (maker && maker->op() == "Expand") return maker->input(1);
  Value* length = e.emit("Shape", {list.value});
  e.graph().set_type(length, DType::i64, Shape({1}));
  return length;
}

Value* grown(Emitter& e, Value* list, Value* size) {
  Value* length = e.dims(list, 0, 1);
  Value* none = e.ints({0});
  Value* missing = e.maximum(e.sub(size, length), none);
  Value* shape = missing;
  if (list->shape().rank() > 1) {
    Value* dims = e.dims(list, 1, list->shape().rank());
    shape = e.concat({missing, dims}, 0);
  }
  Value* more = e.expand(zero_of(e, list->dtype()), shape);
  return of_rank(e, e.concat({list, more}, 0), list->shape().rank());
}

namespace {

Value* count_of(Emitter& e, Value* v) {  // [1], i64
  return e.reshape(e.cast(v, DType::i64), {1});
}

// Never folded, so that its shape can stay without rank.
Value* make_fresh(Emitter& e, DType type, Value* length) {
  Value* zero = zero_of(e, type);
  return e.graph()
      .add({.op = "Expand",
            .inputs = {zero, length},
            .outputs = {{{}, zero->dtype(), {}}},
            .origin = e.shared_origin(),
            .name_later = true})
      .output();
}

Value* zeros(Emitter& e, DType type, Value* length, const Shape& element) {
  Ints dims = element.dims();
  std::ranges::replace_if(
      dims, [](Dim d) { return !is_known(d); }, std::int64_t{1});
  Value* of_element = e.ints(dims);
  Value* shape = dims.empty() ? length : e.concat({length, of_element}, 0);
  Value* made = e.expand(zero_of(e, type), shape);
  const auto known = constant_ints(length);
  dims.insert(dims.begin(), known ? known->front() : kUnknownDim);
  if (!made->constant()) e.graph().set_type(made, made->dtype(), Shape(dims));
  return made;
}

// The shape that an input states: without rank, or with unknown dims.
Shape shape_of_tensor_input(GraphContext& c, std::size_t input, DType element) {
  const Value* v = c.in(input);
  const std::shared_ptr<const Ints>& known = v->known_elements();
  const auto dims = c.maybe_ints(input);
  Shape s;
  if (!dims && !known) {
    const bool has_count = v->shape().ranked() && v->shape().rank() == 1 && is_known(v->shape()[0]);
    if (has_count) s = Shape::unknown_dims(static_cast<int>(v->shape()[0]));
  } else if (!v->shape().is_scalar()) {
    Ints all = dims ? *dims : *known;
    std::ranges::replace_if(
        all, [](Dim d) { return !is_known(d); }, kUnknownDim);
    s = Shape(std::move(all));
  }
  return is_complex(element) ? shape_of_pairs(s) : s;
}

// The shape that TensorFlow states for the output.
Shape stated_output_shape(const GraphContext& c, DType element) {
  return is_complex(element) ? shape_of_pairs(c.output_shape()) : c.output_shape();
}

// A list that was just made from a tensor of its elements.
List filled_list(Value* stack, DType type) {
  return {stack, {type, ListForm::stacked, Filled::surely, element_of_stack(stack->shape())}};
}

[[noreturn]] void refuse_never_written(const GraphContext& c) {
  c.fail(Code::not_constant, "nothing was put into this TensorList, and its elements' shape is not known",
         "give the list an element_shape");
}

const Shape& ranked(GraphContext& c, const Value* item) {
  if (!item->shape().ranked())
    c.fail(Code::not_constant, "the rank of the elements of this TensorList is not known",
           "{shapes} | {cut}");
  return item->shape();
}

// A loop that runs no round makes elements of the shape that its body states.
bool tell_loop(GraphContext& c, Value* list, const Shape& element) {
  const ir::Node* loop = list->producer();
  if (!loop || loop->op() != "Loop" || list->graph() != &c.graph() || list->index() + 2 < loop->input_count())
    return false;
  const GraphPtr& body = *loop->attr_if<GraphPtr>("body");
  Value* made = body->outputs()[list->index() + 1];
  const auto both = merge(made->shape(), element);
  if (!both) return false;
  body->set_type(made, made->dtype(), *both);
  Ints dims = both->dims();
  dims.insert(dims.begin(), list->shape()[0]);
  c.graph().set_type(list, list->dtype(), Shape(std::move(dims)));
  return true;
}

// A stacked list as its reader sees it, who knows what its elements are like.
Value* seen_by_reader(GraphContext& c, std::size_t shape_input) {
  const List from = c.list_at(0);
  Value* list = from.value;
  const DType type = from.type.dtype;
  const Shape element = shape_of_tensor_input(c, shape_input, type);
  if (!from.is_fresh()) {
    if (!list->shape().ranked() || !element.ranked() || element.rank() + 1 != list->shape().rank())
      return list;
    bool fits = true;
    Ints dims{1};
    for (int i = 0; i < element.rank(); ++i) {
      const Dim own = list->shape()[i + 1];
      fits = fits && (!is_known(element[i]) || own == element[i]);
      dims.push_back(is_known(element[i]) ? element[i] : 1);
    }
    return fits || tell_loop(c, list, element)
               ? list
               : of_rank(c, c.expand(list, c.ints(dims)), list->shape().rank());
  }
  const Shape output = stated_output_shape(c, type);
  const bool reads_one = c.node().op() == "TensorListGetItem";
  if (element.ranked()) return with_rank(c, from, element).value;
  if (reads_one && output.ranked()) return with_rank(c, from, output).value;
  if (!reads_one && output.ranked() && output.rank() > 0)
    return with_rank(c, from, element_of_stack(output)).value;
  refuse_never_written(c);
}

Value* put_at(Emitter& e, Value* list, Value* indices, Value* items) {  // indices: [n, 1]
  return of_rank(e, e.emit("ScatterND", {list, indices, items}), list->shape().rank());
}

// ---- making

Mapped map_reserve(GraphContext& c) {
  const DType type = element_type(c);
  const bool empty = c.node().op() == "EmptyTensorList";
  Value* length = empty ? c.ints({0}) : count_of(c, c.in(1));
  const Shape element = shape_of_tensor_input(c, 0, type);
  const DType part = part_type(type);
  if (!element.ranked()) return {make_fresh(c, part, length), {type, ListForm::fresh}};
  return {zeros(c, part, length, element), {type, ListForm::stacked}};
}

Mapped map_from_tensor(GraphContext& c) { return filled_list(rows_at(c, 0), element_type(c)); }

bool counts_up(const Ints& v) {
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

Value* to_rows(Emitter& e, Value* indices) { return e.unsqueeze(e.cast(indices, DType::i64), {1}); }

Mapped map_scatter(GraphContext& c) {
  const DType type = element_type(c);
  Value* items = rows_at(c, 0);
  const Shape element = element_of_stack(ranked(c, items));
  const std::int64_t asked = c.input_count() > 3 ? c.const_int(3) : -1;
  const auto known = c.maybe_ints(1);
  const bool all = asked < 0;
  if (known && counts_up(*known) && (all || asked == static_cast<std::int64_t>(known->size())))
    return filled_list(items, type);
  Value* length = c.ints({asked});
  if (all) {
    Value* last = c.reduce("ReduceMax", c.cast(c.in(1), DType::i64), Ints{0}, true);
    length = c.add(last, c.ints({1}));
  }
  Value* list = fit_to_elements(c, zeros(c, items->dtype(), length, element), items);
  return filled_list(put_at(c, list, to_rows(c, c.in(1)), items), type);
}

Mapped map_scatter_into(GraphContext& c) {
  element_type(c);
  Value* items = rows_at(c, 1);
  const Shape element = element_of_stack(ranked(c, items));
  List list = c.list_at(0);
  const ListType type = type_after_write(c, c.node().input(0), list.type, element);
  if (list.is_fresh()) list = with_rank(c, list, element);
  Value* fitting = fit_to_elements(c, list.value, items);
  return {put_at(c, fitting, to_rows(c, c.in(2)), items), type};
}

// ---- writing

// The stacked list, ready to take the item.
Value* ready_for(GraphContext& c, Value* item) {
  List list = c.list_at(0);
  if (list.is_fresh()) list = with_rank(c, list, ranked(c, item));
  if (ranked(c, item).rank() + 1 != ranked(c, list.value).rank())
    c.fail(Code::unsupported_op, "the elements of this TensorList have different ranks", "");
  return list.value;
}

Mapped map_set(GraphContext& c) {
  element_type(c);
  const bool grows = c.flag("resize_if_index_out_of_bounds");
  const bool scanned = c.list(0).form == ListForm::scanned;
  const ListType type = type_after_write(c, c.node().input(0), c.list(0), c.in(2)->shape(), scanned);
  if (scanned) return {c.in(2), type};
  Value* list = ready_for(c, c.in(2));
  Value* item = c.unsqueeze(c.in(2), {0});
  const bool is_all = list->shape().ranked() && list->shape()[0] == 1 && constant_ints(c.in(1)) == Ints{0};
  if (is_all && !grows) return {item, type};
  Value* index = c.reshape(c.cast(c.in(1), DType::i64), {1, 1});
  list = fit_to_elements(c, list, item);
  if (grows) {
    Value* one = c.ints({1});
    list = grown(c, list, c.add(c.reshape(index, {1}), one));
  }
  return {put_at(c, list, index, item), type};
}

Mapped map_push(GraphContext& c) {
  element_type(c);
  const bool scanned = c.list(0).form == ListForm::scanned;
  const ListType type = type_after_write(c, c.node().input(0), c.list(0), c.in(1)->shape(), scanned);
  if (scanned) return {c.in(1), type};
  Value* list = ready_for(c, c.in(1));
  Value* item = c.unsqueeze(c.in(1), {0});
  Value* fitting = fit_to_elements(c, list, item);
  return {of_rank(c, c.concat({fitting, item}, 0), list->shape().rank()), type};
}

MappedValues map_pop(GraphContext& c) {
  element_type(c);
  Value* list = seen_by_reader(c, 1);
  ListType type = c.list(0);
  type.form = ListForm::stacked;
  Value* cut = c.slice(list, Ints{0}, Ints{-1}, Ints{0});
  const Mapped rest(list->shape().ranked() ? of_rank(c, cut, list->shape().rank()) : cut, type);
  if (!c.node().output(1)->is_used()) return {rest, nullptr};
  Value* last = c.i64(-1);
  return {rest, c.gather(list, last, 0)};
}

Mapped map_resize(GraphContext& c) {
  Value* size = count_of(c, c.in(1));
  if (c.list(0).form == ListForm::fresh) return {make_fresh(c, c.in(0)->dtype(), size), c.list(0)};
  ranked(c, c.in(0));
  Value* list = grown(c, c.in(0), size);
  Value* begin = c.ints({0});
  Value* cut = c.slice(list, begin, size, begin);
  Ints dims = list->shape().dims();
  const auto known = constant_ints(size);
  dims[0] = known ? known->front() : kUnknownDim;
  if (!cut->constant()) c.graph().set_type(cut, cut->dtype(), Shape(dims));
  return {cut, c.list(0)};
}

Mapped map_concat_lists(GraphContext& c) {
  element_type(c);
  List a = c.list_at(0), b = c.list_at(1);
  if (a.is_fresh() && b.is_fresh())
    c.fail(Code::not_constant, "the rank of the elements of this TensorList is not known", "");
  ListType type = b.type.filled == Filled::never
                      ? a.type
                      : type_after_write(c, c.node().input(0), a.type, b.type.element);
  if (a.is_fresh()) a = with_rank(c, a, element_of_stack(ranked(c, b.value)));
  if (b.is_fresh()) b = with_rank(c, b, element_of_stack(ranked(c, a.value)));
  if (b.type.filled == Filled::maybe && a.type.filled == Filled::never) type.filled = Filled::maybe;
  type.form = ListForm::stacked;
  Value* first = fit_to_elements(c, a.value, b.value);
  Value* second = fit_to_elements(c, b.value, first);
  return {of_rank(c, c.concat({first, second}, 0), first->shape().rank()), type};
}

// ---- reading

Mapped map_stack(GraphContext& c) {
  element_type(c);
  return seen_by_reader(c, 1);
}

Mapped map_get(GraphContext& c) {
  element_type(c);
  Value* list = seen_by_reader(c, 2);
  return c.gather(list, c.in(1), 0);
}

Mapped map_length(GraphContext& c) {
  return c.cast(c.reshape(length_of(c, c.list_at(0)), Ints{}), DType::i32);
}

// What the list was made with; writing does not change it.
Mapped map_element_shape(GraphContext& c) {
  const TensorPtr shape = c.lists().lists().stated_shape(c.node().input(0));
  if (!shape)
    c.fail(Code::not_constant, "the element_shape that this TensorList was made with is not a constant",
           "{cut}");
  Value* v = c.constant(shape);
  return c.cast(v, c.attr<DType>("shape_type"));
}

// ---- rows of all elements behind each other

MappedValues map_concat(GraphContext& c) {
  element_type(c);
  const bool is_old = c.node().op() == "TensorListConcat";
  if (is_old) c.raw_attr("element_shape");
  const bool is_fresh = c.list(0).form == ListForm::fresh;
  Value* list = is_fresh && !is_old ? seen_by_reader(c, 1) : c.in(0);
  const int rank = ranked(c, list).rank();
  if (rank < 2 || (is_fresh && is_old)) refuse_never_written(c);
  Value* size = c.dims(list, 1, 2);
  const List stack{list, {}};
  Value* shape = c.mul(length_of(c, stack), size);
  if (rank > 2) {
    Value* rest = c.dims(list, 2, rank);
    shape = c.concat({shape, rest}, 0);
  }
  Value* values = c.reshape_to(list, shape);
  Value* lengths = c.node().output(1)->is_used() ? c.expand(size, length_of(c, stack)) : nullptr;
  return {values, lengths};
}

Mapped map_split(GraphContext& c) {
  const DType type = element_type(c);
  const auto lengths = c.maybe_ints(2);
  Value* x = rows_at(c, 0);
  if (!lengths || lengths->empty() ||
      std::ranges::any_of(*lengths, [&](std::int64_t n) { return n != lengths->front(); })) {
    if (c.opset() >= kSequenceOpset) c.lists().make_sequence(c.node().output());
    refuse_sizes(c);
  }
  Value* head = c.ints({static_cast<std::int64_t>(lengths->size()), lengths->front()});
  const int rank = ranked(c, x).rank();
  Value* shape = rank < 2 ? head : c.concat({head, c.dims(x, 1, rank)}, 0);
  Value* list = c.reshape_to(x, shape);
  Ints dims = x->shape().dims();
  dims[0] = lengths->front();
  dims.insert(dims.begin(), static_cast<std::int64_t>(lengths->size()));
  if (!list->constant()) c.graph().set_type(list, list->dtype(), Shape(dims));
  return filled_list(list, type);
}

// The mapper of a node whose list is one tensor, and the other one for a sequence.
GraphMapper either(MappedValues (*stacked)(GraphContext&)) {
  return [stacked](GraphContext& c) {
    Value* list = c.node().output()->dtype() == DType::variant ? c.node().output() : c.node().input(0);
    return c.lists().is_sequence(list) ? map_list_as_sequence(c) : stacked(c);
  };
}
template <Mapped (*stacked)(GraphContext&)>
GraphMapper either() {
  return either([](GraphContext& c) { return MappedValues{stacked(c)}; });
}

// Whether an element of one shape may have another size than one of the other.
bool may_differ(const Shape& a, const Shape& b) {
  const Shape both = common(a, b);
  return !both.ranked() || std::ranges::count(both.dims(), kUnknownDim) != 0;
}

}  // namespace

void refuse_sizes(const MapperContext& c) {
  const std::string why = "the elements of this TensorList may have different sizes",
                    remedy = std::string(kGiveOneShape) + " | {shapes}";
  if (c.opset() < kSequenceOpset)
    c.fail(Code::opset_too_low, why, onnx::raise_opset(kSequenceOpset, c.target()) + " | " + remedy);
  c.fail(Code::unsupported_op, why, remedy);
}

ListType type_after_write(GraphContext& c, Value* source_list, const ListType& before, const Shape& item,
                          bool in_each_round) {
  const tfgraph::Lists::Family& family = c.lists().lists().family_of(source_list);
  const Shape stated = is_complex(before.dtype) ? shape_of_pairs(family.stated()) : family.stated();
  Shape element = merge(item, stated).value_or(item);
  ListType after = before;
  after.filled = Filled::surely;
  if (after.form == ListForm::fresh) after.form = ListForm::stacked;
  const Shape& other = before.filled == Filled::never ? element : before.element;
  if (before.form == ListForm::sequence || before.form == ListForm::appended) {
    after.element = common(element, other);
  } else if (family.has_one_shape) {
    const auto both = merge(element, other);
    if (!both)
      c.fail(Code::unsupported_op, "the elements of this TensorList have different sizes", kGiveOneShape);
    after.element = *both;
  } else {
    after.element = common(element, other);
    const bool many = in_each_round || before.filled != Filled::never;
    if (many && may_differ(element, other)) {
      if (c.opset() < kSequenceOpset) refuse_sizes(c);
      c.lists().make_sequence(source_list);
    }
  }
  return after;
}

List with_rank(Emitter& e, const List& fresh, const Shape& element) {
  List list{zeros(e, fresh.value->dtype(), length_of(e, fresh), element), fresh.type};
  list.type.form = ListForm::stacked;
  return list;
}

Value* fit_to_elements(Emitter& e, Value* list, Value* like) {
  const Shape &own = list->shape(), &other = like->shape();
  const int rank = own.rank();
  bool fits = true;
  for (int i = 1; i < rank; ++i) fits = fits && own[i] == other[i] && own[i] != kUnknownDim;
  if (fits) return list;
  Value* one = e.ints({1});
  Value* dims = e.dims(like, 1, rank);
  return of_rank(e, e.expand(list, e.concat({one, dims}, 0)), rank);
}

void register_tensor_lists(OpRegistry& r) {
  const std::string sizes = "elements of different sizes: from opset 18 on";
  r.op("TensorListReserve")
      .ignores({"shape_type", "identical_element_shapes"})
      .note(sizes)
      .by_graph(either<map_reserve>());
  r.op("EmptyTensorList").ignores({"shape_type"}).note(sizes).by_graph(either<map_reserve>());
  r.op("TensorListResize").by_graph(either<map_resize>());
  r.op("TensorListConcatLists").by_graph(either<map_concat_lists>());
  r.op("TensorListLength").by_graph(either<map_length>());
  r.op("TensorListElementShape")
      .note("of lists made with a constant element_shape")
      .by_graph([](GraphContext& c) { return MappedValues{map_element_shape(c)}; });
  const auto rows = [&](const auto& row) {  // nodes with elements, which may be complex
    row("TensorListFromTensor").ignores({"shape_type"}).by_graph(either<map_from_tensor>());
    row("TensorListScatter", "TensorListScatterV2").ignores({"shape_type"}).by_graph(either<map_scatter>());
    row("TensorListScatterIntoExistingList").by_graph(either<map_scatter_into>());
    row("TensorListSetItem").note(sizes).by_graph(either<map_set>());
    row("TensorListPushBack").note(sizes).by_graph(either<map_push>());
    row("TensorListPopBack").by_graph(either(map_pop));
    row("TensorListStack").ignores({"num_elements"}).by_graph(either<map_stack>());
    row("TensorListGather", "TensorListGetItem").by_graph(either<map_get>());
    row("TensorListConcat", "TensorListConcatV2")
        .ignores({"shape_type"})
        .note(sizes)
        .by_graph(either(map_concat));
    row("TensorListSplit").ignores({"shape_type"}).note(sizes).by_graph(either<map_split>());
  };
  rows([&r](const auto&... names) { return r.op(names...); });
  rows([&r](const auto&... names) { return r.complex(names...); });
}

}  // namespace t2o::op_mappers
