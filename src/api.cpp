#include <exception>
#include <new>

#include "exit_code.h"
#include "onnx/writer.h"
#include "option_text.h"
#include "pipeline.h"
#include "tf2onnx/tf2onnx.h"
#include "version.h"

namespace tf2onnx {
namespace {

Diagnostic to_public(const t2o::Diagnostic& d) {
  return {static_cast<Severity>(d.severity),
          std::string(t2o::name(d.code)),
          d.message,
          d.remedy,
          d.origin.node,
          d.origin.op,
          d.origin.function};
}

void add(Result& result, const t2o::Diagnostics& diagnostics) {
  for (const t2o::Diagnostic& d : diagnostics) result.diagnostics.push_back(to_public(d));
  if (result.exit_code == 0) result.exit_code = t2o::exit_code(diagnostics);
}

std::vector<Tensor> interface_of(const t2o::Values& values, const t2o::ir::ModelGraph& graph) {
  std::vector<Tensor> tensors;
  for (const t2o::Value* v : values) {
    Tensor& t = tensors.emplace_back();
    t.name = v->name();
    t.dtype = t2o::name(v->dtype());
    t.ranked = v->shape().ranked();
    for (const auto& [input, value] : graph.input_defaults) t.has_default |= input == t.name;
    if (!t.ranked) continue;
    for (const t2o::Dim d : v->shape().dims()) t.shape.push_back(t2o::is_known(d) ? d : -1);
  }
  return tensors;
}

Result failure(t2o::Code code, std::string message) {
  Result result;
  add(result, {{t2o::Severity::error, code, std::move(message), "", {}}});
  return result;
}

// No exception passes here: the pipeline reports, but memory may run out outside of it too.
template <class Work>
Result guarded(Work&& work) noexcept {
  try {
    return work();
  } catch (const t2o::ConversionError& e) {
    Result result;
    add(result, {e.diagnostic()});
    return result;
  } catch (const std::bad_alloc&) {
    return failure(t2o::Code::output, "there is not enough memory");
  } catch (const std::exception& e) {
    return failure(t2o::Code::internal, e.what());
  }
}

std::vector<Model> models_of(const t2o::Conversion& c, const t2o::onnx::Written& written) {
  std::vector<Model> models;
  for (const t2o::ir::ModelGraph& g : c.model.graphs) {
    Model& m = models.emplace_back();
    m.signature = g.name;
    m.path = written.models.at(models.size() - 1).path;
    m.bytes = written.models[models.size() - 1].bytes;
    m.inputs = interface_of(g.graph->inputs(), g);
    m.outputs = interface_of(g.graph->outputs(), g);
    m.nodes = static_cast<std::int64_t>(g.graph->node_count());
  }
  return models;
}

template <class Write>
Result finish(const t2o::Conversion& conversion, Write&& write) {
  Result result;
  add(result, conversion.diagnostics);
  if (!conversion.ok() || !result.ok()) return result;
  t2o::onnx::Written written;
  add(result, write(written));
  result.opset = conversion.target.opset;
  result.ir_version = conversion.target.ir_version;
  if (!result.ok()) return result;
  result.models = models_of(conversion, written);
  result.data_path = written.data.path;
  result.data_bytes = written.data.bytes;
  if (conversion.is_several) return result;
  result.inputs = result.models[0].inputs;
  result.outputs = result.models[0].outputs;
  result.nodes = result.models[0].nodes;
  return result;
}

// To the program "-" is standard output, which is not a library's to write to.
std::string file_called(const std::string& path) { return path == "-" ? "./-" : path; }

Result to_file(const t2o::Conversion& conversion, const Options& options, const std::string& path) {
  return finish(conversion, [&](t2o::onnx::Written& written) {
    return t2o::write_model(conversion, options, file_called(path), &written);
  });
}

Result to_memory(const t2o::Conversion& conversion, const Options& options, std::string& onnx_bytes) {
  return finish(conversion, [&](t2o::onnx::Written& written) {
    const t2o::Diagnostics trouble = t2o::write_model_bytes(conversion, options, onnx_bytes);
    written.models = {{"", onnx_bytes.size()}};
    return trouble;
  });
}

t2o::Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace

Result convert_file(const Options& options, const std::string& out_path) noexcept {
  return guarded([&] { return to_file(t2o::convert(options), options, out_path); });
}

Result convert_file_to_memory(const Options& options, std::string& onnx_bytes) noexcept {
  return guarded([&] { return to_memory(t2o::convert(options), options, onnx_bytes); });
}

Result convert_memory(const Options& options, std::string_view graph_def, std::string& onnx_bytes) noexcept {
  return guarded([&] { return to_memory(t2o::convert(options, as_bytes(graph_def)), options, onnx_bytes); });
}

Result convert_memory_to_file(const Options& options, std::string_view graph_def,
                              const std::string& out_path) noexcept {
  return guarded([&] { return to_file(t2o::convert(options, as_bytes(graph_def)), options, out_path); });
}

bool set_option(Options& options, std::string_view name, const std::string& value,
                std::string* why) noexcept {
  const Result result = guarded([&] {
    t2o::set_option(options, name, value);
    return Result();
  });
  if (!result.ok() && why) *why = to_string(result);
  return result.ok();
}

std::string to_string(const Diagnostic& d) noexcept {
  static constexpr std::string_view kSeverity[] = {"note", "warning", "error"};
  std::string text(kSeverity[static_cast<int>(d.severity)]);
  text.append("[").append(d.code).append("]: ");
  if (!d.op.empty()) text += d.op + " '" + d.node + "'";
  if (!d.function.empty()) text += " in function '" + d.function + "'";
  if (!d.op.empty()) text += ": ";
  text += d.message;
  if (!d.remedy.empty()) text += "\n  help: " + d.remedy;
  return text;
}

std::string to_string(const Result& result) noexcept {
  std::string text;
  std::vector<std::string> causes;
  for (const Diagnostic& d : result.diagnostics)
    causes.push_back(d.code + static_cast<char>('0' + static_cast<int>(d.severity)) +
                     t2o::cause_of(d.op, d.message));
  for (const t2o::Told& told : t2o::shorten(causes)) {
    const Diagnostic& d = result.diagnostics[told.index];
    text += to_string(d) + '\n';
    if (told.more != 0)
      text += t2o::more_like_it(static_cast<t2o::Severity>(d.severity), d.op, told.more) + '\n';
  }
  return text;
}

const char* version() noexcept { return t2o::kVersion; }

}  // namespace tf2onnx
