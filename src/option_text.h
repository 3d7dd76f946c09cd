#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tf2onnx/options.h"

namespace t2o {

// Every option by its name and as text: what the command line, the C interface and the documentation have in
// common.
enum class OptionGroup : std::uint8_t { model, interface, target, output, verification, debug, hidden };  // hidden: for tests, in no help

struct OptionRow {
  std::string_view name;   // "inputs-as-nchw"
  std::string_view value;  // what stands for it in the help: "NAMES"; empty for a switch
  std::string_view help;
  OptionGroup group;
  void (*set)(tf2onnx::Options&, const std::string& value);  // throws ConversionError, code bad_option
  std::string_view choices = {};  // the values that a shell may complete, with ',' between; empty: anything
};
std::span<const OptionRow> option_rows();

// `name` may be spelt with '_' or '-'. Throws ConversionError for an unknown one, naming the nearest, and for
// a bad value.
void set_option(tf2onnx::Options&, std::string_view name, const std::string& value);

// At the commas that stand outside of brackets: "X:0[1,28,28,3],Y:0" are two. Empty parts are left out.
std::vector<std::string> split_names(std::string_view list);

}  // namespace t2o
