#include "tf/tensor_arrays.h"

#include <limits>
#include <unordered_map>

#include "tf/region.h"
#include "tfgraph/values.h"

namespace t2o::tf {
namespace {

class TensorArrays {
 public:
  explicit TensorArrays(ir::Graph& g) : graph_(g) {}
  void run();

 private:
  struct Array {
    ir::Node* node;
    Value* list;
    std::size_t writers = 0, sizes = 0;
  };

  Array& array_of(const ir::Node&);
  Shape element_shape(const ir::Node&, const Array&) const;
  Value* shape_tensor(const ir::Node&, const Shape&);
  Value* make(const ir::Node& old, std::string op, Values inputs, Attrs attrs, DType, Shape);
  void reserve(ir::Node&);
  void replace(ir::Node&);
  Value* replacement(ir::Node&, Array&);
  Value* scatter(ir::Node&, Array&, const Attrs& element);
  Value* gather(ir::Node&, Array&, const Attrs& element);
  void concat(ir::Node&, Array&, const Attrs& element);
  bool counts_up_to(const Value* indices, const Value* size, const ir::Node* array, bool dynamic) const;
  void carry_lists();

  ir::Graph& graph_;
  std::unordered_map<const ir::Node*, Array> arrays_;
  Values flows_;
};

void TensorArrays::run() {
  Nodes makers, users;
  for (ir::Node& n : graph_.nodes()) {
    if (!n.op().starts_with("TensorArray") || !n.op().ends_with("V3")) continue;
    (n.op() == "TensorArrayV3" ? makers : users).push_back(&n);
  }
  if (makers.empty() && users.empty()) return;
  for (ir::Node* n : makers) reserve(*n);
  for (ir::Node* n : users) {
    Array& a = array_of(*n);
    a.writers += contains({"TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3"}, n->op());
    a.sizes += n->op() == "TensorArraySizeV3";
  }
  for (ir::Node* n : users) replace(*n);
  for (ir::Node* n : users) graph_.erase(*n);
  carry_lists();
}

TensorArrays::Array& TensorArrays::array_of(const ir::Node& n) {
  const Value* handle = n.input(0);
  for (std::size_t steps = 0; handle && handle->producer() && steps <= graph_.node_count(); ++steps) {
    const auto it = arrays_.find(handle->producer());
    if (it != arrays_.end()) return it->second;
    if (!hands_on(*handle->producer())) break;
    handle = handle->producer()->input(0);
  }
  refuse(n, Code::unsupported_op, "its TensorArray is not made in this graph",
         "Name inputs before the TensorArray is made.");
}

Shape TensorArrays::element_shape(const ir::Node& n, const Array& a) const {
  const auto* of_array = a.node->attr_if<Shape>("element_shape");
  const auto* own = n.attr_if<Shape>("element_shape");
  const std::optional<Shape> both = merge(of_array ? *of_array : Shape(), own ? *own : Shape());
  return both ? *both : Shape();
}

// A size that i32 does not hold is left to the elements.
Value* TensorArrays::shape_tensor(const ir::Node& n, const Shape& s) {
  constexpr Dim kMost = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> dims;
  if (s.ranked())
    for (const Dim d : s.dims())
      dims.push_back(is_known(d) && d <= kMost ? static_cast<std::int32_t>(d) : -1);
  const auto count = static_cast<std::int64_t>(dims.size());
  return graph_.add_constant(n.name() + "/element_shape", s.ranked() ? Tensor::of<std::int32_t>({count}, dims)
                                                                     : Tensor::scalar<std::int32_t>(-1));
}

Value* TensorArrays::make(const ir::Node& old, std::string op, Values inputs, Attrs attrs, DType dtype,
                          Shape shape) {
  ir::NodeSpec spec{.op = std::move(op), .inputs = std::move(inputs), .attrs = std::move(attrs)};
  spec.outputs = {{{}, dtype, std::move(shape)}};
  spec.origin = old.shared_origin();
  spec.name_later = true;
  return graph_.add(std::move(spec), const_cast<ir::Node*>(&old)).output();
}

void TensorArrays::reserve(ir::Node& n) {
  const auto* dtype = n.attr_if<DType>("dtype");
  if (!dtype || n.outputs().size() < 2) refuse(n, Code::bad_model, "has no dtype");
  Array a{&n, nullptr};
  Value* shape = shape_tensor(n, element_shape(n, a));
  const std::string name = n.name();
  Attrs attrs = {{"element_dtype", *dtype}, {"shape_type", DType::i32}};
  if (const auto* same = n.attr_if<std::int64_t>("identical_element_shapes"); same && *same != 0)
    attrs.push_back({"identical_element_shapes", *same});  // TensorFlow's TensorList has no such attribute
  a.list =
      make(n, "TensorListReserve", {shape, n.input(0)}, std::move(attrs), DType::variant, Shape::scalar());
  graph_.rename(n.output(0), name + "/handle");
  graph_.rename(a.list, name);
  replace_value(n.output(1), a.list);
  flows_.push_back(a.list);
  arrays_.emplace(&n, a);
}

void TensorArrays::replace(ir::Node& n) {
  Array& a = array_of(n);
  Value* by = replacement(n, a);
  if (!by) return;
  Value* old = n.output();
  const std::string name = old->name();
  replace_value(old, by);
  if (!by->name().empty()) return;
  graph_.rename(old, name + "/replaced");
  graph_.rename(by, name);
}

Value* TensorArrays::replacement(ir::Node& n, Array& a) {
  const std::string& op = n.op();
  const DType dtype = *a.node->attr_if<DType>("dtype");
  const Attrs element = {{"element_dtype", dtype}};
  const bool is_dynamic = a.node->attr_or<std::int64_t>("dynamic_size", 0) != 0;
  const auto list = [&](std::string made, Values inputs, Attrs attrs) {
    flows_.push_back(
        make(n, std::move(made), std::move(inputs), std::move(attrs), DType::variant, Shape::scalar()));
    return flows_.back();
  };
  if (op == "TensorArrayCloseV3") return nullptr;
  if (op == "TensorArraySizeV3")
    return make(n, "TensorListLength", {n.input(1)}, {}, DType::i32, Shape::scalar());
  if (op == "TensorArrayScatterV3") return scatter(n, a, element);
  if (op == "TensorArrayGatherV3") return gather(n, a, element);
  if (op == "TensorArrayConcatV3") return concat(n, a, element), nullptr;
  if (op == "TensorArrayWriteV3")
    return list("TensorListSetItem", {n.input(3), n.input(1), n.input(2)},
                {{"element_dtype", dtype}, {"resize_if_index_out_of_bounds", is_dynamic}});
  if (op == "TensorArrayReadV3") {
    const Shape shape = element_shape(n, a);
    Value* dims = shape_tensor(n, shape);
    const std::optional<Shape> both = merge(n.output()->shape(), shape);
    return make(n, "TensorListGetItem", {n.input(2), n.input(1), dims}, element, dtype,
                both ? *both : Shape());
  }
  if (op == "TensorArraySplitV3") {
    Value* dims = shape_tensor(n, element_shape(n, a));
    return list("TensorListSplit", {n.input(1), dims, n.input(2)},
                {{"element_dtype", dtype}, {"shape_type", DType::i32}});
  }
  refuse(n, Code::unsupported_op, "this operation on a TensorArray is not supported");
}

// Fresh, an array is wholly what it is given; where nobody asks for its size, even when it has more room.
Value* TensorArrays::scatter(ir::Node& n, Array& a, const Attrs& element) {
  Value *indices = n.input(1), *tensor = n.input(2), *flow = n.input(3);
  const bool only_read = a.writers == 1 && a.sizes == 0;
  const bool all =
      flow == a.list && counts_up_to(indices, only_read ? nullptr : a.node->input(0), nullptr, false);
  Value* made;
  if (all) {
    Value* dims = shape_tensor(n, element_shape(n, a));
    Attrs attrs = element;
    attrs.push_back({"shape_type", DType::i32});
    made = make(n, "TensorListFromTensor", {tensor, dims}, std::move(attrs), DType::variant, Shape::scalar());
  } else {
    made = make(n, "TensorListScatterIntoExistingList", {flow, tensor, indices}, element, DType::variant,
                Shape::scalar());
  }
  flows_.push_back(made);
  return made;
}

Value* TensorArrays::gather(ir::Node& n, Array& a, const Attrs& element) {
  const bool is_dynamic = a.node->attr_or<std::int64_t>("dynamic_size", 0) != 0;
  Value* dims = shape_tensor(n, element_shape(n, a));
  const DType dtype = std::get<DType>(element[0].value);
  if (!counts_up_to(n.input(1), a.node->input(0), a.node, is_dynamic))
    return make(n, "TensorListGather", {n.input(2), n.input(1), dims}, element, dtype, n.output()->shape());
  Attrs attrs = element;
  attrs.push_back({"num_elements", -1});
  return make(n, "TensorListStack", {n.input(2), dims}, std::move(attrs), dtype, n.output()->shape());
}

void TensorArrays::concat(ir::Node& n, Array& a, const Attrs& element) {
  const auto* rest = n.attr_if<Shape>("element_shape_except0");
  Shape shape;
  if (rest && rest->ranked()) {
    Ints dims = rest->dims();
    dims.insert(dims.begin(), kUnknownDim);
    shape = Shape(std::move(dims));
  }
  const std::optional<Shape> both = merge(shape, element_shape(n, a));
  Value* dims = shape_tensor(n, both ? *both : Shape());
  Value* leading = graph_.add_constant(n.name() + "/leading_dims",
                                       Tensor::of<std::int64_t>({0}, std::vector<std::int64_t>()));
  const DType dtype = std::get<DType>(element[0].value);
  ir::NodeSpec spec{.op = "TensorListConcatV2", .inputs = {n.input(1), dims, leading}, .attrs = element};
  spec.attrs.push_back({"shape_type", DType::i32});
  spec.outputs = {{{}, dtype, n.output(0)->shape()}, {{}, DType::i64, n.output(1)->shape()}};
  spec.origin = n.shared_origin();
  spec.name = n.name();
  ir::Node& made = graph_.add(std::move(spec), &n);
  replace_value(n.output(0), made.output(0));
  replace_value(n.output(1), made.output(1));
}

// indices are 0, 1 ... to the end of what is given or, with `size` or as many as `array` has, to that.
bool TensorArrays::counts_up_to(const Value* indices, const Value* size, const ir::Node* array,
                                bool dynamic) const {
  if (indices->constant()) {
    const Ints given = indices->constant()->to_ints();
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i] != static_cast<std::int64_t>(i)) return false;
    return !size || (!dynamic && tfgraph::is_number(size, static_cast<std::int64_t>(given.size())));
  }
  const ir::Node* range = indices->producer();
  if (!range || range->op() != "Range" || !tfgraph::is_number(range->input(0), 0) ||
      !tfgraph::is_number(range->input(2), 1))
    return false;
  if (!size) return true;
  const Value* limit = range->input(1);
  const bool asks =
      array && limit->producer() &&
      (limit->producer()->op() == "TensorListLength" || limit->producer()->op() == "TensorArraySizeV3");
  return asks || (!dynamic && tfgraph::computed_alike(limit, size));
}

// What hands a flow on hands a list on now.
void TensorArrays::carry_lists() {
  Values work = flows_;
  while (!work.empty()) {
    const Value* v = work.back();
    work.pop_back();
    for (const ir::Use& u : v->uses()) {
      ir::Node& n = *u.node;
      if (!hands_on(n) || u.input > 1 || (u.input == 1 && !is_op(n, OpKind::merge))) continue;
      if (n.output()->dtype() == DType::variant) continue;
      graph_.set_attr(n, "T", DType::variant);
      for (std::size_t i = 0; i < (is_op(n, OpKind::merge) ? 1 : n.outputs().size()); ++i) {
        graph_.set_type(n.output(i), DType::variant, Shape::scalar());
        work.push_back(n.output(i));
      }
    }
  }
}

}  // namespace

void replace_tensor_arrays(ir::Graph& g) { TensorArrays(g).run(); }

}  // namespace t2o::tf
