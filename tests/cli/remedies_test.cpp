#include "cli/usage.h"

namespace t2o::test {
namespace {

TEST_F(Usage, WhatARemedyNamesCanBeTyped) {
  model_ = dir_.file("model.pb", graph_def({placeholder("x"), unary("n", "Neg", "x"),
                                            node("p", "PyFunc", {"n"}, {types_attr("Tin", {kFloat}), types_attr("Tout", {kFloat})}),
                                            unary("y", "Exp", "p")}));
  refused(kNotConvertible, {"MODEL", "-o", "out.onnx"}, {"--outputs n:0, or after it with --inputs p:0"});
  converted({"MODEL", "-o", "OUT", "--outputs", "n:0"});
  converted({"MODEL", "-o", "OUT", "--inputs", "p:0"});
}

TEST_F(Usage, NodesWithoutMetadataAreTold) {
  converted({"MODEL", "-o", "OUT", "--node-metadata", "--opset", "20"});
  EXPECT_TRUE(has(last_.err, "have no metadata_props") && has(last_.err, "--opset 21 or above")) << last_.err;
  converted({"MODEL", "-o", "OUT", "--node-metadata", "--opset", "21"});
  EXPECT_FALSE(has(last_.err, "metadata_props")) << last_.err;
}

}  // namespace
}  // namespace t2o::test
