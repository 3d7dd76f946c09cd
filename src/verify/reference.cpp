#include "verify/reference.h"

#include "formats/formats.h"
#include "ir/nesting.h"
#include "pipeline.h"
#include "tfgraph/facts.h"
#include "tfgraph/values.h"

namespace t2o::verify {
namespace {

DType coarsest_type(const ir::Graph& main) {
  DType coarsest = DType::undefined;
  ir::for_each_node(main, [&](const ir::Node& n) {
    if (n.op() == "Cast" || n.op() == "Identity") return;  // weights may merely be kept in 16 bits
    for (const Value* v : n.outputs())
      if (v->dtype() == DType::bf16 || (v->dtype() == DType::f16 && coarsest != DType::bf16))
        coarsest = v->dtype();
  });
  return coarsest;
}

// The axis along which a ConcatV2 puts other elements behind those of a cache.
std::optional<std::int64_t> joined_axis(const Value& v) {
  for (const ir::Use& u : v.uses()) {
    if (tfgraph::is_identity(*u.node))
      if (const auto axis = joined_axis(*u.node->output())) return axis;
    if (u.node->op() != "ConcatV2" || u.input + 1 == u.node->input_count()) continue;
    if (const auto axis = tfgraph::known_scalar(u.node->input(u.node->input_count() - 1)))
      return static_cast<std::int64_t>(*axis);
  }
  return std::nullopt;
}

std::vector<Port> ports(const Values& values, const Strings& tensors) {
  std::vector<Port> list;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& v = *values[i];
    if (tensors[i].empty()) continue;
    const IntegerUse use = v.is_graph_input() && is_int(v.dtype()) ? use_of(v) : IntegerUse();
    list.push_back({v.name(), tensors[i], v.dtype(), v.shape(), use});
    if (v.is_graph_input()) list.back().joined_axis = joined_axis(v);
  }
  return list;
}

}  // namespace

std::unique_ptr<Reference> open_reference(const tf2onnx::Options& options, const EngineOptions& engine) {
  const ModelFormat& format = format_of(options);
  const SourcePtr source = format.open(options);
  if (source->cuts_inside(options))
    fail(Code::not_yet, "TensorFlow cannot return tensors from inside of a function",
         "verify the whole model, or cut at names of the main graph");
  Diagnostics diagnostics;
  const Prepared p = prepare_source(*source, options, diagnostics);
  throw_first_error(diagnostics);
  Ports both = {ports(p.graph->inputs(), p.inputs), ports(p.graph->outputs(), p.outputs),
                coarsest_type(*p.graph), tfgraph::fakes_quantization(*p.graph)};
  return format.reference(options, std::move(both), engine);
}

}  // namespace t2o::verify
