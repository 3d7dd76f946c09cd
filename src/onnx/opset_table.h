#pragma once
#include <span>
#include <string>
#include <string_view>

namespace t2o::onnx {

struct OpsetRow {
  int opset;
  int ir_version;
  int ml_opset;               // ai.onnx.ml of the same release
  std::string_view release;   // ONNX release that brought it
};

std::span<const OpsetRow> opset_table();     // 1 .. 28
const OpsetRow& opset_row(int opset);        // throws ConversionError for one that is not there
constexpr int kLowestOpset = 11, kHighestOpset = 28, kDefaultOpset = 21;  // of those we map to
constexpr int kHighestOrtOpset = 26;  // that ONNX Runtime 1.31 loads

// What the exported model is made for.
struct Target {
  int opset = kDefaultOpset;
  int ml_opset = 5;
  int ir_version = 10;
  std::string runtime = "ort-1.31";  // operators without a kernel there are avoided; "any": the standard alone
  bool for_ort() const { return runtime.starts_with("ort"); }
};
Target make_target(int opset, std::string runtime = "ort-1.31");
std::string not_loadable(int opset);  // what is wrong with one above kHighestOrtOpset

std::string opset_table_markdown();  // of the opsets we map to, for docs and `opsets --markdown`

}  // namespace t2o::onnx
