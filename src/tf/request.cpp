#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "diagnostics.h"
#include "formats/tensor_spec.h"
#include "support/nearest.h"
#include "support/text.h"
#include "tf/layer_names.h"
#include "tf/source.h"

namespace t2o::tf {
namespace {

using tf2onnx::Options;

// Finds what a user calls an input or output: a key of the signature, or a tensor of the graph.
class Names {
 public:
  explicit Names(const Source& s) : source_(s) {}

  // A key, or what tf2onnx calls it by: key:0, and the results of TF2's function Identity:0, Identity_1:0 ...
  const SignatureTensor* by_key(const std::string& name, bool input) const {
    if (!source_.signature) return nullptr;
    const auto& tensors = input ? source_.signature->inputs : source_.signature->outputs;
    const auto of_key = [&](std::string_view key) {
      const auto found =
          std::ranges::find_if(tensors, [&](const SignatureTensor& t) { return t.key == key; });
      return found == tensors.end() ? nullptr : &*found;
    };
    if (const SignatureTensor* t = of_key(name)) return t;
    if (!name.ends_with(":0") || is_node(name.substr(0, name.size() - 2))) return nullptr;
    const std::string node = name.substr(0, name.size() - 2);
    const SignatureTensor* t = of_key(node);
    return t || input ? t : by_return(node);
  }

  // What no key and no node of the main graph is called may be inside of one of its functions.
  bool may_be_inside(const std::string& name, bool input) const {
    const std::string_view node = std::string_view(name).substr(0, name.find(':'));
    return !by_key(name, input) && !is_node(node) && !source_.graph.functions.empty() &&
           node.find('/') != std::string_view::npos;
  }

  void check_tensor(const std::string& name, bool input) const {
    const std::string_view node = std::string_view(name).substr(0, name.find(':'));
    if (is_node(node) || may_be_inside(name, input)) return;
    Strings keys;
    if (source_.signature)
      for (const SignatureTensor& t : input ? source_.signature->inputs : source_.signature->outputs)
        keys.push_back(t.key);
    const std::string message =
        "there is no " + std::string(input ? "input" : "output") + " '" + name + "' in " + source_.path;
    if (const std::string last = input ? "" : last_of_layer(node); !last.empty())
      fail(Code::bad_option, message,
           "'" + std::string(node) + "' is the name of a layer, and '" + last + "' its last tensor." +
               list_of(keys, input));
    Strings candidates = keys;
    for (const NodeDef& n : source_.graph.body.nodes)
      if (!is_state(n.op)) candidates.emplace_back(n.name);
    const std::string near = nearest(node, candidates);
    const std::string list = list_of(keys, input);
    fail(Code::bad_option, message,
         near.empty() ? (list.empty() ? "" : list.substr(1)) : "did you mean '" + near + "'?" + list);
  }

 private:
  // The signature of a SavedModel of TF2 is one call, whose results have these names inside.
  const SignatureTensor* by_return(const std::string& node) const {
    for (const SignatureTensor& t : source_.signature->outputs) {
      const std::size_t colon = t.tensor.find(':');
      const std::string index = colon == std::string::npos ? "0" : t.tensor.substr(colon + 1);
      if (node == "Identity" + (index == "0" ? "" : "_" + index) && is_call(t.tensor.substr(0, colon)))
        return &t;
    }
    return nullptr;
  }

  bool is_call(std::string_view name) const {
    const auto& nodes = source_.graph.body.nodes;
    return std::ranges::any_of(nodes, [&](const NodeDef& n) {
      return n.name == name && (n.op == "StatefulPartitionedCall" || n.op == "PartitionedCall");
    });
  }

  std::string last_of_layer(std::string_view layer) const {
    Strings outputs;
    if (source_.signature)
      for (const SignatureTensor& t : source_.signature->outputs) outputs.push_back(t.tensor);
    return last_node_of_layer(source_.graph, layer, outputs);
  }

  // Stands behind a sentence, if there is one.
  static std::string list_of(const Strings& keys, bool input) {
    if (keys.empty() || keys.size() > kListed) return "";
    std::string text = std::string(" The ") + (input ? "inputs" : "outputs") + " of the signature are:";
    for (const std::string& key : keys) text += (&key == &keys.front() ? " " : ", ") + key;
    return text;
  }

