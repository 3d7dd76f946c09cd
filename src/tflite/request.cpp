#include "tflite/request.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "formats/tensor_spec.h"
#include "support/lists.h"
#include "support/nearest.h"
#include "support/text.h"
#include "tflite/labels.h"

namespace t2o::tflite {
namespace {

using tf2onnx::Options;

constexpr std::size_t kListed = 20;

// The tensors of the subgraph by the names that a user may give.
class Tensors {
 public:
  Tensors(const Model& m, std::size_t subgraph, std::optional<std::size_t> signature)
      : model_(m), subgraph_(subgraph), signature_(signature) {
    for (std::size_t i = 0; i < count(m.subgraph(subgraph).tensors()); ++i)
      by_name_.emplace(m.tensor_name(subgraph, static_cast<std::int64_t>(i)), static_cast<std::int64_t>(i));
  }

  // The tensors that the signature names.
  struct Named {
    const ModelSignature::Tensor* tensor;
    std::int64_t index;
  };
  std::vector<Named> of_signature(bool input) const {
    std::vector<Named> result;
    if (!signature_) return result;
    const ModelSignature& s = model_.signatures()[*signature_];
    const auto& all = input ? s.inputs : s.outputs;
    for (std::size_t k = 0; k < all.size(); ++k)
      result.push_back({&all[k], model_.signature_tensor(*signature_, input, k)});
    return result;
  }
  std::int64_t by_key(const std::string& name, bool input) const {  // -1: there is none
    for (const Named& n : of_signature(input))
      if (n.tensor->key == name) return n.index;
    return -1;
  }

  // "X" and "X:0" are one name, and the tensor "X;Y" has the names X and Y too, without levels that are made
  // up.
  std::int64_t find(const std::string& name, bool input) const {
    const std::string bare = name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
    for (const std::string& candidate : {name, bare, bare + ":0"})
      if (const auto found = by_name_.find(candidate); found != by_name_.end()) return found->second;
    if (const std::int64_t i = by_key(bare, input); i >= 0) return i;
    const std::string part = name.find(';') == std::string::npos ? Labels::first_name(name) : "";
    Strings keys, names, joined;
    for (const Named& n : of_signature(input)) keys.push_back(n.tensor->key);
    std::int64_t part_of = -1;
    for (const auto& [known, i] : by_name_) {
      if (model_.has_data(model_.tensor(subgraph_, i))) continue;
      names.push_back(known);
      const Strings parts = Labels::names(known);
      append(names, parts);
      if (!contains(parts, part)) continue;
      joined.push_back(known);
      part_of = i;
    }
    if (joined.size() == 1) return part_of;
    const std::string none = "there is no tensor '" + name + "' in " + model_.path();
    std::sort(joined.begin(), joined.end());
    if (!joined.empty())
      fail(Code::bad_option, none, "several have it in their names: " + quoted_list(joined));
    append(names, keys);
    std::sort(names.begin(), names.end());
    const std::string near = nearest(name, names);
    fail(Code::bad_option, none,
         !near.empty()                           ? "did you mean '" + near + "'?"
         : keys.empty() || keys.size() > kListed ? ""
                                                 : "they are: " + quoted_list(keys));
  }

  std::string name(std::int64_t i) const { return model_.tensor_name(subgraph_, i); }
  Shape shape(std::int64_t i) const { return model_.shape(model_.tensor(subgraph_, i)); }

