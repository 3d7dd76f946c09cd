#include "tf/dequeue.h"

#include <algorithm>

#include "tf/attr_value.h"

namespace t2o::tf {
namespace {

const NodeDef* input_node(const Body& body, std::size_t node, std::size_t k) {
  const auto& inputs = body.node(node).inputs;
  if (k >= inputs.size()) return nullptr;
  const auto it = body.index.find(split_tensor_name(inputs[k]).first);
  return it ? &body.node(*it) : nullptr;
}

const Shape* shape_at(const Attrs& attrs, std::string_view key, std::size_t k) {
  for (const ir::NamedAttr& a : attrs) {
    if (a.name != key) continue;
    if (const auto* one = std::get_if<Shape>(&a.value)) return one;
    if (const auto* list = std::get_if<Shapes>(&a.value); list && k < list->size()) return &(*list)[k];
  }
  return nullptr;
}

// How many elements QueueDequeueMany takes; QueueDequeueUpTo takes fewer at the end.
Dim dequeued_count(const Body& body, std::size_t node) {
  const NodeDef* n = body.node(node).op.starts_with("QueueDequeueMany") ? input_node(body, node, 1) : nullptr;
  const Bytes* raw = n && n->op == "Const" ? n->attr("value") : nullptr;
  if (!raw) return kUnknownDim;
  const Attr value = decode_attr(*raw, {}, "tensor");
  const auto* tensor = std::get_if<TensorPtr>(&value);
  if (!tensor || !*tensor || (*tensor)->elements() != 1) return kUnknownDim;
  return std::max<Dim>((*tensor)->to_ints()[0], kUnknownDim);
}

}  // namespace

Shape component_shape(const Body& body, std::size_t node, const Attrs& attrs, std::size_t k) {
  const std::string_view op = body.node(node).op;
  if (!op.starts_with("Queue")) {
    for (const std::string_view key : {"output_shapes", "shapes", "shape"})
      if (const Shape* s = shape_at(attrs, key, k)) return *s;
    return {};
  }
  const NodeDef* queue = input_node(body, node, 0);
  const Bytes* raw = queue ? queue->attr("shapes") : nullptr;
  if (!raw) return {};
  const Attrs shapes = {{"shapes", decode_attr(*raw, {}, "list(shape)")}};
  const Shape* one = shape_at(shapes, "shapes", k);
  if (!one || !one->ranked()) return {};
  std::vector<Dim> dims = one->dims();
  if (!op.starts_with("QueueDequeueV2") && op != "QueueDequeue")
    dims.insert(dims.begin(), dequeued_count(body, node));
  return Shape(std::move(dims));
}

}  // namespace t2o::tf
