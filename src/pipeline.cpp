#include "pipeline.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <unordered_set>

#include "interface.h"
#include "ir/text.h"
#include "onnx/checker.h"
#include "onnx/layout_functions.h"
#include "onnx/writer.h"
#include "op_mappers/map_ops.h"
#include "rewriters/all.h"
#include "tf/source.h"
#include "version.h"

namespace t2o {
namespace {

#ifdef NDEBUG
constexpr bool kDebugBuild = false;
#else
constexpr bool kDebugBuild = true;
#endif

void check_layout(const Options& o, const onnx::Target& target) {
  if (o.layout != tf2onnx::Layout::nhwc) return;
  const std::string what = "--layout nhwc writes functions, which a model of ";
  if (target.opset < onnx::kFunctionOpset)
    fail(Code::opset_too_low, what + "opset " + std::to_string(target.opset) + " cannot bring along", "--opset " + std::to_string(onnx::kFunctionOpset) + " or higher, or another --layout");
  if (o.ir_version != 0 && o.ir_version < onnx::kFunctionIrVersion)
    fail(Code::bad_option, what + "IR version " + std::to_string(o.ir_version) + " cannot bring along", "--ir-version " + std::to_string(onnx::kFunctionIrVersion) + " or higher, or another --layout");
}

// A stage or a rewriter that does not exist would be waited for in vain.
void check_names(const Options& o, const onnx::Target& target) {
  if (o.dump_after.empty() && o.trace_match.empty()) return;
  std::vector<std::string> rewriters, stages = {"read", "tf", "map", "onnx"};
  for (const Rewriter& r : tf_rewriters()) rewriters.push_back(r.name);
  for (const Rewriter& r : onnx_rewriters(target, o.layout)) rewriters.push_back(r.name);
  stages.insert(stages.end(), rewriters.begin(), rewriters.end());
  const auto check = [](const char* option, const std::vector<std::string>& asked, const std::vector<std::string>& known) {
    for (const std::string& name : asked) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      std::string all;
      for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
      fail(Code::bad_option, std::string(option) + " does not know '" + name + "'", "one of: " + all);
    }
  };
  check("--dump-after", o.dump_after, stages);
  check("--trace-match", o.trace_match, rewriters);
}

void dump(const std::string& stage, const ir::Graph& g, const Options& o) {
  if (std::find(o.dump_after.begin(), o.dump_after.end(), stage) == o.dump_after.end()) return;
  std::fprintf(stderr, "# after %s\n%s\n", stage.c_str(), ir::to_text(g, {.origins = true, .known_elements = true, .elide_above = 64}).c_str());
}

struct Contents {
  std::vector<ir::Graph*> graphs;  // the graph and those inside of it, the inner ones first
  std::unordered_set<std::string> ops;
};

Contents contents_of(ir::Graph& g) {
  Contents c{{&g}, {}};
  std::string_view last;  // a graph of 100,000 nodes has few ops, often the same one again
  for (std::size_t i = 0; i < c.graphs.size(); ++i)
    for (const ir::Node& n : c.graphs[i]->nodes()) {
      if (n.op() != last) c.ops.insert(n.op());
      last = n.op();
      ir::for_each_subgraph(n, [&](ir::Graph& inner) { c.graphs.push_back(&inner); });
    }
  std::reverse(c.graphs.begin(), c.graphs.end());
  return c;
}

void run(const std::vector<Rewriter>& rewriters, ir::Graph& g, const Options& o) {
  Contents c = contents_of(g);
  for (const Rewriter& r : rewriters) {
    int changes = 0;
    const bool has_work = r.needs.empty() || std::any_of(r.needs.begin(), r.needs.end(), [&](const std::string& op) { return c.ops.contains(op); });
    for (ir::Graph* each : c.graphs)
      if (has_work) changes += r.run(*each);
    if (changes != 0) c = contents_of(g);
    dump(r.name, g, o);
  }
}

std::string describe(const tf::Source& s) {
  std::string text = s.kind;
  if (s.signature) text += ", signature " + s.signature->name;
  if (!s.tensorflow_version.empty()) text += ", TensorFlow " + s.tensorflow_version;
  return text;
}

std::vector<std::pair<std::string, int>> extra_opsets(const Options& o) {
  std::vector<std::pair<std::string, int>> opsets;
  for (const std::string& text : o.extra_opsets) {
    const std::size_t colon = text.rfind(':');
    int version = 0;
    const char* end = text.data() + text.size();
    const bool is_number = colon != std::string::npos && std::from_chars(text.data() + colon + 1, end, version).ptr == end;
    const std::string domain = text.substr(0, std::min(colon, text.size()));
    if (!is_number || version < 1 || domain.empty() || domain == "ai.onnx")
      fail(Code::bad_option, "--extra-opset: '" + text + "' is no domain with a version", "write domain:version, as com.microsoft:1; --opset says that of ONNX itself");
    opsets.emplace_back(domain, version);
  }
  return opsets;
}

onnx::ModelInfo model_info(const Conversion& c, const Options& o) {
  onnx::ModelInfo info;
  info.target = c.target;
  info.producer_version = kVersion;
  info.doc_string = o.doc_string;
  info.node_metadata = o.node_metadata;
  info.ir_version = o.ir_version;
  info.extra_opsets = extra_opsets(o);
  info.verify_ir = kDebugBuild;
  info.input_defaults = c.input_defaults;
  info.metadata_props = {{"source", c.source}, {"target_runtime", c.target.runtime}};
  return info;
}

// ONNX Runtime takes and gives no complex tensors.
void refuse_complex_interface(const ir::Graph& g, Diagnostics& diagnostics) {
  const auto check = [&](const char* what, const Value* v) {
    if (!is_complex(v->dtype())) return;
    diagnostics.push_back({Severity::error, Code::unsupported_type, std::string("the ") + what + " '" + v->name() + "' is complex, which no runtime takes or gives",
                           "--complex-as-pairs gives it another last axis, of size 2, for the real and the imaginary part", v->producer() ? v->producer()->origin() : Origin{}, SourceLoc::here()});
  };
  for (const Value* v : g.inputs()) check("input", v);
  for (const Value* v : g.outputs()) check("output", v);
}

void warn_of_idle(const CustomOps& custom_ops, const std::vector<std::string>& asked, ir::Graph& g, Diagnostics& diagnostics) {
  if (asked.empty()) return;
  const std::unordered_set<std::string> there = contents_of(g).ops;
  for (const std::string& op : custom_ops.names())
    if (!there.contains(op)) diagnostics.push_back({Severity::warning, Code::bad_option, "--custom-ops: the graph has no node of '" + op + "'", "", {}, SourceLoc::here()});
}

// read -> inline & freeze -> rewrite TF -> map -> rewrite ONNX -> check
Conversion convert_source(const Options& o, Conversion c, tf::Source source) {
  c.target = onnx::make_target(o.opset == 0 ? onnx::kDefaultOpset : o.opset, o.target_runtime);
  if (c.target.for_ort() && c.target.opset > kHighestOrtOpset)
    fail(Code::bad_option, "ONNX Runtime 1.31 loads no model of opset " + std::to_string(c.target.opset), "--opset " + std::to_string(kHighestOrtOpset) + ", or --target-runtime any for another runtime");
  c.source = describe(source);
  check_layout(o, c.target);
  check_names(o, c.target);
  const CustomOps custom_ops(o.custom_ops);
  const tf::ImportRequest request = tf::make_request(source, o, c.diagnostics);
  if (has_errors(c.diagnostics)) return c;
  std::vector<tf::State> states;
  const GraphPtr model = c.source_graph = tf::import_graph(source.graph, request, c.diagnostics, &states);
  if (!model) return c;
  for (const tf::State& s : states) c.input_defaults.emplace_back(s.input, s.initial);
  if (o.stateful_io && states.empty())
    c.diagnostics.push_back({Severity::warning, Code::bad_option, "--stateful-io: the model changes no variable", "", {}, SourceLoc::here()});
  if (request.find_interface) rename_interface(*model, states.size(), o, c.diagnostics);
  name_dims(*model);
  if (!o.complex_as_pairs) refuse_complex_interface(*model, c.diagnostics);
  dump("read", *model, o);
  run(tf_rewriters(), *model, o);
  dump("tf", *model, o);
  warn_of_idle(custom_ops, o.custom_ops, *model, c.diagnostics);
  const GraphPtr mapped = map_ops(*model, tf_registry(), c.target, c.diagnostics, custom_ops);
  if (has_errors(c.diagnostics)) return c;
  dump("map", *mapped, o);
  apply_layout_options(*mapped, c.target, o, c.diagnostics);
  run(onnx_rewriters(c.target, o.layout), *mapped, o);
  mapped->name_rest();
  dump("onnx", *mapped, o);
  for (Diagnostic& d : onnx::check(*mapped, model_info(c, o))) c.diagnostics.push_back(std::move(d));
  if (!has_errors(c.diagnostics)) c.graph = mapped;
  return c;
}

// The one place where the exceptions of the stages end.
template <class Work>
void guarded(Diagnostics& diagnostics, Work&& work) {
  try {
    work();
  } catch (const ConversionError& e) {
    diagnostics.push_back(e.diagnostic());
  } catch (const std::bad_alloc&) {
    diagnostics.push_back({Severity::error, Code::bad_file, "the model asks for more memory than there is", "", {}, SourceLoc::here()});
  } catch (const std::exception& e) {
    diagnostics.push_back({Severity::error, Code::internal, e.what(), "this is a bug: please report it with the model", {}, SourceLoc::here()});
  }
}

// Whoever next works in this thread wants to be told of nothing.
class Tracing {
 public:
  explicit Tracing(const std::vector<std::string>& rewriters) { trace_matches(rewriters); }
  ~Tracing() { trace_matches({}); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

template <class Open>
Conversion convert_from(const Options& o, Open&& open) {
  Conversion c;
  const Tracing tracing(o.trace_match);
  guarded(c.diagnostics, [&] {
    tf::Source source = open(c.diagnostics);
    if (!has_errors(c.diagnostics)) c = convert_source(o, c, std::move(source));
  });
  for (Diagnostic& d : c.diagnostics)  // found late, but in the file all the same
    if (d.code == Code::bad_file && d.message.find(o.model) == std::string::npos) d.message = o.model + ": " + d.message;
  return c;
}

}  // namespace

Conversion convert(const Options& o) {
  return convert_from(o, [&](Diagnostics& d) { return tf::open_source(o, d); });
}

Conversion convert(const Options& o, Bytes model) {
  return convert_from(o, [&](Diagnostics& d) { return tf::open_source(o, model, Owner{}, d); });
}

GraphPtr read_source(const Options& o, Diagnostics& diagnostics) {
  GraphPtr graph;
  guarded(diagnostics, [&] {
    const tf::Source source = tf::open_source(o, diagnostics);
    const tf::ImportRequest request = tf::make_request(source, o, diagnostics);
    if (!has_errors(diagnostics)) graph = tf::import_graph(source.graph, request, diagnostics);
    if (graph) name_dims(*graph);
  });
  return graph;
}

Diagnostics write_model(const Conversion& c, const Options& o, const std::string& path) {
  Diagnostics diagnostics;
  guarded(diagnostics, [&] { onnx::write_file(*c.graph, model_info(c, o), path, o.external_data); });
  return diagnostics;
}

Diagnostics write_model(const Conversion& c, const Options& o, std::string& bytes) {
  Diagnostics diagnostics;
  guarded(diagnostics, [&] { onnx::write_bytes(*c.graph, model_info(c, o), bytes); });
  return diagnostics;
}

}  // namespace t2o
