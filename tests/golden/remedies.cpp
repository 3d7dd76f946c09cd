#include "tests/golden/remedies.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "op_mappers/custom_ops.h"
#include "op_mappers/map_ops.h"
#include "option_text.h"
#include "tests/support/remedies.h"
#include "tf/inner_cut.h"

namespace t2o::golden {
namespace {

constexpr int kHighestRank = 5;
constexpr Dim kSize = 8;

struct Attempt {
  std::string text;
  onnx::Target target;
  std::vector<std::string> custom_ops;
  tf::ImportRequest cut;
  std::vector<std::string> shapes;  // "x[...]", "x[?,3]"
};

// "x[?,3]": the input of the graph with a size for each that is not known, and this rank where none is.
void give_shape(ir::Graph& g, const std::string& spec, int rank) {
  const std::size_t open = spec.find('[');
  for (Value* v : g.inputs()) {
    if (v->name() != spec.substr(0, open) || open == std::string::npos) continue;
    Ints dims = v->shape().ranked() ? v->shape().dims() : Ints(static_cast<std::size_t>(rank), kSize);
    std::replace_if(
        dims.begin(), dims.end(), [](Dim d) { return !is_known(d); }, kSize);
    g.set_type(v, v->dtype(), Shape(std::move(dims)));
  }
}

// The errors that there are now.
Diagnostics outcome(const Attempt& a, int rank) {
  const GraphPtr g = ir::parse_graph(a.text, "remedy");
  Diagnostics found;
  for (const std::string& s : a.shapes) give_shape(*g, s, rank);
  if (a.cut.cuts_inside()) tf::cut_inside(*g, a.cut, found);
  ConversionRegistry registry(a.target);
  registry.add_overlay(custom_rows(a.custom_ops, found));
  if (!has_errors(found)) map_ops(*g, registry, found);
  std::erase_if(found, [](const Diagnostic& d) { return d.severity != Severity::error; });
  return found;
}

// False: nobody knows how to do it.
bool apply(Attempt& a, const test::Asked& asked) {
  const auto names = split_names(asked.value);
  if (asked.option == "opset") {
    a.target = onnx::make_target(std::stoi(asked.value), a.target.runtime);
  } else if (asked.option == "target-runtime") {
    a.target = onnx::make_target(a.target.opset, asked.value);
  } else if (asked.option == "custom-ops") {
    a.custom_ops.push_back(asked.value);
  } else if (asked.option == "outputs") {
    for (const std::string& n : names) a.cut.cut_outputs.push_back({n, n});
  } else if (asked.option == "inputs") {
    const bool shapes = asked.value.find('[') != std::string::npos;
    for (const std::string& n : names) shapes ? a.shapes.push_back(n) : a.cut.cut_inputs.push_back({n, n});
  } else {
    return asked.option == "complex-as-pairs";  // the mappers do not ask for it
  }
  return true;
}

bool helps(const Attempt& a, const Diagnostic& d, std::string& why) {
  for (int rank = a.shapes.empty() ? kHighestRank : 1; rank <= kHighestRank; ++rank) {
    why.clear();
    for (const Diagnostic& now : outcome(a, rank))
      if (now.origin.node == d.origin.node || now.code == Code::bad_option) why = to_string(now);
    if (why.empty()) return true;
  }
  return false;
}

}  // namespace

void follow_remedies(const std::string& text, const onnx::Target& target, const Diagnostics& found) {
  for (const Diagnostic& d : found) {
    EXPECT_EQ(d.remedy.find_first_of("{}|"), std::string::npos) << to_string(d);
    if (d.severity != Severity::error) continue;
    for (const test::Way& way : test::ways_of(d.remedy)) {
      Attempt a{text, target, {}, {}, {}};
      for (const test::Asked& asked : way)
        EXPECT_TRUE(apply(a, asked)) << "this test does not know --" << asked.option << "\n" << to_string(d);
      std::string why;
      EXPECT_TRUE(helps(a, d, why)) << "--" << way[0].option << " " << way[0].value << " does not help:\n"
                                    << to_string(d) << "\nthen\n"
                                    << why;
    }
  }
}

}  // namespace t2o::golden
