#include "tests/support/remedies.h"

#include <gtest/gtest.h>

#include "option_text.h"
#include "pipeline.h"
#include "tf_import.h"

// A remedy is there to be followed: what it names is done, and what was complained of is gone.
namespace t2o {
namespace {

using tf::attr;
using tf::kC;
using tf::kRead;
using tf::kT;
using tf::kX;
using tf::node;

Conversion converted(const std::string& text, const Options& o) {
  const std::string model = tf::graph_def_from_text(text, "test");
  return convert(o, std::as_bytes(std::span(model)));
}

Options asking(const std::vector<std::pair<std::string, std::string>>& options) {
  Options o;
  for (const auto& [name, value] : options) set_option(o, name, value);
  return o;
}

const Diagnostic* find(const Conversion& c, std::string_view message) {
  for (const Diagnostic& d : c.diagnostics)
    if (to_string(d).find(message) != std::string::npos) return &d;
  return nullptr;
}

// The remedy of what says `message`; each way that it names was followed.
std::string followed(const std::string& text, const Options& options, std::string_view message) {
  const Conversion before = converted(text, options);
  const Diagnostic* told = find(before, message);
  if (!told) {
    for (const Diagnostic& d : before.diagnostics) ADD_FAILURE() << to_string(d);
    ADD_FAILURE() << "nothing says '" << message << "'";
    return "";
  }
  for (const test::Way& way : test::ways_of(told->remedy)) {
    Options o = options;
    for (const test::Asked& a : way) set_option(o, a.option, a.value);
    const Conversion after = converted(text, o);
    for (const Diagnostic& d : after.diagnostics)
      EXPECT_FALSE(d.severity == Severity::error || d.message == told->message)
          << "after --" << way[0].option << " " << way[0].value << ":\n"
          << to_string(d);
  }
  return told->remedy;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const std::string kPyFunc = attr("Tin", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }") +
                            attr("token", "s: 'f'");
std::string py(const std::string& name, const std::string& input, const std::string& key = "node") {
  std::string n = node(name, "PyFunc", {input}, kPyFunc);
  return key + n.substr(4);
}
const std::string kAround =
    kX + node("n", "Neg", {"x"}, kT) + py("p", "n") + node("y", "Exp", {"p"}, kT);

TEST(Remedies, AGraphIsCutAtTheNodeThatIsRefused) {
  EXPECT_EQ(followed(kAround, {}, "it is a Python function"),
            "write it with TensorFlow's own operations before the export, or cut the graph before it with "
            "--outputs n:0, or after it with --inputs p:0");
}

TEST(Remedies, ACutListsAllResultsThatAreRead) {
  const std::string split =
      node("text", "Placeholder", {}, attr("dtype", "type: DT_STRING") + attr("shape", "shape { dim { size: 2 } }")) +
      node("by", "Const", {},
           attr("dtype", "type: DT_STRING") + attr("value", "tensor { dtype: DT_STRING string_val: ',' }")) +
      node("s", "StringSplit", {"text", "by"}, attr("skip_empty", "b: true"));
  const std::string remedy =
      followed(split + node("a", "Abs", {"s"}, attr("T", "type: DT_INT64")) +
                   node("b", "Abs", {"s:2"}, attr("T", "type: DT_INT64")),
               asking({{"outputs", "a,b"}}), "StringSplit 's'");
  EXPECT_TRUE(has(remedy, "--inputs s:0,s:2")) << remedy;
  EXPECT_FALSE(has(remedy, "--outputs")) << "nothing is computed before it: " << remedy;
}

std::string call(const std::string& body, const std::string& result) {
  return kX + node("y", "PartitionedCall", {"x"},
                   attr("f", "func { name: 'f' }") + attr("Tin", "list { type: DT_FLOAT }") +
                       attr("Tout", "list { type: DT_FLOAT }")) +
         "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' "
         "type: DT_FLOAT } } " +
         body + " ret { key: 'r' value: '" + result + "' } } }";
}

TEST(Remedies, AGraphIsCutInsideOfAFunction) {
  const std::string body = "node_def" + node("n", "Neg", {"a"}, kT).substr(4) + py("p", "n:y:0", "node_def") +
                           "node_def" + node("e", "Exp", {"p:output:0"}, kT).substr(4);
  const std::string remedy = followed(call(body, "e:y:0"), {}, "it is a Python function");
  EXPECT_TRUE(has(remedy, "--outputs y/n:0, or after it with --inputs y/p:0")) << remedy;
  // Which does not go with states.
  const std::string stateful =
      followed(call(body, "e:y:0"), asking({{"stateful-io", "true"}}), "it is a Python function");
  EXPECT_EQ(stateful, "write it with TensorFlow's own operations before the export");
}

const std::string kFloats = attr("T", "list { type: DT_FLOAT }");
std::string loop(const std::string& body, const std::string& result) {
  const std::string arg = " input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: ";
  return kX + node("n", "Neg", {"x"}, kT) +
         node("w", "While", {"n"}, kFloats + attr("cond", "func { name: 'c' }") + attr("body", "func { name: 'b' }")) +
         node("y", "Exp", {"w"}, kT) + "library { function { signature { name: 'c'" + arg + "DT_BOOL } } node_def" +
         kC.substr(4) + "node_def" +
         node("axes", "Const", {},
              attr("dtype", "type: DT_INT32") + attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
                                                              "int_val: 0 int_val: 1 }"))
             .substr(4) +
         "node_def" + node("m", "Max", {"a", "axes:output:0"}, kT + attr("Tidx", "type: DT_INT32")).substr(4) +
         "node_def" + node("l", "Less", {"m:output:0", "c:output:0"}, kT).substr(4) +
         " ret { key: 'r' value: 'l:z:0' } } function { signature { name: 'b'" + arg + "DT_FLOAT } } " + body +
         " ret { key: 'r' value: '" + result + "' } } }";
}

TEST(Remedies, WhatIsInALoopIsCutAroundTheLoop) {
  const std::string remedy =
      followed(loop(py("p", "a", "node_def"), "p:output:0"), {}, "it is a Python function");
  EXPECT_TRUE(has(remedy, "cut the graph before the While around it with --outputs n:0, or after the While around it "
                          "with --inputs w:0"))
      << remedy;
}

TEST(Remedies, AHandleIsNoInput) {
  const std::string table =
      node("text", "Placeholder", {}, attr("dtype", "type: DT_STRING") + attr("shape", "shape { dim { size: 2 } }")) +
      node("t", "HashTableV2", {}, attr("key_dtype", "type: DT_STRING") + attr("value_dtype", "type: DT_FLOAT")) +
      kC +
      node("f", "LookupTableFindV2", {"t", "text", "c"},
           attr("Tin", "type: DT_STRING") + attr("Tout", "type: DT_FLOAT")) +
      node("y", "Exp", {"f"}, kT);
  for (const char* op : {"HashTableV2 't'", "LookupTableFindV2 'f'"}) {
    const std::string remedy = followed(table, {}, op);
    EXPECT_TRUE(has(remedy, "--inputs f:0")) << remedy;
    EXPECT_FALSE(has(remedy, "--custom-ops")) << "it would be empty: " << remedy;
  }
  const std::string kept = followed(table, asking({{"custom-ops", "HashTableV2,LookupTableFindV2"}}),
                                    "as a custom op it would be empty");
  EXPECT_EQ(kept, "cut the graph after it with --inputs f:0");
}

TEST(Remedies, OnlyWhatHasATypeIsKeptAsACustomOp) {
  const std::string unknown = kX + node("n", "Neg", {"x"}, kT) + node("u", "Mystery", {"n"}) + node("y", "Exp", {"u"}, kT);
  EXPECT_EQ(followed(unknown, {}, "Mystery 'u'"), "cut the graph before it with --outputs n:0");
  const std::string typed = kX + node("u", "Mystery", {"x"}, kT) + node("y", "Exp", {"u"}, kT);
  EXPECT_EQ(followed(typed, {}, "Mystery 'u'"), "keep it for a runtime that has it with --custom-ops Mystery");
}

TEST(Remedies, StatesAreProposedWhereTheyCanBeHandedOn) {
  const std::string variable = node("v", "VarHandleOp", {}, attr("dtype", "type: DT_FLOAT"));
  const auto warning = [&](const std::string& text) {
    tf::ImportRequest r = tf::fetch({{"y"}});
    const auto first = tf::import(text, r);
    EXPECT_TRUE(first.graph);
    std::string remedy;
    for (const Diagnostic& d : first.diagnostics)
      if (d.severity == Severity::warning) remedy = d.remedy;
    if (has(remedy, "--stateful-io")) {
      r.keep_state = true;
      const auto second = tf::import(text, r);
      EXPECT_TRUE(second.graph) << to_string(second.diagnostics.at(0));
    }
    return remedy;
  };
  const std::string read = kX + tf::kV + node("r", "ReadVariableOp", {"v"}, kRead);
  const std::string y = node("y", "Mul", {"x", "r", "^change"}, kT);
  EXPECT_TRUE(has(warning(read + node("change", "AssignAddVariableOp", {"v", "x"}, kRead) + y), "--stateful-io"));
  const std::string descent =
      read + kC + node("change", "ResourceApplyGradientDescent", {"v", "c", "x"}, kT) + y;
  EXPECT_EQ(warning(descent), "");
  const std::string twice = kX + tf::kV + node("one", "AssignVariableOp", {"v", "x"}, kRead) +
                            node("change", "AssignVariableOp", {"v", "x", "^one"}, kRead) +
                            node("y", "Neg", {"x", "^change"}, kT);
  EXPECT_TRUE(has(warning(twice), "--stateful-io"));
}

TEST(Remedies, StatesAreNoWayOutOfALoop) {
  const std::string text = kX + tf::kV + tf::kAxes + node("change", "ResourceApplyGradientDescent", {"v", "c", "x"}, kT) +
                           kC + node("r", "ReadVariableOp", {"v", "^change"}, kRead) +
                           node("two", "AssignAddVariableOp", {"v", "x", "^r"}, kRead) +
                           node("y", "Mul", {"x", "r"}, kT);
  for (const bool keep : {false, true}) {
    tf::ImportRequest r = tf::fetch({{"y"}});
    r.keep_state = keep;
    for (const Diagnostic& d : tf::import(text, r).diagnostics)
      EXPECT_FALSE(d.severity == Severity::error && has(d.remedy, "--stateful-io")) << to_string(d);
  }
}

TEST(Remedies, OptionsThatContradictEachOther) {
  const std::string plain = kX + node("y", "Neg", {"x"}, kT);
  EXPECT_NE(followed(plain, asking({{"opset", "27"}}), "loads no model of opset 27"), "");
  EXPECT_NE(followed(plain, asking({{"opset", "11"}, {"layout", "nhwc"}}), "cannot contain"), "");
  EXPECT_NE(followed(plain, asking({{"ir-version", "7"}, {"layout", "nhwc"}}), "cannot contain"), "");
  EXPECT_NE(followed(plain, asking({{"opset", "20"}, {"node-metadata", "true"}}), "--node-metadata"), "");
  const std::string complex = node("x", "Placeholder", {},
                                   attr("dtype", "type: DT_COMPLEX64") + attr("shape", "shape { dim { size: 2 } }")) +
                              node("y", "Neg", {"x"}, attr("T", "type: DT_COMPLEX64"));
  EXPECT_NE(followed(complex, {}, "the input 'x:0' is complex"), "");
}

}  // namespace
}  // namespace t2o
