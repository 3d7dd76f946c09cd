#include "op_mappers/tensor_lists.h"

#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/list_origin.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {

Value* of_rank(Emitter& e, Value* list, int rank) {
  if (is_fresh(list)) e.graph().set_type(list, list->dtype(), Shape::unknown_dims(rank));
  return list;
}

Value* length_of(Emitter& e, Value* list) {  // [1], i64
  if (list->shape().ranked()) return e.dims(list, 0, 1);
  const ir::Node* maker = list->producer();
  if (maker && maker->op() == "Expand" && is_fresh(list)) return maker->input(1);
  Value* length = e.emit("Shape", {list});
  e.graph().set_type(length, DType::i64, Shape({1}));
  return length;
}

Value* grown(Emitter& e, Value* list, Value* size) {
  Value* length = length_of(e, list);
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
  std::replace_if(
      dims.begin(), dims.end(), [](Dim d) { return !is_known(d); }, std::int64_t{1});
  Value* of_element = e.ints(dims);
  Value* shape = dims.empty() ? length : e.concat({length, of_element}, 0);
  Value* made = e.expand(zero_of(e, type), shape);
  const auto known = constant_ints(length);
  dims.insert(dims.begin(), known ? known->front() : kUnknownDim);
  if (!made->constant()) e.graph().set_type(made, made->dtype(), Shape(dims));
  return made;
}

// What a shape tensor says: without rank, or with unknown dims.
Shape said(MapperContext& c, std::size_t input) {
  const Value* v = c.in(input);
  const std::shared_ptr<const Ints>& known = v->known_elements();
  const auto dims = c.maybe_ints(input);
  if (!dims && !known) {
    const bool has_count = v->shape().ranked() && v->shape().rank() == 1 && is_known(v->shape()[0]);
    return has_count ? Shape::unknown_dims(static_cast<int>(v->shape()[0])) : Shape();
  }
  if (v->shape().ranked() && v->shape().rank() == 0) return {};
  Ints all = dims ? *dims : *known;
  std::replace_if(
      all.begin(), all.end(), [](Dim d) { return !is_known(d); }, kUnknownDim);
  return Shape(std::move(all));
}

DType element_type(MapperContext& c) {
  const auto type = c.attr<DType>("element_dtype");
  if (type == DType::variant || type == DType::resource || is_complex(type))
    c.fail(Code::unsupported_type, "a TensorList of " + std::string(name(type)) + " is not supported",
           "{cut}");
  return type;
}

Shape element_of(const Value* list) {
  const Shape& s = list->shape();
  return Shape(Ints(s.dims().begin() + 1, s.dims().end()));
}

const Shape& ranked(MapperContext& c, const Value* item) {
  if (!item->shape().ranked())
    c.fail(Code::not_constant, "the rank of the elements of this TensorList is not known",
           "{shapes} | {cut}");
  return item->shape();
}

