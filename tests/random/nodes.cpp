// Conditionals and loops of TensorFlow 1.
#include "recipe.h"
#include "tf/protos/text.pb.h"

namespace t2o::random_graphs {
namespace {

using engines::TfGraph;
using engines::TfInput;

// Adds the ops of a body; its arguments are these tensors. Constants run after `control`. Gives the results.
Strings add_body(TfGraph& graph, const Recipe& body, const Strings& arguments, const std::string& prefix, const std::string& control) {
  std::vector<std::string> names(body.steps.size());
  std::size_t next = 0;
  const auto tensor = [&](Ref r) {
    return names[r.step] + (r.output == 0 ? "" : ":" + std::to_string(r.output));
  };
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const Step& s = body.steps[i];
    names[i] = prefix + s.name;
    if (s.kind == Kind::argument) {
      names[i] = arguments.at(next++);
      continue;
    }
    engines::TfOp op{s.op, names[i], {}, s.attrs, {}};
    if (s.kind == Kind::constant) op = {"Const", names[i], {}, {{"dtype", s.value->dtype()}, {"value", s.value}}, {control}};
    for (const In& in : s.inputs) {
      Strings list;
      for (const Ref r : in.refs) list.push_back(tensor(r));
      op.inputs.push_back(in.is_list ? TfInput(list) : TfInput(list.at(0)));
    }
    graph.add(op);
  }
  Strings results;
  for (const Ref r : body.outputs) results.push_back(tensor(r));
  return results;
}

void add_if(TfGraph& graph, const Recipe& r, const Step& s) {
  const std::string base = s.name + "/", condition = tensor_name(r, s.inputs[0].refs[0]);
  graph.add({"Switch", base + "pivot", {condition, condition}});
  Strings sides[2];
  for (std::size_t i = 0; i < s.inputs[1].refs.size(); ++i) {
    const std::string name = base + "s" + std::to_string(i);
    graph.add({"Switch", name, {tensor_name(r, s.inputs[1].refs[i]), condition}});
    sides[0].push_back(name);
    sides[1].push_back(name + ":1");
  }
  Strings results[2];
  for (const int side : {0, 1}) {
    const std::string at = base + (side == 1 ? "then" : "else");
    graph.add({"Identity", at, {base + (side == 1 ? "pivot:1" : "pivot")}});
    results[side] = add_body(graph, *s.bodies[side == 1 ? 0 : 1].second, sides[side], at + "_", at);
    for (std::string& result : results[side])  // what is handed through as well: dead where its side does not run
      result = graph.add({"Identity", at + "_r" + std::to_string(&result - results[side].data()), {result}, {}, {at}});
  }
  for (std::size_t i = 0; i < results[0].size(); ++i)
    graph.add({"Merge", base + "y" + std::to_string(i), {Strings{results[0][i], results[1][i]}}});
}

// The C API makes no cycles: a loop is made without its way back, and imported with it.
void add_while(TfGraph& graph, const Recipe& r, const Step& s) {
  TfGraph part;
  const std::vector<Ref>& refs = s.inputs[0].refs;
  Strings merged, values;
  TfGraph::InputMap map;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const std::string n = std::to_string(i);
    part.placeholder("p" + n, r.tensor(refs[i])->dtype(), {});
    map.emplace_back("p" + n, tensor_name(r, refs[i]));
    part.add({"Enter", "enter" + n, {"p" + n}, {{"frame_name", s.name}}});
    merged.push_back(part.add({"Merge", "merge" + n, {Strings{"enter" + n, "enter" + n}}}));
  }
  part.add({"Identity", "round", {merged[0]}});
  const Strings go = add_body(part, *s.bodies[0].second, merged, "cond_", "round");
  part.add({"LoopCond", "go", {go.at(0)}});
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const std::string n = std::to_string(i);
    part.add({"Switch", "switch" + n, {merged[i], "go"}});
    part.add({"Exit", "y" + n, {"switch" + n}});
    values.push_back(part.add({"Identity", "in" + n, {"switch" + n + ":1"}}));
  }
  part.add({"Identity", "stay", {"switch0:1"}});
  const Strings next = add_body(part, *s.bodies[1].second, values, "body_", "stay");
  for (std::size_t i = 0; i < refs.size(); ++i) part.add({"NextIteration", "next" + std::to_string(i), {next.at(i)}});
  tf::text::GraphDef proto;
  proto.ParseFromString(part.graph_def());
  for (auto& node : *proto.mutable_node())
    if (node.op() == "Merge") node.set_input(1, "next" + node.name().substr(5));
  const std::string bytes = proto.SerializeAsString();
  graph.import(test::as_bytes(bytes), s.name, map);
}

}  // namespace

void add_in_nodes(TfGraph& graph, const Recipe& r, const Step& s) {
  if (s.op == "NodesIf") add_if(graph, r, s);
  else add_while(graph, r, s);
}

}  // namespace t2o::random_graphs
