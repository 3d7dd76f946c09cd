#pragma once
#include <span>
#include <string>
#include <string_view>

namespace t2o::onnx {

struct OpsetRow {
  int opset;
  int ir_version;
  int ml_opset;               // ai.onnx.ml of the same release
  std::string_view release;   // the ONNX release that introduced it
};

std::span<const OpsetRow> opset_table();     // 1 .. 28
const OpsetRow& opset_row(int opset);        // throws ConversionError if there is none
constexpr int kLowestOpset = 11, kHighestOpset = 28, kDefaultOpset = 21;  // the opsets that this program exports
constexpr int kHighestOrtOpset = 26;  // the highest that ONNX Runtime 1.31 loads

// The target of an export.
struct Target {
  int opset = kDefaultOpset;
  int ml_opset = 5;
  int ir_version = 10;
  std::string runtime = "ort-1.31";  // the export avoids operators without a kernel in it; "any": the standard alone
  bool strict = false;               // --fidelity strict: TensorFlow's results for NaN, infinities, denormals and nothing, too
  bool for_ort() const { return runtime.starts_with("ort"); }
};
Target make_target(int opset, std::string runtime = "ort-1.31", bool strict = false);
std::string not_loadable(int opset);  // the error for an opset above kHighestOrtOpset

std::string opset_table_markdown();  // the exported opsets, for docs and `opsets --markdown`

}  // namespace t2o::onnx