 private:
  const Model& model_;
  std::size_t subgraph_;
  std::optional<std::size_t> signature_;
  std::unordered_map<std::string, std::int64_t> by_name_;
};

// A file may give an axis another size than before, or leave a size open that was known.
Port given_port(const Tensors& tensors, const std::string& text, bool input) {
  const TensorSpec spec = parse_tensor_spec(text);
  if (!input && spec.shape) fail_tensor_spec(text, "an output takes no shape");
  const std::int64_t key = tensors.by_key(spec.name, input);
  const std::int64_t i = key >= 0 ? key : tensors.find(spec.name, input);
  Port port{i, spec.name, tensors.shape(i)};
  if (spec.shape) {
    if (spec.shape->rank() != port.shape.rank())
      fail(Code::bad_option, "the input '" + spec.name + "' has rank " + std::to_string(port.shape.rank()) +
                                 ", and its shape is given with rank " + std::to_string(spec.shape->rank()));
    port.shape = *spec.shape;
  }
  return port;
}

// A signature lists its tensors in any order, the subgraph in the order of the function's arguments and
// results.
void sort_by_place(std::vector<Port>& ports, const flatbuffers::Vector<std::int32_t>* own) {
  const auto place = [all = items(own)](const Port& p) {
    return std::find(all.begin(), all.end(), p.tensor);
  };
  std::stable_sort(ports.begin(), ports.end(),
                   [&](const Port& a, const Port& b) { return place(a) < place(b); });
}

std::vector<Port> ports(const Tensors& tensors, bool by_signature,
                        const flatbuffers::Vector<std::int32_t>* own, const std::vector<std::string>& given,
                        const Options& o, bool input, Diagnostics& diagnostics) {
  std::vector<Port> result;
  for (const std::string& text : given)
    collect(diagnostics, [&] { result.push_back(given_port(tensors, text, input)); });
  if (!given.empty()) return result;
  for (const auto& [t, i] : tensors.of_signature(input))
    result.push_back({i, o.use_graph_names ? t->tensor : t->key, tensors.shape(i)});
  if (by_signature) {
    sort_by_place(result, own);
    return result;
  }
  for (const std::int32_t i : items(own)) result.push_back({i, tensors.name(i), tensors.shape(i)});
  return result;
}

Strings names_of(const std::vector<Port>& ports) {
  Strings names;
  for (const Port& p : ports) names.push_back(p.name);
  return names;
}

void rename(std::vector<Port>& ports, const std::vector<std::string>& wanted, const std::string& what) {
  if (wanted.empty()) return;
  if (wanted.size() != ports.size())
    fail(Code::bad_option,
         std::to_string(wanted.size()) + " new names are given for " + std::to_string(ports.size()) + " " +
             what,
         "they are: " + quoted_list(names_of(ports)));
  for (std::size_t i = 0; i < wanted.size(); ++i) ports[i].name = wanted[i];
}

void check_distinct(const Request& r) {
  std::set<std::string> inputs, outputs;
  std::set<std::int64_t> tensors;
  for (const Port& p : r.inputs) {
    if (!inputs.insert(p.name).second) fail(Code::bad_option, "two inputs have the name '" + p.name + "'");
    if (!tensors.insert(p.tensor).second) fail(Code::bad_option, "the input '" + p.name + "' is given twice");
  }
  for (const Port& p : r.outputs)
    if (!outputs.insert(p.name).second) fail(Code::bad_option, "two outputs have the name '" + p.name + "'");
}

}  // namespace

std::optional<std::size_t> choose_signature(const Model& m, const Options& o) {
  const auto& all = m.signatures();
  const auto named = [&](const std::string& name) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].name == name) return i;
    return {};
  };
  if (!o.signature.empty()) {
    if (const auto found = named(o.signature)) return found;
    if (all.empty()) fail(Code::bad_option, m.path() + " has no signatures", "leave out --signature");
    Strings names;
    for (const ModelSignature& s : all) names.push_back(s.name);
    const std::string near = nearest(o.signature, names);
    fail(Code::bad_option, "there is no signature '" + o.signature + "' in " + m.path(),
         (near.empty() ? "the" : "did you mean '" + near + "'? The") + std::string(" signatures are: ") +
             quoted_list(names));
  }
  if (const auto found = named("serving_default")) return found;
  for (std::size_t i = 0; i < all.size(); ++i)  // what the runtime runs if nothing is said
    if (m.subgraph_of_signature(i) == 0) return i;
  return {};
}

Request make_request(const Model& m, std::optional<std::size_t> chosen, const Options& o,
                     Diagnostics& diagnostics) {
  Request r;
  r.subgraph = chosen ? m.subgraph_of_signature(*chosen) : 0;
  r.keep_state = o.stateful_io;
  r.dequantize = o.dequantize;
  for (const std::string& item : o.custom_ops) r.custom_ops.insert(item.substr(0, item.find(':')));
  const Tensors tensors(m, r.subgraph, chosen);
  const schema::SubGraph& g = m.subgraph(r.subgraph);
  r.inputs = ports(tensors, chosen.has_value(), g.inputs(), o.inputs, o, true, diagnostics);
  r.outputs = ports(tensors, chosen.has_value(), g.outputs(), o.outputs, o, false, diagnostics);
  collect(diagnostics, [&] { rename(r.inputs, o.rename_inputs, "inputs"); });
  collect(diagnostics, [&] { rename(r.outputs, o.rename_outputs, "outputs"); });
  collect(diagnostics, [&] { check_distinct(r); });
  return r;
}

}  // namespace t2o::tflite
