#include "pipeline.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "formats/formats.h"
#include "frozen_file.h"
#include "interface.h"
#include "ir/complex.h"
#include "ir/nesting.h"
#include "ir/text.h"
#include "onnx/checker.h"
#include "onnx/half_weights.h"
#include "onnx/writer.h"
#include "op_mappers/custom_ops.h"
#include "op_mappers/quantize_mode.h"
#include "plan.h"
#include "rewriters/all.h"
#include "signatures.h"
#include "sized_mapping.h"
#include "stale_models.h"
#include "support/lists.h"
#include "support/meter.h"
#include "support/parallel.h"
#include "support/wire.h"
#include "version.h"

namespace t2o {
namespace {

#ifdef NDEBUG
constexpr bool kDebugBuild = false;
#else
constexpr bool kDebugBuild = true;
#endif

void dump(const std::string& stage, const ir::Graph& g, const Options& o) {
  if (!contains(o.dump_after, stage)) return;
  std::fprintf(stderr, "# after %s\n%s\n", stage.c_str(),
               ir::to_text(g, {.origins = true, .known_elements = true, .elide_above = 64}).c_str());
}

void begin(Meter* meter, const char* stage) {
  if (meter) meter->begin(stage);
}

PhaseOptions phase_options(const Options& o, const ir::Graph& g, runtime::Recording& recording) {
  PhaseOptions p{o.without, o.rewriter_order, o.check_phases || kDebugBuild, {}};
  p.after = [&](const std::string& rewriter, int changes) {
    recording.add(rewriter, changes);
    dump(rewriter, g, o);
  };
  return p;
}

std::map<std::string, std::size_t> count_ops(const ir::Graph& main_graph) {
  std::map<std::string, std::size_t> counts;
  ir::for_each_node(main_graph, [&](const ir::Node& n) { ++counts[OpRegistry::form_of(n)]; });
  return counts;
}

onnx::WriteOptions write_options(const onnx::Target& target,
                                 const std::vector<std::pair<std::string, int>>& extra_opsets,
                                 const Options& o) {
  return {.target = target,
          .extra_opsets = extra_opsets,
          .node_metadata = o.node_metadata,
          .ir_version = o.ir_version,
          .verify_ir = kDebugBuild};
}

// rewrite TF -> map -> rewrite ONNX -> check; null if there are errors
GraphPtr convert_graph(const Options& o, const Plan& plan, ir::Graph& model, Diagnostics& diagnostics,
                       Meter* meter, runtime::Uses* uses = nullptr) {
  const onnx::Target& target = plan.registry.target();
  begin(meter, "rewriting the TensorFlow graph");
  if (lacks_shapes(tf_phases(), model)) infer_shapes(model, plan.registry);
  runtime::Recording recording(o.without);
  run_phases(tf_phases(), model, phase_options(o, model, recording));
  dump("tf", model, o);
  warn_of_idle(o.custom_ops, model, diagnostics);
  begin(meter, "mapping");
  warn_of_exact(o.quantize_mode, model, target, diagnostics);
  const bool has_halves = onnx::has_half_weights(model);
  const CutOptions cuts = {.inside_functions = !o.stateful_io, .by_inputs = o.rename_inputs.empty()};
  const GraphPtr mapped = map_with_required_sizes(model, plan.registry, diagnostics, cuts);
  if (has_errors(diagnostics)) return nullptr;
  dump("map", *mapped, o);
  begin(meter, "rewriting the ONNX graph");
  apply_layout_options(*mapped, target, o, diagnostics);
  run_phases(onnx_phases(target, o.layout), *mapped, phase_options(o, *mapped, recording));
  if (uses) *uses = recording.uses();
  mapped->name_rest();
  mapped->name_altered();
  if (has_halves) onnx::store_halves(*mapped);
  mapped->name_nodes();
  dump("onnx", *mapped, o);
  begin(meter, "checking");
  for (Diagnostic& d : onnx::check(*mapped, write_options(target, plan.extra_opsets, o)))
    diagnostics.push_back(std::move(d));
  warn_unranked(*mapped, diagnostics);
  return has_errors(diagnostics) ? nullptr : mapped;
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

// prepare -> convert_graph, for one entry point. Nothing needs the source afterwards if it is the last one.
std::optional<ir::ModelGraph> convert_entry(const Options& o, const Plan& plan, SourcePtr& source,
                                            bool is_last, Conversion& c, Diagnostics& diagnostics,
                                            Meter* meter) {
  Prepared p = prepare(*source, o, plan.registry, diagnostics);
  if (!c.is_several) c.source_graph = p.graph;
  if (!p.graph) return {};
  ir::ModelGraph result;
  result.properties = {{"source", source->description(o)}};
  append(c.source_files, p.files);
  if (!o.output_frozen_graph.empty()) c.frozen = source->freeze(o, p, diagnostics);
  if (is_last) source.reset();
  warn_of_no_state(o, p, diagnostics);
  for (auto& [input, value] : p.input_defaults)
    result.input_defaults.emplace_back(std::move(input), complex_as_pairs(value));
  if (!o.complex_as_pairs) refuse_complex_interface(*p.graph, diagnostics);
  dump("read", *p.graph, o);
  if (std::string name = graph_name(o, c.is_several); !name.empty()) p.graph->set_name(std::move(name));
  runtime::Uses uses;
  result.graph = convert_graph(o, plan, *p.graph, diagnostics, meter, &uses);
  if (!result.graph) return std::nullopt;
  c.runtime_uses.push_back(std::move(uses));
  return result;
}

// Does the work and turns its exceptions into diagnostics.
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

void convert_source(const Options& o, const Plan& plan, SourcePtr source, Conversion& c, Meter* meter) {
  const std::optional<Strings> names = named_signatures(o, *source, c.diagnostics);
  c.is_several = names.has_value();
  if (!names) {
    if (auto g = convert_entry(o, plan, source, true, c, c.diagnostics, meter))
      c.model.graphs.push_back(std::move(*g));
    return;
  }
  Options one = o;
  for (const std::string& name : *names) {
    Diagnostics found;
    one.signature = name;
    begin(meter, "reading");
    guarded(found, o.model, [&] {
      auto g = convert_entry(one, plan, source, &name == &names->back(), c, found, meter);
      if (!g) return;
      g->name = name;
      c.model.graphs.push_back(std::move(*g));
    });
    for (Diagnostic& d : found) {
      d.message = "signature '" + name + "': " + d.message;
      c.diagnostics.push_back(std::move(d));
    }
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
  begin(meter, "reading");
  const Tracing tracing(o.trace_match);
  guarded(c.diagnostics, o.model, [&] {
    const Reading scope(o.model.empty() ? "" : format_of(o).file(o));
    Plan plan = make_plan(o, c.diagnostics);
    if (has_errors(c.diagnostics)) return;
    c.target = plan.registry.target();
    c.extra_opsets = plan.extra_opsets;
    c.model.producer_version = kVersion;
    c.model.doc_string = o.doc_string;
    c.model.properties = {{"target_runtime", c.target.runtime},
                          {"fidelity", c.target.strict ? "strict" : "plain"}};
    work(plan, c);
  });
  if (has_errors(c.diagnostics)) c.model.graphs.clear();
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
    runtime::Uses uses;
    if (GraphPtr g = convert_graph(o, plan, *c.source_graph, c.diagnostics, nullptr, &uses)) {
      c.model.graphs.push_back({.graph = std::move(g)});
      c.runtime_uses.push_back(std::move(uses));
    }
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
    Diagnostics plan;  // what convert would refuse in the options
    if (!has_errors(diagnostics)) make_plan(o, plan);
    for (Diagnostic& d : plan) {
      d.severity = std::min(d.severity, Severity::warning);
      diagnostics.push_back(std::move(d));
    }
    SourcePtr source = format_of(o).open(o);
    result.signatures = source->signatures();
    Prepared p;
    const bool unread = has_errors(diagnostics) ||
                        !collect(diagnostics, [&] { p = prepare(*source, o, registry, diagnostics); });
    Diagnostics ignored;  // the graph's are reported
    if (unread || !p.graph) collect(ignored, [&] { result.file_ops = source->op_counts(); });
    source.reset();
    if (!p.graph) return;
    result.nodes = p.graph->node_count();
    result.ops = count_ops(*p.graph);
    result.source = p.graph;
    Diagnostics found;
    collect(found, [&] { result.exported = convert_graph(o, {registry, {}}, *p.graph, found, nullptr); });
    result.without_way = registry.without_way(*p.graph);
    for (Diagnostic& d : found)
      (d.severity == Severity::error ? result.refusals : diagnostics).push_back(std::move(d));
  });
  return result;
}

namespace {

void check_not_the_source(const Conversion& c, const std::string& written) {
  std::error_code none;
  for (const std::string& file : c.source_files)
    if (std::filesystem::equivalent(file, written, none))
      fail(Code::bad_option, "'" + written + "' holds weights of the model, which would be lost",
           "give the output another name");
}

}  // namespace

Diagnostics write_model(const Conversion& c, const Options& o, const std::string& path,
                        onnx::Written* written, Meter* meter) {
  Diagnostics diagnostics;
  guarded(diagnostics, "", [&] {
    const FrozenFile frozen(c.frozen.get(), o.output_frozen_graph);
    const OutputFiles files = output_files(c, path);
    for (const std::string& model : files.models) check_not_the_source(c, model);
    check_not_the_source(c, files.data);
    const StaleModels stale(path, files.data);
    const onnx::Written sizes = onnx::write_files(c.model, write_options(c.target, c.extra_opsets, o),
                                                  files.models, files.data, o.external_data, meter);
    if (written) *written = sizes;
    if (sizes.data.bytes != 0) diagnostics = stale.warnings(files.models);
    frozen.commit();
  });
  return diagnostics;
}

Diagnostics write_model_bytes(const Conversion& c, const Options& o, std::string& bytes) {
  Diagnostics diagnostics;
  guarded(diagnostics, "", [&] {
    if (c.is_several)
      fail(Code::bad_option, "several models cannot be written to memory",
           "convert one signature at a time, or write to files");
    const FrozenFile frozen(c.frozen.get(), o.output_frozen_graph);
    onnx::write_bytes(c.model, write_options(c.target, c.extra_opsets, o), bytes);
    frozen.commit();
  });
  return diagnostics;
}

}  // namespace t2o
