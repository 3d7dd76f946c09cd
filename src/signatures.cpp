#include "signatures.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "formats/formats.h"
#include "model_info.h"
#include "onnx/writer.h"
#include "option_text.h"
#include "stale_models.h"

namespace t2o {
namespace {

constexpr std::string_view kPlace = "{signature}";
constexpr std::string_view kAll = "all";

std::string with_place_filled(const std::string& output, const std::string& by) {
  std::string path = output;
  const std::size_t at = path.rfind(kPlace);
  if (at != std::string::npos) return path.replace(at, kPlace.size(), by);
  const std::size_t dot = path.rfind('.'), slash = path.rfind('/');
  const bool has_extension = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  return path.insert(has_extension ? dot : path.size(), "." + by);
}

// A signature's name in a file's name.
std::string as_file_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

void check_options(const Options& o, const std::string& output) {
  const auto refuse = [](const char* option) {
    fail(Code::bad_option, std::string(option) + " is for one signature, and --signature names several",
         "convert that signature alone");
  };
  if (!o.inputs.empty()) refuse("--inputs");
  if (!o.outputs.empty()) refuse("--outputs");
  if (!o.rename_inputs.empty()) refuse("--rename-inputs");
  if (!o.rename_outputs.empty()) refuse("--rename-outputs");
  if (!o.output_frozen_graph.empty()) refuse("--output-frozen-graph");
  if (!o.concrete_function.empty()) refuse("--concrete-function");
  std::error_code none;
  if (output.ends_with('/') || std::filesystem::is_directory(output, none))
    fail(Code::bad_option, "--output: '" + output + "' is a directory",
         "name a file: " + (std::filesystem::path(output) / "model.onnx").string());
  if (output == "-")
    fail(Code::bad_option, "several models cannot go to standard output", "give --output a file's name");
  const std::size_t place = output.rfind(kPlace), slash = output.rfind('/');
  if (place != std::string::npos && slash != std::string::npos && place < slash)
    fail(Code::bad_option,
         "--output: " + std::string(kPlace) + " must be in the file's name, not its folder's",
         "the models share one file of weights, which is in the same folder");
}

bool is_there(const std::vector<ModelSignature>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const ModelSignature& s) { return s.name == name; });
}

std::vector<std::string> chosen(const Options& o, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  if (o.signature != kAll) {
    for (const std::string& name : split_names(o.signature))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    return names;
  }
  const std::vector<ModelSignature> all = format_of(o).look(o)->signatures();
  if (all.empty())
    fail(Code::bad_option, o.model + " has no signatures", "name its tensors with --inputs and --outputs");
  for (const ModelSignature& s : all) {
    if (!s.outputs.empty())
      names.push_back(s.name);
    else
      diagnostics.push_back({Severity::note, Code::bad_option,
                             "the signature '" + s.name + "' has no outputs and is left out"});
  }
  if (names.empty())
    fail(Code::bad_option, "no signature of " + o.model + " has outputs", "name outputs with --outputs");
  return names;
}

// Links lead to other names of a file.
std::string resolved(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code none;
  std::filesystem::path p = std::filesystem::absolute(path, none);
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(p, none); ++i)
    p = p.parent_path() / std::filesystem::read_symlink(p, none);
  return std::filesystem::weakly_canonical(p, none).string();
}

void check_paths(const std::vector<SignatureExport>& exports, const std::string& data) {
  std::set<std::string> seen = {resolved(data)};
  for (const SignatureExport& e : exports)
    if (!seen.insert(resolved(e.path)).second)
      fail(Code::bad_option,
           "the model of the signature '" + e.signature + "' would be written to '" + e.path +
               "', which another file of this conversion needs",
           "give --output another name");
}

}  // namespace

// A name may have a comma, and be "all".
bool names_several_signatures(const Options& o) {
  if (o.signature != kAll && split_names(o.signature).size() < 2) return false;
  bool several = true;
  Diagnostics ignored;  // the conversion reports what is wrong with the model
  collect(ignored, [&] { several = !is_there(format_of(o).look(o)->signatures(), o.signature); });
  return several;
}

std::string path_of_signature(const std::string& output, const std::string& signature) {
  return with_place_filled(output, as_file_name(signature));
}

std::string shared_data_path(const std::string& output) {
  const bool has_place = output.rfind(kPlace) != std::string::npos;
  return (has_place ? with_place_filled(output, "shared") : output) + ".data";
}

std::vector<SignatureExport> convert_signatures(const Options& o, const std::string& output,
                                                Diagnostics& diagnostics, Meter* meter) {
  std::vector<SignatureExport> exports;
  const bool ok = collect(diagnostics, [&] {
    check_options(o, output);
    for (const std::string& name : chosen(o, diagnostics)) {
      SignatureExport& e =
          exports.emplace_back(SignatureExport{name, path_of_signature(output, name), o, {}});
      e.options.signature = name;
    }
    check_paths(exports, shared_data_path(output));
  });
  if (!ok) return {};
  for (SignatureExport& e : exports) {
    e.conversion = convert(e.options, meter);
    for (Diagnostic d : e.conversion.diagnostics) {
      d.message = "signature '" + e.signature + "': " + d.message;
      diagnostics.push_back(std::move(d));
    }
  }
  return exports;
}

Diagnostics write_models(const std::vector<SignatureExport>& exports, const Options& o,
                         const std::string& output, onnx::Written* written, Meter* meter) {
  Diagnostics diagnostics;
  try {
    collect(diagnostics, [&] {
      std::vector<onnx::ModelFile> files;
      for (const SignatureExport& e : exports)
        files.push_back({e.conversion.graph.get(), model_info(e.conversion, e.options), e.path});
      std::vector<std::string> paths;
      for (const SignatureExport& e : exports) paths.push_back(e.path);
      const std::string data = shared_data_path(output);
      const StaleModels stale(output, data);
      const onnx::Written sizes = onnx::write_files(files, data, o.external_data, meter);
      if (written) *written = sizes;
      if (sizes.data_bytes != 0) diagnostics = stale.warnings(paths);
    });
  } catch (const std::exception& e) {
    diagnostics.push_back(diagnostic_of(e));
  }
  return diagnostics;
}

}  // namespace t2o
