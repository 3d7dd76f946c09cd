#include "signatures.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "option_text.h"

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
  std::ranges::replace(name, '/', '_');
  return name;
}

void check_options(const Options& o) {
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
}

void check_output(const std::string& output) {
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

Strings all_with_outputs(const Options& o, const std::vector<ModelSignature>& all, Diagnostics& diagnostics) {
  if (all.empty())
    fail(Code::bad_option, o.model + " has no signatures", "name its tensors with --inputs and --outputs");
  Strings names;
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

}  // namespace

bool may_name_several(const Options& o) { return o.signature == kAll || split_names(o.signature).size() > 1; }

// A name may have a comma, and be "all".
std::optional<Strings> named_signatures(const Options& o, const Source& source, Diagnostics& diagnostics) {
  if (!may_name_several(o)) return std::nullopt;
  const std::vector<ModelSignature> all = source.signatures();
  if (std::ranges::any_of(all, [&](const ModelSignature& s) { return s.name == o.signature; }))
    return std::nullopt;
  check_options(o);
  if (o.signature == kAll) return all_with_outputs(o, all, diagnostics);
  Strings names;
  for (const std::string& name : split_names(o.signature))
    if (!contains(names, name)) names.push_back(name);
  return names;
}

std::string graph_name(const Options& o, bool is_several) {
  if (o.model.empty()) return "";
  std::error_code none;
  std::filesystem::path p = std::filesystem::absolute(o.model, none).lexically_normal();
  if (!p.has_filename()) p = p.parent_path();  // "folder/"
  if (p.stem() == "saved_model" && p.has_extension()) p = p.parent_path();
  const std::string name = std::filesystem::is_directory(p, none) ? p.filename().string() : p.stem().string();
  return is_several ? name + "." + o.signature : name;
}

OutputFiles output_files(const Conversion& c, const std::string& output) {
  if (!c.is_several) return {{output}, output + ".data"};
  check_output(output);
  const bool has_place = output.rfind(kPlace) != std::string::npos;
  OutputFiles files = {{}, (has_place ? with_place_filled(output, "shared") : output) + ".data"};
  std::set<std::string> seen = {resolved(files.data)};
  for (const ir::ModelGraph& g : c.model.graphs) {
    const std::string& path = files.models.emplace_back(with_place_filled(output, as_file_name(g.name)));
    if (!seen.insert(resolved(path)).second)
      fail(Code::bad_option,
           "the model of the signature '" + g.name + "' would be written to '" + path +
               "', which another file of this conversion needs",
           "give --output another name");
  }
  return files;
}

}  // namespace t2o
