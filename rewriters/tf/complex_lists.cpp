#include <optional>

#include "ir/complex.h"
#include "ir/contents.h"
#include "rewriters/all.h"
#include "rewriters/tf/facts.h"
#include "tf/op_builder.h"

// Turns TensorLists of complex numbers into lists of pairs. Each complex number that a node writes into the
// list becomes a pair (re, im) along one more, last axis. Each pair that a node reads from the list becomes a
// complex number again. Nodes that only hand the list on, such as loops, do not change.
namespace t2o::rewriters {
namespace {

constexpr std::size_t kNone = 99;

struct Place {
  std::size_t element, shape;  // the inputs that hold an element and the elements' shape
  std::size_t result;          // the output that holds elements
};

std::optional<Place> place_of(const std::string& op) {
  static const std::vector<std::pair<std::string, Place>> table = {
      {"EmptyTensorList", {kNone, 0, kNone}},   {"TensorListReserve", {kNone, 0, kNone}},
      {"TensorListFromTensor", {0, 1, kNone}},  {"TensorListScatter", {0, 2, kNone}},
      {"TensorListScatterV2", {0, 2, kNone}},   {"TensorListScatterIntoExistingList", {1, kNone, kNone}},
      {"TensorListSetItem", {2, kNone, kNone}}, {"TensorListPushBack", {1, kNone, kNone}},
      {"TensorListGetItem", {kNone, 2, 0}},     {"TensorListStack", {kNone, 1, 0}},
      {"TensorListGather", {kNone, 2, 0}},      {"TensorListPopBack", {kNone, 1, 1}},
      {"TensorListConcatV2", {kNone, 1, 0}},    {"TensorListSplit", {0, 1, kNone}},
  };
  for (const auto& [name, place] : table)
    if (name == op) return place;
  return {};
}

bool is_complex_list(const ir::Node& n) {
  const auto* type = std::get_if<DType>(n.attr("element_dtype"));
  return type && is_complex(*type);
}

class Parts {
 public:
  explicit Parts(ir::Graph& g, ir::Node& at) : r_(g, at) {}

  Value* pairs(Value* z) {
    const DType real = part_type(z->dtype());
    const auto part = [&](const char* op) {
      return r_.make(tf::op_spec(op, {z}, {{"Tout", real}}, {z->shape()}));
    };
    Value *re = part("Real"), *im = part("Imag");
    return r_.make(tf::op_spec("Pack", {re, im}, {{"axis", std::int64_t{-1}}}, {shape_of_pairs(z->shape())}));
  }

  Value* numbers(Value* pairs, DType type, const Shape& shape) {
    const auto part = [&](std::int32_t i) {
      Value* at = r_.constant(Tensor::scalar<std::int32_t>(i));
      Value* axis = r_.constant(Tensor::scalar<std::int32_t>(-1));
      return r_.make(tf::op_spec("GatherV2", {pairs, at, axis}, {}, {shape}));
    };
    Value *re = part(0), *im = part(1);
    return r_.make(tf::op_spec("Complex", {re, im}, {{"Tout", type}}, {shape}));
  }

  // The shape of the pairs. A scalar -1 stands for any shape; a tensor of unknown rank may be such a scalar.
  Value* shape(Value* dims) {
    if (dims->shape().ranked() && dims->shape().rank() == 0) return dims;
    if (!dims->shape().ranked()) return r_.constant(Tensor::scalar<std::int32_t>(-1));
    const DType type = dims->dtype();
    Value* two = r_.constant(type == DType::i64 ? Tensor::of<std::int64_t>({1}, {2})
                                                : Tensor::of<std::int32_t>({1}, {2}));
    if (const auto known = known_ints(dims)) {
      Ints all = *known;
      all.push_back(2);
      const Ints size{static_cast<std::int64_t>(all.size())};
      if (type == DType::i64) return r_.constant(Tensor::of<std::int64_t>(size, all));
      return r_.constant(Tensor::of<std::int32_t>(size, std::vector<std::int32_t>(all.begin(), all.end())));
    }
    return r_.make(tf::op_spec("ConcatV2", {dims, two, r_.constant(Tensor::scalar<std::int32_t>(0))}, {},
                               {Shape(Ints{kUnknownDim})}));
  }

 private:
  Rewrite r_;
};

void replace(ir::Graph& g, ir::Node& n, const Place& place) {
  const DType type = *std::get_if<DType>(n.attr("element_dtype"));
  Parts p(g, n);
  ir::NodeSpec spec{n.op(), n.inputs(), n.attrs(), {}, n.shared_origin(), n.name()};
  if (place.element != kNone) spec.inputs[place.element] = p.pairs(n.input(place.element));
  if (place.shape != kNone) spec.inputs[place.shape] = p.shape(n.input(place.shape));
  for (ir::NamedAttr& a : spec.attrs)
    if (a.name == "element_dtype") a.value = part_type(type);
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    const Value* v = n.output(i);
    if (i == place.result)
      spec.outputs.push_back({"", part_type(type), shape_of_pairs(v->shape())});
    else
      spec.outputs.push_back({"", v->dtype(), v->shape()});
  }
  const ir::Node& made = g.add(std::move(spec), &n);
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    Value* v = made.output(i);
    replace_value(g, n.output(i), i == place.result ? p.numbers(v, type, n.output(i)->shape()) : v);
  }
}

// Whether any node of the model reads the element shape of a list. Such a node has no element_dtype, so it
// does not say whether its list is complex; the rewriter then changes no list.
bool is_asked_for_shapes(ir::Graph& g) {
  ir::Graph* root = &g;
  while (root->parent()) root = root->parent();
  return ir::contents_of(*root).ops.contains("TensorListElementShape");
}

int run(ir::Graph& g) {
  std::vector<std::pair<ir::Node*, Place>> found;
  for (ir::Node& n : g.nodes())
    if (is_complex_list(n))
      if (const auto place = place_of(n.op())) found.emplace_back(&n, *place);
  if (found.empty() || is_asked_for_shapes(g)) return 0;
  for (const auto& [n, place] : found) replace(g, *n, place);
  g.erase_dead();
  return static_cast<int>(found.size());
}

}  // namespace

Rewriter complex_lists() {
  return {"complex_lists",
          run,
          {"TensorListReserve", "EmptyTensorList", "TensorListFromTensor", "TensorListScatter",
           "TensorListScatterV2"}};
}

}  // namespace t2o::rewriters
