#include "verify/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace t2o::verify {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr std::size_t kMostListed = 12;  // nodes between tensors that agree and one that does not

std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 1, ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::string percent(std::int64_t part, std::int64_t all) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g %%", 100.0 * static_cast<double>(part) / static_cast<double>(all));
  return text;
}

std::string shares(const CodeCount& c) {
  if (c.elements == 0 || c.same == c.elements) return c.elements == 0 ? "" : "identical";
  std::string text =
      percent(c.same, c.elements) + " identical, " + percent(c.one, c.elements) + " one code off";
  if (const std::int64_t more = c.elements - c.same - c.one; more != 0)
    text += ", " + percent(more, c.elements) + " more, at most " + number(c.largest);
  return text;
}

std::string verdict(const Comparison& c) {
  if (!c.ok()) return c.problem + (c.codes ? "; " + shares(*c.codes) : "");
  if (c.elements == 0) return "ok, but empty: nothing was compared";
  return c.codes ? "ok: " + shares(*c.codes) : "ok";
}

std::string verdict(const ComparedTensor& t) {
  if (t.is_random) return "random in the source model itself: type and shape agree, values were not compared";
  if (t.comparison.ok() && t.evidence != Evidence::some && t.evidence != Evidence::empty)
    return "ok, but " + text(t.evidence) + ": proves little";
  if (t.within_rounding) return "ok, within the rounding of larger numbers that cancel";
  if (t.within_spread)
    return verdict(t.comparison) + ", no farther than the runtime's own kernels are from each other";
  return verdict(t.comparison);
}

Row row_of(const std::string& name, const std::string& type, const Comparison& c, std::string verdict) {
  const bool comparable = c.same_dtype && c.same_shape;
  return {name,
          type,
          comparable ? number(c.max_error) : "-",
          comparable ? number(c.mean_error) : "-",
          comparable ? number(c.max_relative) : "-",
          std::move(verdict)};
}

// Where a runtime disagrees with itself.
std::string kernels_text(const ComparedSample& s, const Runtime& r) {
  std::string text;
  for (const ComparedTensor& t : s.outputs) {
    if (!t.other_kernels || t.other_kernels->ok() || t.is_random) continue;
    const Comparison& c = *t.other_kernels;
    text += "  " + r.name + "'s own " + r.other_kernels + " kernels differ from its " + r.kernels +
            " kernels by more than the tolerance in '" + t.name +
            "': " + (c.codes ? shares(*c.codes) : "max error " + number(c.max_error)) + "\n";
  }
  return text;
}

std::string sample_text(const ComparedSample& s, const Runtime& runtime) {
  std::string text = s.label + ":";
  for (const auto& [name, type] : s.inputs) text += "  " + name + " " + type;
  if (!s.problem.empty()) return text + "\n  " + s.problem + "\n";
  std::vector<Row> rows = {{"output", "type", "max error", "mean error", "max relative", "result"}};
  for (const ComparedTensor& t : s.outputs) {
    const std::string type = std::string(name(t.dtype)) + shape_text(t.dims);
    rows.push_back(row_of(t.name, type, t.comparison, verdict(t)));
    if (t.has_data) rows.push_back(row_of("  with the data's", type, t.with_data, verdict(t.with_data)));
  }
  return text + "\n" + aligned(rows) + kernels_text(s, runtime);
}

std::string divergence_text(const Divergence& d) {
  std::string text = std::to_string(d.compared) + " tensors inside were compared";
  if (d.incomparable != 0) text += " (" + std::to_string(d.incomparable) + " have another form there)";
  if (!d.found)
    return text + "; none of them differs: the cause lies between the last of them and the outputs\n";
  text += "; the first that differs:\n  " + d.tensor + ", made by " + d.onnx_op;
  if (!d.source_node.empty()) text += " from " + d.source_op + " '" + d.source_node + "'";
  text += "\n  " + d.comparison.problem + "\n  max error " + number(d.comparison.max_error) +
          ", mean error " + number(d.comparison.mean_error) + "\n";
  for (std::size_t i = 1; i < d.between.size() && i <= kMostListed; ++i)
    text += "  together with " + d.between[i].op + " '" + d.between[i].name + "'\n";
  if (d.between.size() > kMostListed + 1)
    text += "  and " + std::to_string(d.between.size() - kMostListed - 1) + " nodes more\n";
  for (const std::string& w : d.weights) text += "  with weights that are not the source's: " + w + "\n";
  for (const std::string& in : d.inputs) text += "  reads " + in + ", which agrees\n";
  return text;
}

Json json_of(const Comparison& c) {
  Json j = {{"ok", c.ok()},
            {"same_dtype", c.same_dtype},
            {"same_shape", c.same_shape},
            {"elements", c.elements},
            {"mismatches", c.mismatches},
            {"max_error", c.max_error},
            {"mean_error", c.mean_error},
            {"max_relative_error", c.max_relative}};
  if (!c.ok()) j["problem"] = c.problem;
  if (c.codes)
    j["codes"] = {{"identical", c.codes->same},
                  {"one_off", c.codes->one},
                  {"more", c.codes->elements - c.codes->same - c.codes->one},
                  {"largest", c.codes->largest}};
  return j;
}

