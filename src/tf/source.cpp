#include "tf/source.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "support/mapped_file.h"
#include "support/nearest.h"
#include "support/path.h"
#include "support/text.h"
#include "support/wire.h"
#include "tf/checkpoint.h"
#include "tf/op_kinds.h"
#include "tf/restore_map.h"
#include "tf/saved_model.h"
#include "tf/source_format.h"
#include "tf/text_proto.h"
#include "tf/variables.h"

namespace t2o::tf {
namespace {

namespace fs = std::filesystem;
using tf2onnx::Options;

bool is_call(const NodeDef& n) { return op_kind(n.op) == OpKind::call; }

std::string_view node_of(std::string_view tensor) { return tensor.substr(0, tensor.find(':')); }

// A signature of TensorFlow 2 is one call: its inputs stand in the order of the function's arguments, its
// outputs in that of the results (which TensorFlow sorts by key). Without a call, as in TensorFlow 1, both
// stay in the order of their keys.
void order_by_call(Signature& s, const GraphDef& g) {
  if (s.outputs.empty()) return;
  const std::string_view name = node_of(s.outputs.front().tensor);
  const auto& nodes = g.body.nodes;
  const auto call = std::ranges::find_if(nodes, [&](const NodeDef& n) { return n.name == name; });
  if (call == nodes.end() || !is_call(*call)) return;
  std::map<std::string_view, std::size_t> position;
  for (std::size_t i = 0; i < call->inputs.size(); ++i) position.emplace(node_of(call->inputs[i]), i);
  const auto rank = [&](const SignatureTensor& t) {
    const auto found = position.find(node_of(t.tensor));
    return found == position.end() ? call->inputs.size() : found->second;
  };
  std::ranges::stable_sort(
      s.inputs, [&](const SignatureTensor& a, const SignatureTensor& b) { return rank(a) < rank(b); });
}

Strings names_of(const std::vector<Signature>& signatures) {
  Strings names;
  for (const Signature& s : signatures) names.push_back(s.name);
  return names;
}

Strings with_outputs(const std::vector<Signature>& signatures) {
  Strings names;
  for (const Signature& s : signatures)
    if (!s.outputs.empty()) names.push_back(s.name);
  return names;
}

// Null: none is needed, or the model has none.
const Signature* choose_signature(const Source& s, const Options& o) {
  const auto named = [&](const std::string& name) -> const Signature* {
    const auto found = std::ranges::find_if(s.signatures, [&](const Signature& x) { return x.name == name; });
    return found == s.signatures.end() ? nullptr : &*found;
  };
  if (!o.signature.empty()) {
    if (const Signature* found = named(o.signature)) return found;
    const Strings names = names_of(s.signatures);
    if (names.empty())
      fail(Code::bad_option, s.path + " has no signatures", "name its tensors with --inputs and --outputs");
    const std::string near = nearest(o.signature, names);
    fail(Code::bad_option, "there is no signature '" + o.signature + "' in " + s.path,
         near.empty() ? "the signatures are: " + quoted_list(names)
                      : "did you mean '" + near + "'? The signatures are: " + quoted_list(names));
  }
  if (const Signature* found = named("serving_default")) return found;
  if (s.signatures.size() == 1) return &s.signatures.front();
  if (!o.inputs.empty() && !o.outputs.empty()) return nullptr;
  if (s.signatures.size() > 1) {
    const Strings convertible = with_outputs(s.signatures);
    fail(Code::bad_option, s.path + " has several signatures and none is called 'serving_default'",
         "choose one with --signature: " +
             quoted_list(convertible.empty() ? names_of(s.signatures) : convertible));
  }
  if (s.kind == "saved_model" && o.outputs.empty())
    fail(Code::bad_option,
         "the SavedModel " + s.path + " has no signatures, which would name its inputs and outputs",
         std::string("name them with --inputs and --outputs, ") +
             (s.object_graph.empty() ? "" : "choose a function with --concrete-function, ") +
             "or save the model with signatures=...");
  return nullptr;
}

// A signature that is run for what it does (it changes variables, writes, prints) leaves nothing to convert.
void check_outputs(const Source& s, const Options& o, const Signature& chosen) {
  if (!chosen.outputs.empty() || !o.outputs.empty()) return;
  const Strings others = with_outputs(s.signatures);
  fail(Code::bad_option,
       "the signature '" + chosen.name + "' has no outputs: it is run for its effects, which are no model",
       !others.empty()             ? "these have outputs, choose one with --signature: " + quoted_list(others)
       : s.graph.functions.empty() ? "name outputs with --outputs"
                                   : "export a function that returns its results");
}

// The function becomes a call in the graph, and the call's inputs and outputs the signature.
void add_concrete_function(Source& s, const std::string& wanted) {
  if (!s.call.nodes.empty()) return;  // the same one: several functions are not converted at once
  s.call = call_concrete_function(wanted, s.path, s.graph, s.object_graph, s.assets,
                                  s.object_nodes ? s.object_nodes() : ObjectNodes());
  const auto bytes = std::make_shared<const std::string>(s.call.nodes);
  append_nodes(s.graph, std::as_bytes(std::span(*bytes)), bytes);
  s.signature = s.call.signature;
}

Source from_meta_graph(std::string kind, std::string path, MetaGraph m, CheckpointPtr checkpoint) {
  Source s;
  s.kind = std::move(kind);
  s.path = std::move(path);
  s.graph = parse_graph_def(m.graph_def, m.owner);
  s.graph.op_list = m.op_list;
  s.signatures = std::move(m.signatures);
  s.tags = std::move(m.tags);
  s.tensorflow_version = std::move(m.tensorflow_version);
  s.assets = std::move(m.assets);
  s.object_graph = m.object_graph;
  if (checkpoint) {
    const auto variables =
        std::make_shared<const Variables>(std::move(checkpoint), read_restore_map(s.graph, m.restore_op),
                                          read_captures(s.graph, m.object_graph), m.object_graph, m.owner);
    s.variable = [variables](const VariableRef& v) { return (*variables)(v); };
    s.object_nodes = [variables] { return variables->object_nodes(); };
  } else if (s.kind == "saved_model") {
    s.variable = no_variables(
        s.path, "copy the whole SavedModel: the values are in " + (fs::path(s.path) / "variables").string());
  } else {
    s.variable = no_variables(s.path, "put the checkpoint beside it, under the same name: " +
                                          fs::path(s.path).replace_extension(".index").string() +
                                          " and its data files");
  }
  return s;
}

Source from_graph_def(std::string path, Bytes bytes, Owner owner) {
  Source s;
  s.kind = "graph_def";
  s.path = std::move(path);
  s.graph = parse_graph_def(bytes, std::move(owner));
  if (s.graph.body.nodes.empty())
    fail(Code::bad_file, s.path + " has no nodes",
         "check that it is a TensorFlow graph and was copied completely");
  s.variable = no_variables(
      s.path, "convert the SavedModel or the .meta file beside its checkpoint, or freeze the graph first");
  return s;
}

struct Message {
  Bytes bytes;
  Owner owner;
};

Message read_message(const Found& f, std::string (*from_text)(std::string_view, const std::string&)) {
  const MappedFilePtr file = MappedFile::open(f.path);
  if (file->size() == 0) fail(Code::bad_file, f.path + " is empty");
  if (!f.is_text) return {file->bytes(), file};
  auto bytes = std::make_shared<const std::string>(from_text(as_text(file->bytes()), f.path));
  return {std::as_bytes(std::span(*bytes)), bytes};
}

Source open_meta_graph(const Found& f) {
  const Message m = read_message(f, meta_graph_from_text);
  const std::string prefix = fs::path(f.path).replace_extension().string();
  CheckpointPtr checkpoint = is_there(prefix + ".index") ? Checkpoint::open(prefix) : nullptr;
  return from_meta_graph("meta_graph", f.path, parse_meta_graph(m.bytes, m.owner), std::move(checkpoint));
}

Source open_path(const Options& o) {
  const Found found = find_source(o.model, o.format);
  Source s;
  switch (found.format) {
    case tf2onnx::Format::saved_model: {
      SavedModel m = open_saved_model(found.path, o.tags);
      s = from_meta_graph("saved_model", found.path, std::move(m.meta_graph), std::move(m.checkpoint));
      break;
    }
    case tf2onnx::Format::meta_graph:
      s = open_meta_graph(found);
      break;
    default: {
      const Message m = read_message(found, graph_def_from_text);
      s = from_graph_def(found.path, m.bytes, m.owner);
    }
  }
  std::erase_if(s.signatures, [](const Signature& x) { return x.name.starts_with("__saved_model_"); });
  return s;
}

}  // namespace

std::string file_of(const Options& o) {
  std::error_code ignored;
  if (!fs::is_directory(o.model, ignored)) return o.model;
  const bool is_text = fs::exists(fs::path(o.model) / "saved_model.pbtxt", ignored);
  return o.model + (is_text ? "/saved_model.pbtxt" : "/saved_model.pb");
}

Source look_into(const Options& o) {
  const Reading scope(file_of(o));
  return open_path(o);
}

Source look_into(const Options&, Bytes graph_def, Owner owner) {
  return from_graph_def("the graph in memory", graph_def, std::move(owner));
}

void choose(Source& s, const Options& o) {
  if (!o.concrete_function.empty()) return add_concrete_function(s, o.concrete_function);
  s.signature.reset();
  if (const Signature* chosen = choose_signature(s, o)) {
    check_outputs(s, o, *chosen);
    s.signature = *chosen;
    order_by_call(*s.signature, s.graph);
  }
}

Source open_source(const Options& o) {
  const Reading scope(file_of(o));
  Source s = open_path(o);
  choose(s, o);
  return s;
}

}  // namespace t2o::tf
