#include "pipeline.h"

#include <algorithm>
#include <cstdio>

#include "formats/formats.h"
#include "frozen_file.h"
#include "interface.h"
#include "ir/text.h"
#include "model_info.h"
#include "onnx/checker.h"
#include "onnx/writer.h"
#include "op_mappers/custom_ops.h"
#include "op_mappers/map_ops.h"
#include "plan.h"
#include "rewriters/all.h"
#include "stale_models.h"
#include "support/meter.h"
#include "support/parallel.h"
#include "support/wire.h"

namespace t2o {
namespace {

void dump(const std::string& stage, const ir::Graph& g, const Options& o) {
  if (std::find(o.dump_after.begin(), o.dump_after.end(), stage) == o.dump_after.end()) return;
  std::fprintf(stderr, "# after %s\n%s\n", stage.c_str(),
               ir::to_text(g, {.origins = true, .known_elements = true, .elide_above = 64}).c_str());
}

void begin(Meter* meter, const char* stage) {
  if (meter) meter->begin(stage);
}

PhaseOptions phase_options(const Options& o, const ir::Graph& g) {
  PhaseOptions p{o.without, o.rewriter_order, o.check_phases, {}};
#ifndef NDEBUG
  p.check = true;
#endif
  p.after = [&o, &g](const std::string& rewriter) { dump(rewriter, g, o); };
  return p;
}

std::map<std::string, std::size_t> count_ops(const ir::Graph& main_graph) {
  std::map<std::string, std::size_t> counts;
  std::vector<const ir::Graph*> pending = {&main_graph};
  while (!pending.empty()) {
    const ir::Graph& graph = *pending.back();
    pending.pop_back();
    for (const ir::Node& node : graph.nodes()) {
      ++counts[OpRegistry::form_of(node)];
      ir::for_each_subgraph(node, [&](const ir::Graph& g) { pending.push_back(&g); });
    }
  }
  return counts;
}

// rewrite TF -> map -> rewrite ONNX -> check
void convert_graph(const Options& o, const Plan& plan, ir::Graph& model, Conversion& c, Meter* meter) {
  begin(meter, "rewriting the TensorFlow graph");
  if (lacks_shapes(tf_phases(), model)) infer_shapes(model, plan.registry);
  run_phases(tf_phases(), model, phase_options(o, model));
  dump("tf", model, o);
  warn_of_idle(o.custom_ops, model, c.diagnostics);
  begin(meter, "mapping");
  const GraphPtr mapped = map_ops(model, plan.registry, c.diagnostics,
                                  {.inside_functions = !o.stateful_io, .by_inputs = o.rename_inputs.empty()});
  if (has_errors(c.diagnostics)) return;
  dump("map", *mapped, o);
  begin(meter, "rewriting the ONNX graph");
  apply_layout_options(*mapped, c.target, o, c.diagnostics);
  run_phases(onnx_phases(c.target, o.layout), *mapped, phase_options(o, *mapped));
  mapped->name_rest();
  mapped->name_altered();
  dump("onnx", *mapped, o);
  begin(meter, "checking");
  for (Diagnostic& d : onnx::check(*mapped, model_info(c, o))) c.diagnostics.push_back(std::move(d));
  warn_unranked(*mapped, c.diagnostics);
  if (!has_errors(c.diagnostics)) c.graph = mapped;
}

Prepared prepare(const Source& source, const Options& o, const ConversionRegistry& registry,
                 Diagnostics& diagnostics) {
  Prepared p = source.prepare(
      o, [&](ir::Graph& g) { infer_shapes(g, registry); }, diagnostics);
  if (p.graph) name_dims(*p.graph);
  return p;
}

void warn_of_no_state(const Options& o, const Prepared& p, Diagnostics& diagnostics) {
  if (!o.stateful_io || !p.input_defaults.empty()) return;
  diagnostics.push_back(
      {Severity::warning, Code::bad_option, "--stateful-io: the model changes no variable"});
}

// prepare -> convert_graph
void convert_source(const Options& o, const Plan& plan, SourcePtr source, Conversion& c, Meter* meter) {
  c.source = source->description();
  Prepared p = prepare(*source, o, plan.registry, c.diagnostics);
  c.source_graph = p.graph;
  if (!p.graph) return;
  if (!o.output_frozen_graph.empty()) c.frozen = source->freeze(o, p, c.diagnostics);
  source.reset();
  warn_of_no_state(o, p, c.diagnostics);
  c.input_defaults = std::move(p.input_defaults);
  if (!o.complex_as_pairs) refuse_complex_interface(*p.graph, c.diagnostics);
  dump("read", *p.graph, o);
  convert_graph(o, plan, *p.graph, c, meter);
}

// Runs the stages and turns their exceptions into diagnostics.
template <class Work>
void guarded(Diagnostics& diagnostics, const std::string& model, Work&& work) {
  try {
    const HelpingThreads threads;
    collect(diagnostics, work);
  } catch (const std::bad_alloc&) {
    diagnostics.push_back({Severity::error,
                           Code::bad_file,
                           (model.empty() ? "the model" : model) + " needs more memory than there is",
                           "",
                           {},
                           SourceLoc::here()});
  } catch (const std::exception& e) {
    diagnostics.push_back(diagnostic_of(e));
  }
}

// Traces the named rewriters in this thread. The end of the scope stops the trace, so the next conversion in
// the thread prints none.
class Tracing {
 public:
  explicit Tracing(const std::vector<std::string>& rewriters) { trace_matches(rewriters); }
  ~Tracing() { trace_matches({}); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

template <class Work>
Conversion converted(const Options& o, Meter* meter, Work&& work) {
  Conversion c;
  if (meter) meter->begin("reading");
  const Tracing tracing(o.trace_match);
  guarded(c.diagnostics, o.model, [&] {
    const Reading scope(o.model.empty() ? "" : format_of(o).file(o));
    Plan plan = make_plan(o, c.diagnostics);
    if (has_errors(c.diagnostics)) return;
    c.target = plan.registry.target();
    c.extra_opsets = plan.extra_opsets;
    work(plan, c);
  });
  return c;
}

}  // namespace

Conversion convert(const Options& o, Meter* meter) {
  return converted(o, meter, [&](const Plan& plan, Conversion& c) {
    convert_source(o, plan, format_of(o).open(o), c, meter);
  });
}

Conversion convert(const Options& o, Bytes model) {
  return converted(o, nullptr, [&](const Plan& plan, Conversion& c) {
    convert_source(o, plan, format_of(o).open_bytes(o, model, Owner{}), c, nullptr);
  });
}

Conversion convert(const Options& o, GraphPtr source_graph) {
  return converted(o, nullptr, [&](const Plan& plan, Conversion& c) {
    c.source_graph = std::move(source_graph);
    convert_graph(o, plan, *c.source_graph, c, nullptr);
  });
}

Prepared prepare_source(const Source& source, const Options& o, Diagnostics& diagnostics) {
  Diagnostics ignored;  // of --custom-ops, which the plan reports
  return prepare(source, o, registry_for(o, ignored), diagnostics);
}

Inspection inspect(const Options& o, Diagnostics& diagnostics) {
  Inspection result;
  const Tracing tracing(o.trace_match);
  guarded(diagnostics, o.model, [&] {
    const Reading scope(format_of(o).file(o));
    const ConversionRegistry registry = registry_for(o, diagnostics);
    if (has_errors(diagnostics)) return;
    Diagnostics plan;  // what convert would refuse in the options
    make_plan(o, plan);
    for (Diagnostic& d : plan) {
      d.severity = std::min(d.severity, Severity::warning);
      diagnostics.push_back(std::move(d));
    }
    const Prepared p = prepare(*format_of(o).open(o), o, registry, diagnostics);
    if (!p.graph) return;
    result.nodes = p.graph->node_count();
    result.ops = count_ops(*p.graph);
    result.source = p.graph;
    Conversion c;
    c.target = registry.target();
    collect(c.diagnostics, [&] { convert_graph(o, {registry, {}}, *p.graph, c, nullptr); });
    result.exported = c.graph;
    result.without_way = registry.without_way(*p.graph);
    for (Diagnostic& d : c.diagnostics)
      (d.severity == Severity::error ? result.refusals : diagnostics).push_back(std::move(d));
  });
  return result;
}

Diagnostics write_model(const Conversion& c, const Options& o, const std::string& path,
                        onnx::Written* written, Meter* meter) {
  Diagnostics diagnostics;
  guarded(diagnostics, "", [&] {
    const FrozenFile frozen(c.frozen.get(), o.output_frozen_graph);
    const StaleModels stale(path, path + ".data");
    const onnx::Written sizes = onnx::write_file(*c.graph, model_info(c, o), path, o.external_data, meter);
    if (written) *written = sizes;
    if (sizes.data_bytes != 0) diagnostics = stale.warnings({path});
    frozen.commit();
  });
  return diagnostics;
}

Diagnostics write_model_bytes(const Conversion& c, const Options& o, std::string& bytes) {
  Diagnostics diagnostics;
  guarded(diagnostics, "", [&] {
    const FrozenFile frozen(c.frozen.get(), o.output_frozen_graph);
    onnx::write_bytes(*c.graph, model_info(c, o), bytes);
    frozen.commit();
  });
  return diagnostics;
}

}  // namespace t2o
