#include "pipeline.h"

#include <algorithm>
#include <cstdio>

#include "cut_shapes.h"
#include "interface.h"
#include "ir/text.h"
#include "model_info.h"
#include "onnx/checker.h"
#include "onnx/writer.h"
#include "op_mappers/custom_ops.h"
#include "op_mappers/map_ops.h"
#include "plan.h"
#include "rewriters/all.h"
#include "support/atomic_file.h"
#include "support/meter.h"
#include "support/parallel.h"
#include "support/wire.h"
#include "tf/frozen_graph.h"
#include "tf/source.h"

namespace t2o {
namespace {

void dump(const std::string& stage, const ir::Graph& g, const Options& o) {
  if (std::find(o.dump_after.begin(), o.dump_after.end(), stage) == o.dump_after.end()) return;
  std::fprintf(stderr, "# after %s\n%s\n", stage.c_str(),
               ir::to_text(g, {.origins = true, .known_elements = true, .elide_above = 64}).c_str());
}

// A tensor inside of a function has no name in the source graph. If the model is cut at one, the whole graph
// is frozen.
std::shared_ptr<const tf::FrozenGraph> frozen_graph(const tf::Source& source,
                                                    const tf::ImportRequest& request,
                                                    const tf::Interface& interface, const ir::Graph& imported,
                                                    Diagnostics& diagnostics) {
  std::vector<tf::FrozenInput> inputs;
  const Values& values = imported.inputs();
  for (std::size_t i = 0; i < values.size() && !request.cuts_inside(); ++i)
    if (!interface.inputs[i].empty())
      inputs.push_back({interface.inputs[i], values[i]->dtype(), values[i]->shape()});
  Strings outputs = interface.outputs;
  std::erase(outputs, "");
  auto frozen = std::make_shared<tf::FrozenGraph>();
  collect(diagnostics, [&] {
    *frozen = tf::freeze(source.graph, inputs, outputs, source.variable, diagnostics);
    tf::check_size(*frozen);
  });
  return frozen;
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

// read -> inline & freeze -> convert_graph
void convert_source(const Options& o, const Plan& plan, tf::Source source, Conversion& c, Meter* meter) {
  c.source = describe(source);
  const tf::ImportRequest request = tf::make_request(source, o, c.diagnostics);
  if (has_errors(c.diagnostics)) return;
  tf::Interface interface;
  c.source_graph = tf::import_graph(source.graph, request, c.diagnostics, &interface);
  if (c.source_graph) learn_cut_shapes(*c.source_graph, interface, source.graph, request, plan.registry);
  if (c.source_graph && !o.output_frozen_graph.empty())
    c.frozen = frozen_graph(source, request, interface, *c.source_graph, c.diagnostics);
  source.graph = {};
  if (!c.source_graph) return;
  ir::Graph& model = *c.source_graph;
  c.input_defaults = input_defaults(interface, o, c.diagnostics);
  name_dims(model);
  if (!o.complex_as_pairs) refuse_complex_interface(model, c.diagnostics);
  dump("read", model, o);
  convert_graph(o, plan, model, c, meter);
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

// Writes the frozen graph under a temporary name before the model is written. commit() gives it its own name,
// once the model is there.
class FrozenFile {
 public:
  FrozenFile(const Conversion& c, const Options& o) {
    if (!c.frozen) return;
    // A file, also when its name is "-"; the AtomicFile of "-" is standard output.
    file_ = std::make_unique<AtomicFile>(o.output_frozen_graph == "-" ? "./-" : o.output_frozen_graph);
    file_->reserve(c.frozen->graph_def.size());
    c.frozen->graph_def.stream([&](Bytes b) { file_->write(b); });
  }
  void commit() const {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<AtomicFile> file_;
};

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
    const Reading scope(o.model.empty() ? "" : tf::file_of(o));
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
    convert_source(o, plan, tf::open_source(o), c, meter);
  });
}

Conversion convert(const Options& o, Bytes model) {
  return converted(o, nullptr, [&](const Plan& plan, Conversion& c) {
    convert_source(o, plan, tf::open_source(o, model, Owner{}), c, nullptr);
  });
}

Conversion convert(const Options& o, GraphPtr source_graph) {
  return converted(o, nullptr, [&](const Plan& plan, Conversion& c) {
    c.source_graph = std::move(source_graph);
    convert_graph(o, plan, *c.source_graph, c, nullptr);
  });
}

GraphPtr read_source(const Options& o, Diagnostics& diagnostics) {
  GraphPtr graph;
  guarded(diagnostics, o.model, [&] {
    const Reading scope(tf::file_of(o));
    const tf::Source source = tf::open_source(o);
    const tf::ImportRequest request = tf::make_request(source, o, diagnostics);
    if (!has_errors(diagnostics)) graph = tf::import_graph(source.graph, request, diagnostics);
    if (graph) name_dims(*graph);
  });
  return graph;
}

Diagnostics write_model(const Conversion& c, const Options& o, const std::string& path,
                        onnx::Written* written, Meter* meter) {
  Diagnostics diagnostics;
  guarded(diagnostics, "", [&] {
    const FrozenFile frozen(c, o);
    const onnx::Written sizes = onnx::write_file(*c.graph, model_info(c, o), path, o.external_data, meter);
    if (written) *written = sizes;
    frozen.commit();
  });
  return diagnostics;
}

Diagnostics write_model_bytes(const Conversion& c, const Options& o, std::string& bytes) {
  Diagnostics diagnostics;
  guarded(diagnostics, "", [&] {
    const FrozenFile frozen(c, o);
    onnx::write_bytes(*c.graph, model_info(c, o), bytes);
    frozen.commit();
  });
  return diagnostics;
}

}  // namespace t2o