  bool is_node(std::string_view name) const {
    if (nodes_.empty())
      for (const NodeDef& n : source_.graph.body.nodes) nodes_.insert(n.name);
    return nodes_.contains(name);
  }

  static constexpr std::size_t kListed = 20;

  const Source& source_;
  mutable std::unordered_set<std::string_view> nodes_;  // made when it is asked for
};

Feed feed_of(const SignatureTensor& t, bool graph_names) {
  return {t.tensor, graph_names ? t.tensor : t.key, t.dtype, t.shape, t.shape.ranked()};
}

std::vector<Feed> make_feeds(const Source& s, const Options& o, const Names& names,
                             Diagnostics& diagnostics) {
  std::vector<Feed> feeds;
  if (o.inputs.empty() && s.signature)
    for (const SignatureTensor& t : s.signature->inputs) feeds.push_back(feed_of(t, o.use_graph_names));
  for (const std::string& text : o.inputs)
    collect(diagnostics, [&] {
      const TensorSpec spec = parse_tensor_spec(text);
      const SignatureTensor* t = names.by_key(spec.name, true);
      if (t == nullptr) names.check_tensor(spec.name, true);
      Feed& feed =
          feeds.emplace_back(t != nullptr ? feed_of(*t, o.use_graph_names) : Feed{spec.name, spec.name});
      if (spec.shape) {
        feed.shape = *spec.shape;
        feed.shape_given = true;
      }
    });
  return feeds;
}

std::vector<Feed> make_spare_feeds(const Source& s, const Options& o, const std::vector<Feed>& feeds) {
  std::vector<Feed> spare;
  if (!s.signature || o.inputs.empty()) return spare;
  for (const SignatureTensor& t : s.signature->inputs)
    if (std::ranges::none_of(feeds, [&](const Feed& f) { return f.tensor == t.tensor; }))
      spare.push_back(feed_of(t, o.use_graph_names));
  return spare;
}

std::string node_of(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

// --use-default and --ignore-default speak of PlaceholderWithDefault nodes.
Strings placeholders_with_default(const Source& s, const Strings& asked, const char* option,
                                  Diagnostics& diagnostics) {
  std::set<std::string> known;
  for (const NodeDef& n : s.graph.body.nodes)
    if (n.op == "PlaceholderWithDefault") known.emplace(n.name);
  Strings nodes;
  for (const std::string& name : asked) {
    nodes.push_back(node_of(name));
    if (known.contains(nodes.back())) continue;
    const std::string near = nearest(nodes.back(), Strings(known.begin(), known.end()));
    collect(diagnostics, [&] {
      fail(Code::bad_option,
           std::string(option) + ": there is no PlaceholderWithDefault '" + name + "' in " + s.path,
           near.empty() ? "" : "did you mean '" + near + "'?");
    });
  }
  return nodes;
}

std::vector<Fetch> make_fetches(const Source& s, const Options& o, const Names& names,
                                Diagnostics& diagnostics) {
  std::vector<Fetch> fetches;
  const auto add = [&](const SignatureTensor& t) {
    fetches.push_back({t.tensor, o.use_graph_names ? t.tensor : t.key});
  };
  if (o.outputs.empty() && s.signature)
    for (const SignatureTensor& t : s.signature->outputs) add(t);
  for (const std::string& text : o.outputs)
    collect(diagnostics, [&] {
      const TensorSpec spec = parse_tensor_spec(text);
      if (spec.shape) fail_tensor_spec(text, "an output takes no shape");
      if (const SignatureTensor* t = names.by_key(spec.name, false)) return add(*t);
      names.check_tensor(spec.name, false);
      fetches.push_back({spec.name, spec.name});
    });
  return fetches;
}

template <class T>
void rename(std::vector<T>& tensors, const std::vector<std::string>& wanted, const std::string& what) {
  if (wanted.empty() || tensors.empty()) return;
  if (wanted.size() != tensors.size()) {
    Strings names;
    for (const T& t : tensors) names.push_back(t.name);
    fail(Code::bad_option,
         std::to_string(wanted.size()) + " new names are given for " + std::to_string(tensors.size()) + " " +
             what,
         "they are: " + quoted_list(names));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) tensors[i].name = wanted[i];
}

// Two inputs must not be one tensor, nor have one name; an output may be given twice under different names.
void check_distinct(const ImportRequest& r, bool chosen) {
  std::set<std::string> tensors, inputs, outputs;
  for (const std::string& name : r.input_names)
    if (!inputs.insert(name).second) fail(Code::bad_option, "two inputs have the name '" + name + "'");
  for (const std::string& name : r.output_names)
    if (!outputs.insert(name).second) fail(Code::bad_option, "two outputs have the name '" + name + "'");
  for (const Feed& f : r.feeds) {
    const std::string tensor = f.tensor.find(':') == std::string::npos ? f.tensor + ":0" : f.tensor;
    if (!tensors.insert(tensor).second) fail(Code::bad_option, "the input '" + f.tensor + "' is given twice");
    if (!inputs.insert(f.name).second) fail(Code::bad_option, "two inputs have the name '" + f.name + "'");
  }
  for (const Fetch& f : r.fetches)
    if (!outputs.insert(f.name).second) fail(Code::bad_option, "two outputs have the name '" + f.name + "'");
  for (const std::string& name : outputs)
    if (chosen && inputs.contains(name))
      fail(Code::bad_option, "an input and an output have the name '" + name + "'",
           "each ONNX tensor needs a name of its own: choose another");
}

// What is inside of functions is not there before they are inlined: the whole signature is imported, and cut
// afterwards.
void widen(ImportRequest& r, const Source& s, const Options& o, const Names& names,
           Diagnostics& diagnostics) {
  const bool inner_input =
      std::ranges::any_of(r.feeds, [&](const Feed& f) { return names.may_be_inside(f.tensor, true); });
  const bool inner_output =
      std::ranges::any_of(r.fetches, [&](const Fetch& f) { return names.may_be_inside(f.tensor, false); });
  if (!inner_input && !inner_output) return;
  Options whole = o;
  if (inner_input) {
    r.cut_inputs = std::exchange(r.feeds, {});
    whole.inputs.clear();
    r.feeds = make_feeds(s, whole, names, diagnostics);
    rename(r.cut_inputs, o.rename_inputs, "inputs");
    for (const Feed& f : r.cut_inputs)
      for (Feed& mine : r.feeds)
        if (mine.tensor == f.tensor) mine = f;
  }
  if (inner_output) {
    r.cut_outputs = std::exchange(r.fetches, {});
    whole.outputs.clear();
    r.fetches = make_fetches(s, whole, names, diagnostics);
    rename(r.cut_outputs, o.rename_outputs, "outputs");
  }
  r.find_interface = r.feeds.empty() || r.fetches.empty();
}

}  // namespace

ImportRequest make_request(const Source& s, const Options& o, Diagnostics& diagnostics) {
  const Names names(s);
  ImportRequest r;
  const std::size_t before = diagnostics.size();
  r.feeds = make_feeds(s, o, names, diagnostics);
  r.fetches = make_fetches(s, o, names, diagnostics);
  r.variable = s.variable;
  r.use_default = placeholders_with_default(s, o.use_default, "--use-default", diagnostics);
  r.ignore_default = placeholders_with_default(s, o.ignore_default, "--ignore-default", diagnostics);
  if (diagnostics.size() != before) return r;
  std::erase_if(r.feeds, [&](const Feed& f) { return contains(r.use_default, node_of(f.tensor)); });
  r.spare_feeds = make_spare_feeds(s, o, r.feeds);
  r.find_interface = r.feeds.empty() || r.fetches.empty();
  collect(diagnostics, [&] { widen(r, s, o, names, diagnostics); });
  collect(diagnostics, [&] {
    if (r.cut_inputs.empty()) rename(r.feeds, o.rename_inputs, "inputs");
  });
  collect(diagnostics, [&] {
    if (r.cut_outputs.empty()) rename(r.fetches, o.rename_outputs, "outputs");
  });
  if (r.feeds.empty() && r.cut_inputs.empty()) r.input_names = o.rename_inputs;
  if (r.fetches.empty() && r.cut_outputs.empty()) r.output_names = o.rename_outputs;
  r.keep_state = o.stateful_io;
  r.inputs_renamed = !o.rename_inputs.empty();
  collect(diagnostics, [&] {
    if (r.keep_state && r.cuts_inside())
      fail(Code::bad_option,
           "--stateful-io needs the whole model, and --inputs or --outputs cut it inside of a function",
           "leave out --stateful-io, or cut at names of the main graph");
    check_distinct(r, !o.rename_inputs.empty() || !o.rename_outputs.empty());
  });
  return r;
}

}  // namespace t2o::tf