Json json_of(const ComparedSample& s) {
  Json inputs = Json::array(), outputs = Json::array();
  for (const auto& [name, type] : s.inputs) inputs.push_back({{"name", name}, {"type", type}});
  for (const ComparedTensor& t : s.outputs) {
    Json j = {{"name", t.name}, {"dtype", name(t.dtype)}, {"shape", t.dims}};
    j.update(json_of(t.comparison));
    if (t.is_random) j["random"] = true;
    if (t.evidence != Evidence::some) j["proves_little"] = text(t.evidence);
    if (t.within_rounding) j["within_rounding"] = true;
    if (t.within_spread) j["within_spread"] = true;
    if (t.other_kernels) j["other_kernels"] = json_of(*t.other_kernels);
    if (t.has_data) j["with_data"] = json_of(t.with_data);
    outputs.push_back(std::move(j));
  }
  Json j = {{"label", s.label}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
  if (!s.problem.empty()) j["problem"] = s.problem;
  return j;
}

Json json_of(const Divergence& d) {
  Json j = {{"compared", d.compared}, {"incomparable", d.incomparable}, {"found", d.found}};
  if (!d.found) return j;
  j["tensor"] = d.tensor;
  j["onnx_op"] = d.onnx_op;
  j["source_node"] = d.source_node;
  j["source_op"] = d.source_op;
  j["between"] = Json::array();
  for (const Divergence::Node& n : d.between) j["between"].push_back({{"op", n.op}, {"node", n.name}});
  j["inputs"] = d.inputs;
  if (!d.weights.empty()) j["weights"] = d.weights;
  j["comparison"] = json_of(d.comparison);
  return j;
}

std::string special_text(const SpecialReport& r) {
  std::string text = std::string("special values, exported with --fidelity ") +
                     (r.level.strict ? "strict" : "plain") +
                     (r.level.any ? " and --target-runtime any" : "") + ":\n";
  if (!r.problem.empty()) text += "  not compared: " + r.problem + "\n";
  if (r.problem.empty() && r.results.empty()) text += "  no input takes any\n";
  return r.results.empty() ? text : text + aligned(rows(r)) + details(r);
}

std::string title(const Runtime& r) {
  return r.name + " " + r.version + (r.kernels.empty() ? "" : " (" + r.kernels + " kernels)");
}

Json json_of(const Runtime& r) {
  Json j = {{"name", r.name}, {"version", r.version}};
  if (!r.kernels.empty()) j["kernels"] = r.kernels;
  return j;
}

constexpr std::string_view kCodesText =
    "quantized outputs in codes: 99.9 % within one, none off by more than 4 (16 bits: 16 and 64)\n";
constexpr std::string_view kDequantizedText =
    "outputs of a dequantized model in codes of the source: 99 % within 8, none off by more than 32 (16 "
    "bits: "
    "512 and 2048)\n";

}  // namespace

std::string to_text(const VerifyReport& r) {
  std::string text =
      title(r.runtime) + " against ONNX Runtime " + r.onnxruntime_version + ", rtol " +
      number(r.tolerance.relative) + ", atol " + number(r.tolerance.absolute) +
      (!r.tolerance_reason.empty() ? " (times an output's largest number)\n" + r.tolerance_reason + "\n"
       : r.tolerance.by_scale      ? " (times an output's largest number where that is below 1)\n"
                                   : "\n");
  if (r.in_codes) text += r.is_dequantized ? kDequantizedText : kCodesText;
  if (!r.cpu.empty()) text += r.cpu + "\n";
  for (const ComparedSample& s : r.samples) text += sample_text(s, r.runtime);
  if (r.special) text += special_text(*r.special);
  for (const std::string& note : r.notes) text += note + "\n";
  if (r.divergence) text += divergence_text(*r.divergence);
  if (!r.bisect_problem.empty()) text += "bisecting was not possible: " + r.bisect_problem + "\n";
  return text;
}

Json to_json(const VerifyReport& r) {
  Json j = {{"ok", r.ok()},
            {"reference", json_of(r.runtime)},
            {"onnxruntime", r.onnxruntime_version},
            {"rtol", r.tolerance.relative},
            {"atol", r.tolerance.absolute},
            {"atol_by_scale", r.tolerance.by_scale},
            {"samples", Json::array()}};
  if (r.runtime.name == "TensorFlow") j["tensorflow"] = r.runtime.version;
  if (!r.cpu.empty()) j["cpu"] = r.cpu;
  if (!r.tolerance_reason.empty()) j["tolerance_reason"] = r.tolerance_reason;
  for (const ComparedSample& s : r.samples) j["samples"].push_back(json_of(s));
  if (r.special) j["special_values"] = to_json(*r.special);
  for (const Warning& w : r.warnings) j["warnings"].push_back(w.text);
  if (!r.notes.empty()) j["notes"] = r.notes;
  if (r.divergence) j["bisect"] = json_of(*r.divergence);
  if (!r.bisect_problem.empty()) j["bisect_problem"] = r.bisect_problem;
  return j;
}

}  // namespace t2o::verify