// A loop that runs no round makes elements of the shape that its body states.
bool tell_loop(MapperContext& c, Value* list, const Shape& element) {
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

// A list as its reader sees it, who knows what its elements are like.
Value* list_of(MapperContext& c, std::size_t shape_input) {
  Value* list = c.in(0);
  const Shape element = said(c, shape_input);
  if (!is_fresh(list)) {
    if (!element.ranked() || element.rank() + 1 != list->shape().rank()) return list;
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
  const Shape& output = c.output_shape();
  if (element.ranked()) return with_rank(c, list, element);
  if (c.node().op() == "TensorListGetItem" && output.ranked()) return with_rank(c, list, output);
  if (c.node().op() != "TensorListGetItem" && output.ranked() && output.rank() > 0)
    return with_rank(c, list, Shape(Ints(output.dims().begin() + 1, output.dims().end())));
  c.fail(Code::not_constant, "nothing was put into this TensorList, and its elements' shape is not known",
         "give the list an element_shape");
}

Value* put_at(Emitter& e, Value* list, Value* indices, Value* items) {  // indices: [n, 1]
  return of_rank(e, e.emit("ScatterND", {list, indices, items}), list->shape().rank());
}

// ---- making

Values map_reserve(MapperContext& c) {
  const DType type = element_type(c);
  const bool empty = c.node().op() == "EmptyTensorList";
  Value* length = empty ? c.ints({0}) : count_of(c, c.in(1));
  const Shape element = said(c, 0);
  return {element.ranked() ? zeros(c, type, length, element) : make_fresh(c, type, length)};
}

Values map_from_tensor(MapperContext& c) {
  element_type(c);
  ranked(c, c.in(0));
  return {c.in(0)};
}

bool counts_up(const Ints& v) {
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

Value* to_rows(Emitter& e, Value* indices) { return e.unsqueeze(e.cast(indices, DType::i64), {1}); }

Values map_scatter(MapperContext& c) {
  element_type(c);
  Value* items = c.in(0);
  const Shape element(Ints(ranked(c, items).dims().begin() + 1, items->shape().dims().end()));
  const auto asked = c.input_count() > 3 ? c.maybe_ints(3) : std::optional<Ints>(Ints{-1});
  if (!asked) c.fail(Code::not_constant, "num_elements is not a constant", "make it a constant");
  const auto known = c.maybe_ints(1);
  const bool all = asked->at(0) < 0;
  if (known && counts_up(*known) && (all || asked->at(0) == static_cast<std::int64_t>(known->size())))
    return {items};
  Value* length = c.ints({asked->at(0)});
  if (all) {
    Value* last = c.reduce("ReduceMax", c.cast(c.in(1), DType::i64), Ints{0}, true);
    length = c.add(last, c.ints({1}));
  }
  Value* list = fit_to_elements(c, zeros(c, items->dtype(), length, element), items);
  return {put_at(c, list, to_rows(c, c.in(1)), items)};
}

Values map_scatter_into(MapperContext& c) {
  element_type(c);
  Value* items = c.in(1);
  const Shape element(Ints(ranked(c, items).dims().begin() + 1, items->shape().dims().end()));
  Value* list = is_fresh(c.in(0)) ? with_rank(c, c.in(0), element) : c.in(0);
  return {put_at(c, fit_to_elements(c, list, items), to_rows(c, c.in(2)), items)};
}

// ---- writing

// A size of 1 stands for one that is not known where nothing was written; else it is one.
void check_sizes(MapperContext& c, const Value* list, const Value* item) {
  if (!was_written(c.node().input(0))) return;
  for (int i = 0; i < item->shape().rank(); ++i) {
    const Dim own = list->shape()[i + 1], other = item->shape()[i];
    if (is_known(own) && is_known(other) && own != other)
      c.fail(Code::unsupported_op, "the elements of this TensorList have different sizes",
             "give all elements one shape: pad the shorter ones with zeros at the end");
  }
}

Value* ready_for(MapperContext& c, Value* item) {
  Value* list = c.in(0);
  if (is_fresh(list)) list = with_rank(c, list, ranked(c, item));
  if (ranked(c, item).rank() + 1 != list->shape().rank())
    c.fail(Code::unsupported_op, "the elements of this TensorList have different ranks", "");
  check_sizes(c, list, item);
  return list;
}

Values map_set(MapperContext& c) {
  element_type(c);
  const bool grows = c.flag("resize_if_index_out_of_bounds");
  if (is_list(c.in(0))) return {c.in(2)};
  Value* list = ready_for(c, c.in(2));
  Value* item = c.unsqueeze(c.in(2), {0});
  const bool is_all = list->shape().ranked() && list->shape()[0] == 1 && constant_ints(c.in(1)) == Ints{0};
  if (is_all && !grows) return {item};
  Value* index = c.reshape(c.cast(c.in(1), DType::i64), {1, 1});
  list = fit_to_elements(c, list, item);
  if (grows) {
    Value* one = c.ints({1});
    list = grown(c, list, c.add(c.reshape(index, {1}), one));
  }
  return {put_at(c, list, index, item)};
}

Values map_push(MapperContext& c) {
  element_type(c);
  if (is_list(c.in(0))) return {c.in(1)};
  Value* list = ready_for(c, c.in(1));
  Value* item = c.unsqueeze(c.in(1), {0});
  Value* fitting = fit_to_elements(c, list, item);
  return {of_rank(c, c.concat({fitting, item}, 0), list->shape().rank())};
}

Values map_pop(MapperContext& c) {
  element_type(c);
  Value* list = list_of(c, 1);
  Value* rest = of_rank(c, c.slice(list, Ints{0}, Ints{-1}, Ints{0}), list->shape().rank());
  if (!c.node().output(1)->is_used()) return {rest, nullptr};
  Value* last = c.constant<std::int64_t>(-1);
  return {rest, c.gather(list, last, 0)};
}

Values map_resize(MapperContext& c) {
  Value* size = count_of(c, c.in(1));
  if (is_fresh(c.in(0))) return {make_fresh(c, c.in(0)->dtype(), size)};
  Value* list = grown(c, c.in(0), size);
  Value* begin = c.ints({0});
  Value* cut = c.slice(list, begin, size, begin);
  Ints dims = list->shape().dims();
  const auto known = constant_ints(size);
  dims[0] = known ? known->front() : kUnknownDim;
  if (!cut->constant()) c.graph().set_type(cut, cut->dtype(), Shape(dims));
  return {cut};
}

Values map_concat_lists(MapperContext& c) {
  element_type(c);
  Value *a = c.in(0), *b = c.in(1);
  if (is_fresh(a) && is_fresh(b))
    c.fail(Code::not_constant, "the rank of the elements of this TensorList is not known", "");
  if (is_fresh(a)) a = with_rank(c, a, element_of(b));
  if (is_fresh(b)) b = with_rank(c, b, element_of(a));
  a = fit_to_elements(c, a, b);
  b = fit_to_elements(c, b, a);
  return {of_rank(c, c.concat({a, b}, 0), a->shape().rank())};
}

// ---- reading

Values map_stack(MapperContext& c) {
  element_type(c);
  return {list_of(c, 1)};
}

Values map_get(MapperContext& c) {
  element_type(c);
  Value* list = list_of(c, 2);
  return {c.gather(list, c.in(1), 0)};
}

Values map_length(MapperContext& c) { return {c.cast(c.reshape(length_of(c, c.in(0)), Ints{}), DType::i32)}; }

// What the list was made with; writing does not change it.
Values map_element_shape(MapperContext& c) {
  const Value* list = as_it_was_made(c.node().input(0));
  const ir::Node* maker = list->producer();
  const std::string op = maker ? maker->op() : "";
  const bool from_tensor = op == "TensorListFromTensor";
  const Value* shape = nullptr;
  if (from_tensor || op == "TensorListReserve" || op == "EmptyTensorList")
    shape = tfgraph::through_identities(maker->input(from_tensor ? 1 : 0));
  if (!shape || !shape->constant())
    c.fail(Code::not_constant, "the element_shape that this TensorList was made with is not a constant",
           "{cut}");
  Value* v = c.constant(shape->constant());
  return {c.cast(v, c.attr<DType>("shape_type"))};
}

// ---- rows of all elements behind each other

Values map_concat(MapperContext& c) {
  element_type(c);
  const bool is_old = c.node().op() == "TensorListConcat";
  if (is_old) c.raw_attr("element_shape");
  Value* list = c.in(0);
  if (is_fresh(list) && !is_old) list = list_of(c, 1);
  if (is_fresh(list) || list->shape().rank() < 2 || !is_known(list->shape()[1]))
    c.fail(
        Code::not_constant,
        "the elements of this TensorList may have different sizes: those of their first axis are not known",
        "{shapes} | {cut}");
  Value* size = c.ints({list->shape()[1]});
  Value* shape = c.mul(length_of(c, list), size);
  if (list->shape().rank() > 2) {
    Value* rest = c.dims(list, 2, list->shape().rank());
    shape = c.concat({shape, rest}, 0);
  }
  Value* values = c.reshape_to(list, shape);
  Value* lengths = c.node().output(1)->is_used() ? c.expand(size, length_of(c, list)) : nullptr;
  return {values, lengths};
}

Values map_split(MapperContext& c) {
  element_type(c);
  const auto lengths = c.maybe_ints(2);
  if (!lengths || lengths->empty() ||
      std::any_of(lengths->begin(), lengths->end(), [&](std::int64_t n) { return n != lengths->front(); }))
    c.fail(Code::unsupported_op, "a TensorList of pieces of different or unknown sizes is not supported",
           "make the lengths equal constants");
  Value* x = c.in(0);
  Value* head = c.ints({static_cast<std::int64_t>(lengths->size()), lengths->front()});
  const int rank = ranked(c, x).rank();
  Value* shape = rank < 2 ? head : c.concat({head, c.dims(x, 1, rank)}, 0);
  Value* list = c.reshape_to(x, shape);
  Ints dims = x->shape().dims();
  dims[0] = lengths->front();
  dims.insert(dims.begin(), static_cast<std::int64_t>(lengths->size()));
  if (!list->constant()) c.graph().set_type(list, list->dtype(), Shape(dims));
  return {list};
}

}  // namespace

Value* with_rank(Emitter& e, Value* fresh, const Shape& element) {
  return zeros(e, fresh->dtype(), length_of(e, fresh), element);
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
  const std::string one_shape = "elements of one shape";
  r.op("TensorListReserve").ignores({"shape_type"}).note(one_shape).by(map_reserve);
  r.op("EmptyTensorList").ignores({"shape_type"}).note(one_shape).by(map_reserve);
  r.op("TensorListFromTensor").ignores({"shape_type"}).by(map_from_tensor);
  r.op("TensorListScatter", "TensorListScatterV2").ignores({"shape_type"}).by(map_scatter);
  r.op("TensorListScatterIntoExistingList").by(map_scatter_into);
  r.op("TensorListSetItem").note(one_shape).by(map_set);
  r.op("TensorListPushBack").note(one_shape).by(map_push);
  r.op("TensorListPopBack").by(map_pop);
  r.op("TensorListResize").by(map_resize);
  r.op("TensorListConcatLists").by(map_concat_lists);
  r.op("TensorListStack").ignores({"num_elements"}).by(map_stack);
  r.op("TensorListGather", "TensorListGetItem").by([](MapperContext& c) { return map_get(c); });
  r.op("TensorListLength").by(map_length);
  r.op("TensorListElementShape").note("of lists made with a constant element_shape").by(map_element_shape);
  r.op("TensorListConcat", "TensorListConcatV2")
      .ignores({"shape_type"})
      .note("elements of one known size")
      .by(map_concat);
  r.op("TensorListSplit").ignores({"shape_type"}).note("equal constant lengths").by(map_split);
}

}  // namespace t2o::op_mappers
