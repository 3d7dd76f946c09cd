#include "cli/graph_def_maker.h"

namespace t2o::test {

std::string varint(std::uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out + static_cast<char>(v);
}

std::string number(int field, std::int64_t v) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(v));
}

std::string bytes(int field, const std::string& content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

namespace {

std::string shape(const std::vector<std::int64_t>& dims) {
  std::string out;
  for (const std::int64_t d : dims) out += bytes(2, number(1, d));
  return out;
}

}  // namespace

Attribute type_attr(const std::string& name, int dtype) { return {name, number(6, dtype)}; }
Attribute shape_attr(const std::string& name, const std::vector<std::int64_t>& dims) {
  return {name, bytes(7, shape(dims))};
}
Attribute int_attr(const std::string& name, std::int64_t v) { return {name, number(3, v)}; }
Attribute function_attr(const std::string& name, const std::string& f) {
  return {name, bytes(10, bytes(1, f))};
}

Attribute types_attr(const std::string& name, const std::vector<int>& dtypes) {
  std::string list;
  for (const int t : dtypes) list += number(6, t);
  return {name, bytes(1, list)};
}

Attribute tensor_attr(const std::string& name, int dtype, const std::vector<std::int64_t>& dims,
                      const std::string& content) {
  return {name, bytes(8, number(1, dtype) + bytes(2, shape(dims)) + bytes(4, content))};
}

std::string node(const std::string& name, const std::string& op, const Names& inputs,
                 const std::vector<Attribute>& attrs) {
  std::string out = bytes(1, name) + bytes(2, op);
  for (const std::string& input : inputs) out += bytes(3, input);
  for (const auto& [key, value] : attrs) out += bytes(5, bytes(1, key) + bytes(2, value));
  return out;
}

std::string placeholder(const std::string& name, const std::vector<std::int64_t>& dims) {
  return node(name, "Placeholder", {}, {type_attr("dtype", kFloat), shape_attr("shape", dims)});
}

std::string unary(const std::string& name, const std::string& op, const std::string& input) {
  return node(name, op, {input}, {type_attr("T", kFloat)});
}

std::string constant(const std::string& name, const std::vector<std::int64_t>& dims,
                     const std::string& content) {
  return node(name, "Const", {}, {type_attr("dtype", kFloat), tensor_attr("value", kFloat, dims, content)});
}

std::string function(const std::string& name, const std::vector<std::string>& body_nodes,
                     const std::string& result) {
  const auto arg = [](const std::string& arg_name) { return bytes(1, arg_name) + number(3, kFloat); };
  std::string out = bytes(1, bytes(1, name) + bytes(2, arg("arg")) + bytes(3, arg("result")));
  for (const std::string& n : body_nodes) out += bytes(3, n);
  return out + bytes(4, bytes(1, "result") + bytes(2, result));
}

std::string call(const std::string& name, const std::string& called, const std::string& input) {
  return node(name, "PartitionedCall", {input},
              {types_attr("Tin", {kFloat}), types_attr("Tout", {kFloat}), function_attr("f", called)});
}

std::string graph_def(const std::vector<std::string>& nodes, const std::vector<std::string>& functions) {
  std::string out;
  for (const std::string& n : nodes) out += bytes(1, n);
  std::string library;
  for (const std::string& f : functions) library += bytes(1, f);
  if (!library.empty()) out += bytes(2, library);
  return out + bytes(4, number(1, 1994));
}

std::string relu_model() { return graph_def({placeholder("x"), unary("y", "Relu", "x")}); }

std::string chain_model(const std::string& op, int length) {
  std::vector<std::string> nodes = {placeholder("x")};
  for (int i = 0; i < length; ++i)
    nodes.push_back(unary("n" + std::to_string(i), op, i == 0 ? "x" : "n" + std::to_string(i - 1)));
  return graph_def(nodes);
}

std::string calls_model(int depth) {
  std::vector<std::string> functions;
  for (int i = 0; i + 1 < depth; ++i)
    functions.push_back(function("f" + std::to_string(i), {call("inner", "f" + std::to_string(i + 1), "arg")},
                                 "inner:output:0"));
  functions.push_back(
      function("f" + std::to_string(depth - 1), {unary("last", "Relu", "arg")}, "last:activations:0"));
  return graph_def({placeholder("x"), call("y", "f0", "x")}, functions);
}

std::string branches_model(int depth) {
  std::vector<std::string> functions;
  const auto branch = [](const std::string& name, const std::string& inside, const std::string& input) {
    return node(name, "StatelessIf", {input, input},
                {type_attr("Tcond", kFloat), types_attr("Tin", {kFloat}), types_attr("Tout", {kFloat}),
                 function_attr("then_branch", inside), function_attr("else_branch", "last")});
  };
  for (int i = 0; i + 1 < depth; ++i)
    functions.push_back(function("f" + std::to_string(i), {branch("inner", "f" + std::to_string(i + 1), "arg")}, "inner:output:0"));
  functions.push_back(function("f" + std::to_string(depth - 1), {unary("relu", "Relu", "arg")}, "relu:activations:0"));
  functions.push_back(function("last", {unary("neg", "Neg", "arg")}, "neg:y:0"));
  return graph_def({placeholder("x", {}), branch("y", "f0", "x")}, functions);
}

std::string loop_model(const std::string& op, int inputs, const std::string& output, int steps) {
  std::vector<std::string> nodes;
  std::string last = "arg";
  for (int i = 0; i < steps; ++i) {
    const std::string name = "n" + std::to_string(i);
    nodes.push_back(node(name, op, Names(static_cast<std::size_t>(inputs), last), {type_attr("T", kFloat)}));
    last = name + ":" + output + ":0";
  }
  const std::string loop = node("y", "While", {"x"}, {types_attr("T", {kFloat}), function_attr("cond", "test"), function_attr("body", "step")});
  return graph_def({placeholder("x", {}), loop}, {function("test", {}, "arg"), function("step", nodes, last)});
}

std::string loops_model(int depth) {
  const auto shape = node("shape", "Const", {}, {type_attr("dtype", kInt32), tensor_attr("value", kInt32, {1}, std::string("\2\0\0\0", 4))});
  const auto axis = node("axis", "Const", {}, {type_attr("dtype", kInt32), tensor_attr("value", kInt32, {}, std::string(4, '\0'))});
  const auto loop = [](const std::string& name, const std::string& input, int step) {
    return node(name, "While", {input}, {types_attr("T", {kFloat}), function_attr("cond", "test"), function_attr("body", "step" + std::to_string(step))});
  };
  const std::vector<Attribute> types = {type_attr("T", kFloat), type_attr("Tshape", kInt32)};
  std::vector<std::string> functions = {function("test", {}, "arg")};
  for (int i = 0; i < depth; ++i) {
    const std::string start = node("start", "Reshape", {"arg", "shape:output:0"}, types);
    std::vector<std::string> nodes = {shape, axis, start};
    if (i + 1 < depth) nodes.push_back(loop("inner", "start:output:0", i + 1));
    const std::string made = i + 1 < depth ? "inner:output:0" : "start:output:0";
    nodes.push_back(node("both", "ConcatV2", {made, made, "axis:output:0"}, {type_attr("T", kFloat), type_attr("Tidx", kInt32), int_attr("N", 2)}));
    functions.push_back(function("step" + std::to_string(i), nodes, "both:output:0"));
  }
  return graph_def({placeholder("x", {2}), loop("y", "x", 0)}, functions);
}

std::string big_model(std::size_t weights) {
  const auto n = static_cast<std::int64_t>(weights / 4);
  std::string content(weights / 4 * 4, '\0');
  for (std::size_t i = 0; i < content.size(); i += 4)
    content[i + 2] = static_cast<char>(i * 2654435761u >> 24);
  return graph_def({placeholder("x", {n}), constant("w", {n}, content),
                    node("y", "AddV2", {"x", "w"}, {type_attr("T", kFloat)})});
}

}  // namespace t2o::test
