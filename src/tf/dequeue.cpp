#include "tf/dequeue.h"

#include <algorithm>
#include <set>

#include "tf/importer.h"

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

// Those that a needed node or an output reads.
std::vector<std::int32_t> Importer::components_read(std::uint32_t node) {
  std::set<std::int32_t> components;
  const Body& body = bodies_.main();
  for (std::size_t i = 0; i < body.size(); ++i)
    for (const InputRef& in : main_needed_[i] ? body.inputs_of(i) : std::span<const InputRef>())
      if (in.node == static_cast<std::int32_t>(node)) components.insert(in.output);
  for (const Tensor t : fetched_)
    if (t.node == static_cast<std::int32_t>(node)) components.insert(t.output);
  return {components.begin(), components.end()};
}

void Importer::note_components(std::uint32_t node) {
  const Frame f{.body = &bodies_.main()};
  report(f, node,
         {.severity = Severity::note,
          .code = Code::bad_option,
          .message = "the elements that it takes from a dataset or queue are inputs of the model",
          .remedy = "Cut the graph at other tensors with --inputs."});
}

std::vector<Item> Importer::import_components(Frame& f, std::uint32_t n) {
  if (f.kind != Frame::Kind::main)
    fail(Code::unsupported_op, "takes elements from a dataset or queue inside of a function",
         "Export a function that takes them as arguments.");
  const OpDef* op = f.body->ops[n]->def;
  std::vector<Item> items(tensor_types(op->outputs, decode_attrs(f, n)).size());
  for (const std::int32_t k : components_read(n)) {
    const Tensor t{static_cast<std::int32_t>(n), k};
    if (is_fed({.node = t.node, .output = t.output}) || static_cast<std::size_t>(k) >= items.size()) continue;
    const ir::OutputSpec type = known_type(t);
    const std::string tensor = std::string(f.body->node(n).name) + ":" + std::to_string(k);
    Value* input = graph_->add_input(tensor, type.dtype, type.shape);
    input_tensors_[input] = tensor;
    items[static_cast<std::size_t>(k)].value = input;
  }
  report(f, n,
         {.severity = Severity::warning,
          .code = Code::bad_option,
          .message = "the outputs need the elements that it takes from a dataset or queue; they are not "
                     "among the inputs and become inputs",
          .remedy = "Add it to --inputs."});
  return items;
}

}  // namespace t2o::tf
