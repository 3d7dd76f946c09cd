#include "onnx/opset_table.h"

#include <array>

#include "diagnostics.h"
#include "onnx/raise_opset.h"

namespace t2o::onnx {
namespace {

// Opsets 2 to 4 had no release of their own.
constexpr std::array<OpsetRow, kHighestOpset> kTable = {{
    {1, 3, 1, "1.0"},      {2, 3, 1, "1.1"},      {3, 3, 1, "1.1"},      {4, 3, 1, "1.1"},
    {5, 3, 1, "1.1"},      {6, 3, 1, "1.1.2"},    {7, 3, 1, "1.2"},      {8, 3, 1, "1.3"},
    {9, 4, 1, "1.4.1"},    {10, 5, 1, "1.5.0"},   {11, 6, 2, "1.6.0"},   {12, 7, 2, "1.7.0"},
    {13, 7, 2, "1.8.0"},   {14, 7, 2, "1.9.0"},   {15, 8, 2, "1.10.0"},  {16, 8, 3, "1.11.0"},
    {17, 8, 3, "1.12.0"},  {18, 8, 3, "1.13.0"},  {19, 9, 3, "1.14.0"},  {20, 9, 4, "1.15.0"},
    {21, 10, 5, "1.16.0"}, {22, 10, 5, "1.17.0"}, {23, 11, 5, "1.18.0"}, {24, 12, 5, "1.19.0"},
    {25, 13, 5, "1.20.0"}, {26, 13, 5, "1.21.0"}, {27, 13, 5, "1.22.0"}, {28, 14, 5, "1.23.0"},
}};

std::string range(int low, int high) { return std::to_string(low) + " to " + std::to_string(high); }

}  // namespace

std::span<const OpsetRow> opset_table() { return kTable; }

const OpsetRow& opset_row(int opset) {
  if (opset < 1 || opset > kHighestOpset)
    fail(Code::bad_option, "there is no ONNX opset " + std::to_string(opset),
         "choose an opset from " + range(kLowestOpset, kHighestOpset));
  return kTable[static_cast<std::size_t>(opset - 1)];
}

Target make_target(int opset, std::string runtime, bool strict) {
  const OpsetRow& row = opset_row(opset);
  if (opset < kLowestOpset)
    fail(Code::bad_option, "opset " + std::to_string(opset) + " is too old to be converted to",
         "choose an opset from " + range(kLowestOpset, kHighestOpset));
  return {row.opset, row.ml_opset, row.ir_version, std::move(runtime), strict};
}

std::string not_loadable(int opset) {
  return "ONNX Runtime 1.31 loads no model of opset " + std::to_string(opset);
}

std::string raise_opset(int opset, const Target& t) {
  const bool is_loaded = !t.for_ort() || opset <= kHighestOrtOpset;
  return "--opset " + std::to_string(opset) +
         (is_loaded ? " or above" : " --target-runtime any, for a runtime that loads such a model");
}

std::string opset_table_markdown() {
  std::string s = "| opset | IR version | ai.onnx.ml | since ONNX |\n|---:|---:|---:|---|\n";
  for (const OpsetRow& r : kTable) {
    if (r.opset < kLowestOpset) continue;
    s += "| " + std::to_string(r.opset) + (r.opset == kDefaultOpset ? " (default)" : "") + " | " +
         std::to_string(r.ir_version) + " | " + std::to_string(r.ml_opset) + " | " + std::string(r.release) +
         " |\n";
  }
  return s;
}

}  // namespace t2o::onnx
