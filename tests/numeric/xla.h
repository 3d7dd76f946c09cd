#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness.h"
#include "tf/text_proto.h"

namespace t2o::numeric {

// A serialized message of numbers, which an attribute holds: each field with what it has.
inline std::string message(const std::vector<std::pair<int, Ints>>& fields) {
  std::string bytes;
  for (const auto& [field, numbers] : fields)
    for (const std::int64_t n : numbers) bytes += {static_cast<char>(field << 3), static_cast<char>(n)};
  return bytes;
}

// A function of one line: "AddV2 a0 a1" makes one value of scalars of a type.
struct Function {
  std::string name;
  int arguments;
  DType type;
  std::vector<std::string> nodes;    // "name Op input input", the type in each node's attribute T
  std::vector<std::string> results;  // what they are: "name", or an argument
  std::string result_type = {};      // of the results, in TensorFlow's spelling; empty: the arguments'
};

inline std::string type_name(DType t) {
  switch (t) {
    case f32: return "DT_FLOAT";
    case f64: return "DT_DOUBLE";
    case f16: return "DT_HALF";
    case i32: return "DT_INT32";
    case i64: return "DT_INT64";
    case u32: return "DT_UINT32";
    case boolean: return "DT_BOOL";
    default: return "DT_INVALID";
  }
}

inline std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> w(1);
  for (const char ch : line)
    if (ch == ' ') w.emplace_back();
    else w.back() += ch;
  return w;
}

// Nodes of bools need no T; that of a comparison is named z, as that of most is.
inline void add_function(Builder& b, const Function& f) {
  const std::string type = type_name(f.type == any ? b.dtype() : f.type);
  std::string text = "library { function { signature { name: '" + f.name + "'";
  for (int i = 0; i < f.arguments; ++i) text += " input_arg { name: 'a" + std::to_string(i) + "' type: " + type + " }";
  for (std::size_t i = 0; i < f.results.size(); ++i)
    text += " output_arg { name: 'r" + std::to_string(i) + "' type: " + (f.result_type.empty() ? type : f.result_type) + " }";
  text += " }";
  const auto source = [](const std::string& v) { return v[0] == 'a' && v.size() == 2 ? v : v.starts_with("select") ? v + ":output:0" : v + ":z:0"; };
  for (const std::string& line : f.nodes) {
    const auto w = words(line);
    text += " node_def { name: '" + w[0] + "' op: '" + w[1] + "'";
    for (std::size_t i = 2; i < w.size(); ++i) text += " input: '" + source(w[i]) + "'";
    if (!w[1].starts_with("Logical")) text += " attr { key: 'T' value { type: " + type + " } }";
    text += " }";
  }
  for (std::size_t i = 0; i < f.results.size(); ++i) text += " ret { key: 'r" + std::to_string(i) + "' value: '" + source(f.results[i]) + "' }";
  const std::string binary = tf::graph_def_from_text(text + " } }", "test");
  b.graph().import(std::as_bytes(std::span(binary)));
}

// "add" and the like: Op of two elements.
inline engines::TfFunction combiner(Builder& b, const std::string& op, DType type = any) {
  const std::string name = "combine_" + op;
  if (op == "second") add_function(b, {name, 2, type, {}, {"a1"}});
  else add_function(b, {name, 2, type, {"op " + op + " a0 a1"}, {"op"}});
  return {name};
}

}  // namespace t2o::numeric
