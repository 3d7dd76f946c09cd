#include "whole_way.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

#include "ir/text.h"
#include "pipeline.h"
#include "report.h"

namespace t2o::golden {
namespace {

const fs::path kSource = T2O_SOURCE_DIR;

Options options_of(int opset, const Rewriters& rewriters) {
  Options o;
  o.opset = opset;
  o.without = rewriters.without;
  o.rewriter_order = rewriters.order;
  o.check_phases = rewriters.without.empty();
  return o;
}

std::string errors_of(const Conversion& c) {
  std::string text;
  for (const Diagnostic& d : c.diagnostics)
    if (d.severity == Severity::error) text += to_string(d) + "\n";
  return text;
}

bool is_model(const fs::path& p) {
  if (fs::is_directory(p)) return fs::exists(p / "saved_model.pb") || fs::exists(p / "saved_model.pbtxt");
  const std::string extension = p.extension().string();
  if (extension == ".tflite") return true;
  return (extension == ".pb" || extension == ".pbtxt" || extension == ".meta") && p.stem() != "saved_model" &&
         p.stem() != "fingerprint";
}

// An error, whatever folder the sources are in.
std::string first_error(const Conversion& c) {
  std::string text = errors_of(c);
  text = text.substr(0, text.find('\n'));
  const std::string folder = kSource.string() + "/";
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder))
    text.erase(at, folder.size());
  return text;
}

fs::path histogram_file() { return kSource / "tests/golden/histograms.txt"; }

}  // namespace

std::string whole_way(const File& f, const Case& c, const Rewriters& rewriters) {
  std::string text;
  for (const int opset : c.opsets) {
    Options o = options_of(opset, rewriters);
    o.target_runtime = c.runtime;
    o.fidelity = c.strict ? tf2onnx::Fidelity::strict : tf2onnx::Fidelity::plain;
    o.layout = c.layout;
    o.quantize_mode = c.quantize_mode;
    const Conversion conversion = convert(o, parsed(f, c));
    text += "opset " + std::to_string(opset) + "\n";
    text += conversion.ok() ? ir::to_text(*conversion.graph()) : errors_of(conversion);
  }
  return text;
}

std::vector<Model> models_below(const fs::path& folder, const fs::path& relative_to) {
  std::map<std::string, std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (is_model(entry.path()))
      paths[fs::relative(entry.path(), relative_to).generic_string()] = entry.path().string();
  std::vector<Model> models;
  for (const auto& [name, path] : paths) models.push_back({name, path});
  return models;
}

std::vector<Model> sample_models() {
  std::vector<Model> models = models_below(kSource / "models", kSource);
  for (Model& m : models_below(kSource / "tests/data", kSource)) models.push_back(std::move(m));
  return models;
}

const std::vector<int>& histogram_opsets() {
  static const std::vector<int> opsets = {13, 18, 23};
  return opsets;
}

std::string histogram(const Model& model, int opset, const Rewriters& rewriters) {
  Options o = options_of(opset, rewriters);
  o.model = model.path;
  o.complex_as_pairs = true;
  const Conversion c = convert(o);
  if (!c.ok()) return "refused: " + first_error(c);
  const auto operators = report_on(*c.graph(), c.target).operators;
  const std::map<std::string, std::size_t> counts(operators.begin(), operators.end());
  std::string text;
  for (const auto& [op, count] : counts)
    text += (text.empty() ? "" : ", ") + op + " " + std::to_string(count);
  return text;
}

std::string histogram_key(const Model& model, int opset) { return model.name + " @" + std::to_string(opset); }

Histograms read_histograms() {
  Histograms all;
  std::ifstream in(histogram_file());
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with("//")) continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("histograms.txt: no ': ' in '" + line + "'");
    all.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return all;
}

void write_histograms(const Histograms& all) {
  std::ofstream out(histogram_file());
  out << "// How often each operator stands in the exports of the sample models, by opset.\n"
         "// UPDATE_GOLDENS=1 build/release/tests/golden_tests --gtest_filter='Histograms.*' writes it "
         "anew.\n";
  for (const auto& [key, text] : all) out << key << ": " << text << "\n";
}

}  // namespace t2o::golden
