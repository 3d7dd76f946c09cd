#include "cut_shapes.h"

#include "op_mappers/map_ops.h"

namespace t2o {
namespace {

Shape without_names(const Shape& s) {
  Ints dims;
  for (const Dim d : s.dims()) dims.push_back(is_known(d) ? d : kUnknownDim);
  return Shape(std::move(dims));
}

// The part that is cut off, of which nothing is reported: the user does not ask for it.
GraphPtr import_part(const tf::GraphDef& graph, const tf::ImportRequest& request,
                     std::vector<tf::Fetch> fetches) {
  tf::ImportRequest part;
  part.fetches = std::move(fetches);
  part.variable = request.variable;
  part.find_interface = true;
  Diagnostics ignored;
  return tf::import_graph(graph, part, ignored);
}

}  // namespace

void learn_cut_shapes(ir::Graph& model, const tf::Interface& interface, const tf::GraphDef& graph,
                      const tf::ImportRequest& request, const ConversionRegistry& registry) {
  if (request.cuts_inside()) return;
  std::vector<std::pair<Value*, std::string>> unknown;
  for (std::size_t i = 0; i < model.inputs().size() && i < interface.inputs.size(); ++i)
    if (Value* v = model.inputs()[i]; !v->shape().ranked() && !interface.inputs[i].empty())
      unknown.emplace_back(v, interface.inputs[i]);
  for (const auto& [input, tensor] : unknown) {
    const GraphPtr part = import_part(graph, request, {{tensor}});
    if (!part || part->node_count() == 0) continue;  // an input of the whole
    infer_shapes(*part, registry);
    const Shape& shape = part->outputs().at(0)->shape();
    if (shape.ranked()) model.set_type(input, input->dtype(), without_names(shape));
  }
}

}  // namespace t2o
