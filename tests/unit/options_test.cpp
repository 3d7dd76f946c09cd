#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "option_text.h"
#include "tf2onnx/c_api.h"
#include "tf2onnx/tf2onnx.h"

// Each option is a member of Options, and has a name for the command line, set_option and tf2onnx_options_set alike.
namespace t2o {
namespace {

using tf2onnx::Options;

// All members. A new one does not compile before it is here, and then it needs an option that sets it.
auto members(const Options& o) {
  const auto& [model, format, inputs, outputs, signature, tags, concrete_function, rename_inputs, rename_outputs, use_graph_names,
               ignore_default, use_default, inputs_as_nchw, outputs_as_nchw, opset, ir_version, target_runtime, fidelity, layout, targets,
               custom_ops, extra_opsets, stateful_io, complex_as_pairs, dequantize, quantize_mode, external_data, node_metadata, doc_string,
               output_frozen_graph, reference_kernels, dump_after, trace_match, without, rewriter_order, check_phases] = o;
  return std::tie(model, format, inputs, outputs, signature, tags, concrete_function, rename_inputs, rename_outputs, use_graph_names,
                  ignore_default, use_default, inputs_as_nchw, outputs_as_nchw, opset, ir_version, target_runtime, fidelity, layout, targets,
                  custom_ops, extra_opsets, stateful_io, complex_as_pairs, dequantize, quantize_mode, external_data, node_metadata, doc_string,
                  output_frozen_graph, reference_kernels, dump_after, trace_match, without, rewriter_order, check_phases);
}
constexpr std::size_t kMembers = std::tuple_size_v<decltype(members(Options()))>;

// The members that differ from an option's default, by number.
std::vector<std::size_t> changed(const Options& o) {
  const Options plain;
  const auto a = members(o), b = members(plain);
  std::vector<std::size_t> numbers;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((std::get<I>(a) != std::get<I>(b) ? numbers.push_back(I) : void()), ...);
  }(std::make_index_sequence<kMembers>());
  return numbers;
}

// A value that is not the default.
std::string value_for(const OptionRow& row) {
  static const std::map<std::string_view, std::string> values = {{"format", "graphdef"}, {"opset", "18"}, {"ir-version", "8"},
                                                                 {"target-runtime", "any"}, {"fidelity", "strict"}, {"layout", "nhwc"}, {"target", "rs4"},
                                                                 {"reference-kernels", "builtin"}, {"quantize-mode", "qdq"}};
  if (const auto found = values.find(row.name); found != values.end()) return found->second;
  return row.value.empty() ? "true" : row.value.front() == '[' ? "always" : "a";
}

TEST(Options, EachHasOneNameInEachLanguage) {
  std::vector<std::size_t> times(kMembers);
  for (const OptionRow& row : option_rows()) {
    const std::string name(row.name), value = value_for(row);
    Options o;
    std::string why;
    EXPECT_TRUE(tf2onnx::set_option(o, name, value, &why)) << name << ": " << why;
    const std::vector<std::size_t> set = changed(o);
    ASSERT_EQ(set.size(), 1u) << "--" << name << " sets one member";
    ++times[set[0]];
    tf2onnx_options* c = tf2onnx_options_new();
    EXPECT_EQ(tf2onnx_options_set(c, name.c_str(), value.c_str(), nullptr), TF2ONNX_OK) << name;
    tf2onnx_options_free(c);
  }
  EXPECT_EQ(times[0], 0u) << "the model is an argument of the command line, and of C's functions";
  for (std::size_t i = 1; i < kMembers; ++i) EXPECT_EQ(times[i], 1u) << "no option, or several, set member " << i;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// As a word of its own: "--inputs" is no part of "--inputs-as-nchw".
bool names(const std::string& text, const std::string& option) {
  for (std::size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + 1)) {
    const std::size_t end = at + option.size();
    if (end == text.size() || (!std::isalnum(static_cast<unsigned char>(text[end])) && text[end] != '_' && text[end] != '-')) return true;
  }
  return false;
}

TEST(Options, EachIsOnTheCommandLineAndInItsDocument) {
  std::string document = content(T2O_SOURCE_DIR "/docs/cli.md");  // that it is the program's own, a test of the program says
  document = document.substr(document.find("\n## convert"));
  document = document.substr(0, document.find("\n## ", 1));
  for (const OptionRow& row : option_rows())
    EXPECT_EQ(names(document, "--" + std::string(row.name)), row.group != OptionGroup::hidden)
        << row.name << ": `tf2onnx-cpp man` lists it, or it is hidden";
}

}  // namespace
}  // namespace t2o
