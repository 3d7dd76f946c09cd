#include "plan.h"

#include <algorithm>
#include <charconv>

#include "onnx/layout_functions.h"
#include "op_mappers/custom_ops.h"
#include "op_mappers/quantize_mode.h"
#include "rewriters/all.h"
#include "rewriters/runtime/table.h"
#include "support/text.h"

namespace t2o {
namespace {

using tf2onnx::Options;

onnx::Target unchecked_target_of(const Options& o) {
  return onnx::make_target(o.opset == 0 ? onnx::kDefaultOpset : o.opset, o.target_runtime,
                           o.fidelity == tf2onnx::Fidelity::strict);
}

onnx::Target target_of(const Options& o) {
  onnx::Target target = unchecked_target_of(o);
  if (target.for_ort() && target.opset > onnx::kHighestOrtOpset)
    fail(Code::bad_option, onnx::not_loadable(target.opset),
         "--opset " + std::to_string(onnx::kHighestOrtOpset) +
             ", or --target-runtime any for another runtime");
  return target;
}

void check_layout(const Options& o, const onnx::Target& target) {
  if (o.layout != tf2onnx::Layout::nhwc) return;
  const std::string what = "--layout nhwc writes functions, which a model of ";
  if (target.opset < onnx::kFunctionOpset)
    fail(Code::opset_too_low, what + "opset " + std::to_string(target.opset) + " cannot contain",
         "--opset " + std::to_string(onnx::kFunctionOpset) + " or higher, or another --layout");
  if (o.ir_version != 0 && o.ir_version < onnx::kFunctionIrVersion)
    fail(Code::bad_option, what + "IR version " + std::to_string(o.ir_version) + " cannot contain",
         "--ir-version " + std::to_string(onnx::kFunctionIrVersion) + " or higher, or another --layout");
}

// A node has metadata_props from IR version 10 on.
void check_metadata(const Options& o, const onnx::Target& target, Diagnostics& diagnostics) {
  constexpr int kIrVersion = 10, kOpset = 21;
  const int version = o.ir_version != 0 ? o.ir_version : target.ir_version;
  if (!o.node_metadata || version >= kIrVersion) return;
  diagnostics.push_back(
      {.severity = Severity::warning,
       .code = Code::opset_too_low,
       .message = "--node-metadata: the nodes of IR version " + std::to_string(version) +
                  " have no metadata_props; where each comes from is written as its doc_string",
       .remedy = o.ir_version != 0 ? "--ir-version " + std::to_string(kIrVersion) + " or above"
                                   : "--opset " + std::to_string(kOpset) + " or above"});
}

// Refuses the name of a stage or a rewriter that does not exist. Without this check the option would do
// nothing.
void check_names(const char* option, const std::vector<std::string>& asked,
                 const std::vector<std::string>& known, Diagnostics& diagnostics) {
  for (const std::string& name : asked) {
    if (contains(known, name)) continue;
    collect(diagnostics, [&] {
      fail(Code::bad_option, std::string(option) + " does not know '" + name + "'",
           "one of: " + joined(known));
    });
  }
}

// Rows of the runtime's table may have no rewriter, and may be left out like one.
std::vector<std::string> with_rows(std::vector<std::string> names) {
  for (const runtime::Row& r : runtime::table())
    if (!r.make) names.emplace_back(r.name);
  return names;
}

// A rewriter of another layout, or of another target runtime, would never run.
void check_running(const Options& o, const std::vector<std::string>& asked, const onnx::Target& target,
                   Diagnostics& diagnostics) {
  std::vector<Phase> phases = tf_phases();
  for (Phase& p : onnx_phases(target, o.layout)) phases.push_back(std::move(p));
  const std::vector<Rewriter> running = rewriters_of(phases), all = rewriters_of(all_phases());
  const auto lists = [](const std::vector<Rewriter>& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const Rewriter& r) { return r.name == name; });
  };
  for (const std::string& name : asked)
    if (lists(all, name) && !lists(running, name)) {
      const bool is_runtime = runtime::find_row(name) != nullptr;
      diagnostics.push_back({Severity::warning,
                             Code::bad_option,
                             "the rewriter '" + name + "' does not run with this " +
                                 (is_runtime ? "--target-runtime, --fidelity or --opset" : "--layout"),
                             is_runtime ? "docs/runtime-rows.md says when it runs" : "--layout nhwc",
                             {},
                             SourceLoc::here()});
    }
}

void check_debugging(const Options& o, const onnx::Target& target, Diagnostics& diagnostics) {
  if (o.dump_after.empty() && o.trace_match.empty() && o.without.empty()) return;
  std::vector<std::string> rewriters, stages = {"read", "tf", "map", "onnx"};
  for (const Rewriter& r : rewriters_of(all_phases())) rewriters.push_back(r.name);
  append(stages, rewriters);
  check_names("--dump-after", o.dump_after, stages, diagnostics);
  check_names("--trace-match", o.trace_match, rewriters, diagnostics);
  check_names("--without", o.without, with_rows(rewriters), diagnostics);
  check_running(o, o.dump_after, target, diagnostics);
  check_running(o, o.trace_match, target, diagnostics);
}

// tf2onnx's --target works around gaps of old runtimes. These runtimes cannot load the opsets that this
// program writes; TensorRT no longer has the gap.
void note_targets(const Options& o, Diagnostics& diagnostics) {
  for (const std::string& target : o.targets)
    diagnostics.push_back({Severity::warning,
                           Code::bad_option,
                           "--target " + target + " changes nothing: no workarounds for it are written",
                           "--target-runtime and --opset choose the runtime",
                           {},
                           SourceLoc::here()});
}

void check_frozen_path(const Options& o) {
  if (o.output_frozen_graph == "-")
    fail(Code::bad_option, "--output-frozen-graph does not write to standard output",
         "name a file; '--output-frozen-graph ./-' is a file called '-'");
}

std::pair<std::string, int> extra_opset(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  int version = 0;
  const char* end = text.data() + text.size();
  const bool is_number =
      colon != std::string::npos && std::from_chars(text.data() + colon + 1, end, version).ptr == end;
  std::string domain = text.substr(0, std::min(colon, text.size()));
  if (!is_number || version < 1 || domain.empty() || domain == "ai.onnx")
    fail(Code::bad_option, "--extra-opset: '" + text + "' is not a domain with a version",
         "write domain:version, as com.microsoft:1; --opset says that of ONNX itself");
  return {std::move(domain), version};
}

}  // namespace

ConversionRegistry registry_for(const Options& o, Diagnostics& diagnostics) {
  ConversionRegistry registry(unchecked_target_of(o));
  registry.add_overlay(quantize_mode_rows(o.quantize_mode));
  registry.add_overlay(custom_rows(o.custom_ops, diagnostics));
  return registry;
}

Plan make_plan(const Options& o, Diagnostics& diagnostics) {
  Plan plan;
  if (collect(diagnostics, [&] { plan.registry = ConversionRegistry(target_of(o)); })) {
    const onnx::Target& target = plan.registry.target();
    collect(diagnostics, [&] { check_layout(o, target); });
    check_metadata(o, target, diagnostics);
    check_debugging(o, target, diagnostics);
  }
  note_targets(o, diagnostics);
  collect(diagnostics, [&] { check_frozen_path(o); });
  plan.registry.add_overlay(quantize_mode_rows(o.quantize_mode));
  plan.registry.add_overlay(custom_rows(o.custom_ops, diagnostics));
  for (const std::string& text : o.extra_opsets)
    collect(diagnostics, [&] { plan.extra_opsets.push_back(extra_opset(text)); });
  return plan;
}

}  // namespace t2o
