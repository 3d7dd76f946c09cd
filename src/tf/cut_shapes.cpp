#include "tf/cut_shapes.h"

namespace t2o::tf {
namespace {

Shape without_names(const Shape& s) {
  Ints dims;
  for (const Dim d : s.dims()) dims.push_back(is_known(d) ? d : kUnknownDim);
  return Shape(std::move(dims));
}

// The removed part. Its errors are not reported, because the user does not ask for it.
GraphPtr import_part(const GraphDef& graph, const ImportRequest& request, std::vector<Fetch> fetches) {
  ImportRequest part;
  part.fetches = std::move(fetches);
  part.variable = request.variable;
  part.find_interface = true;
  Diagnostics ignored;
  return import_graph(graph, part, ignored);
}

}  // namespace

void learn_cut_shapes(ir::Graph& model, const Interface& interface, const GraphDef& graph,
                      const ImportRequest& request, const InferShapes& infer_shapes) {
  if (request.cuts_inside()) return;
  std::vector<std::pair<Value*, std::string>> unknown;
  for (std::size_t i = 0; i < model.inputs().size() && i < interface.inputs.size(); ++i)
    if (Value* v = model.inputs()[i]; !v->shape().ranked() && !interface.inputs[i].empty())
      unknown.emplace_back(v, interface.inputs[i]);
  for (const auto& [input, tensor] : unknown) {
    const GraphPtr part = import_part(graph, request, {{tensor}});
    if (!part || part->node_count() == 0) continue;  // an input of the whole model
    infer_shapes(*part);
    const Shape& shape = part->outputs().at(0)->shape();
    if (shape.ranked()) model.set_type(input, input->dtype(), without_names(shape));
  }
}

}  // namespace t2o::tf
