#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Writes GraphDefs byte by byte, wrong ones too; knows nothing of the converter.
namespace t2o::test {

using Names = std::vector<std::string>;
using Attribute = std::pair<std::string, std::string>;  // name, encoded AttrValue

// Fields of the wire format.
std::string varint(std::uint64_t);
std::string number(int field, std::int64_t);
std::string bytes(int field, const std::string& content);

Attribute type_attr(const std::string& name, int dtype);
Attribute shape_attr(const std::string& name, const std::vector<std::int64_t>& dims);
Attribute int_attr(const std::string& name, std::int64_t);
Attribute function_attr(const std::string& name, const std::string& function);
Attribute types_attr(const std::string& name, const std::vector<int>& dtypes);
Attribute tensor_attr(const std::string& name, int dtype, const std::vector<std::int64_t>& dims,
                      const std::string& content);

constexpr int kFloat = 1, kInt32 = 3;

std::string node(const std::string& name, const std::string& op, const Names& inputs,
                 const std::vector<Attribute>& = {});
std::string placeholder(const std::string& name, const std::vector<std::int64_t>& dims = {2, 3});
std::string unary(const std::string& name, const std::string& op, const std::string& input);  // of floats
std::string constant(const std::string& name, const std::vector<std::int64_t>& dims,
                     const std::string& content);
std::string function(const std::string& name, const std::vector<std::string>& body_nodes,
                     const std::string& result);
std::string call(const std::string& name, const std::string& called, const std::string& input);

std::string graph_def(const std::vector<std::string>& nodes, const std::vector<std::string>& functions = {});

std::string relu_model();                                    // x -> Relu 'y'
std::string chain_model(const std::string& op, int length);  // x -> n0 -> n1 ... -> the last
std::string calls_model(int depth);                          // functions that call each other, `depth` deep
std::string branches_model(int depth);                       // conditionals in the branches of each other
// x -> While: its body gives back what `steps` nodes of the op make of x, each of the one before, as all its inputs.
std::string loop_model(const std::string& op, int inputs, const std::string& output, int steps);
// x -> loops in each other's bodies, `depth` deep, of which each begins with two elements and makes more of them.
std::string loops_model(int depth);
std::string big_model(std::size_t weights);                  // x + w, w of that many bytes

}  // namespace t2o::test
