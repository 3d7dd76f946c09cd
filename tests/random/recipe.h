#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engines/tensorflow.h"
#include "tests/support/differential.h"

// A random graph as data: it can be built in each shape mode, printed, and made smaller.
namespace t2o::random_graphs {

struct Ref {  // one result of one step
  std::size_t step = 0;
  int output = 0;
  bool operator==(const Ref&) const = default;
};

struct In {  // an input of an op: one tensor, or a list of them
  In(Ref r) : refs{r} {}
  In(std::vector<Ref> list) : refs(std::move(list)), is_list(true) {}
  std::vector<Ref> refs;
  bool is_list = false;
};

enum class Kind : std::uint8_t { fed, constant, argument, op };

struct Recipe;
using Body = std::shared_ptr<const Recipe>;

struct Step {
  Kind kind = Kind::op;
  std::string name = {};  // unique in its recipe; stays when others go
  std::string op = {};
  std::vector<In> inputs = {};
  std::vector<engines::TfAttr> attrs = {};
  std::vector<std::pair<std::string, Body>> bodies = {};  // attributes that are functions
  TensorPtr value = nullptr;                              // fed, constant, argument: an example
  std::vector<TensorPtr> results = {};                    // what TensorFlow computes
  std::vector<std::vector<double>> errors = {};  // of each element, what rounding may do; empty: nothing
  std::vector<std::vector<double>> loose = {};   // ... where what is exact here is computed together with what follows
};

struct Recipe {
  std::vector<Step> steps;
  std::vector<Ref> outputs;
  bool special = false;  // values that are NaN, infinite, denormal or empty, or casts and shifts that C++ leaves open
  const TensorPtr& tensor(Ref r) const { return steps[r.step].results[static_cast<std::size_t>(r.output)]; }
};

struct Built {
  engines::TfGraph graph;
  engines::Feeds feeds;
  Strings outputs;
};

// Throws ConversionError where TensorFlow does not take it.
Built build(const Recipe&, test::Mode);

std::string tensor_name(const Recipe&, Ref);
void add_step(engines::TfGraph&, const Recipe&, const Step&, test::Mode);  // with the functions that it calls

// Conditionals and loops as TensorFlow 1 has them, out of Switch, Merge, Enter ...: "NodesIf" and "NodesWhile", whose bodies
// and inputs are those of If and While. Their bodies have none of either.
inline bool is_drawn_in_nodes(const Step& s) { return s.op == "NodesIf" || s.op == "NodesWhile"; }
void add_in_nodes(engines::TfGraph&, const Recipe&, const Step&);

// Without steps that no output needs.
Recipe pruned(const Recipe&);
std::size_t count_ops(const Recipe&);  // bodies too
bool has_op(const Recipe&, std::string_view op);

std::string to_text(const Recipe&);

// A file for `tf2onnx-cpp verify --input-data x=FILE.pb`.
std::string tensor_proto(const Tensor&, const std::string& name);

}  // namespace t2o::random_graphs
