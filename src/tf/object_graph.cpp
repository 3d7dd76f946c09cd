#include "tf/object_graph.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "support/wire.h"

namespace t2o::tf {
namespace {

struct Object {
  std::map<std::string_view, std::size_t> children;
  std::string_view variable;  // the name of a SavedVariable, or the checkpoint key of a trackable's value
};

std::pair<std::string_view, std::size_t> read_reference(WireReader r) {
  std::pair<std::string_view, std::size_t> child;
  while (r.next()) {
    if (r.field() == 1) child.second = static_cast<std::size_t>(r.varint());
    if (r.field() == 2) child.first = r.text();
  }
  return child;
}

std::string_view read_text_field(WireReader r, std::uint32_t field) {
  std::string_view text;
  while (r.next())
    if (r.field() == field) text = r.text();
  return text;
}

std::string_view read_checkpoint_key(WireReader serialized_tensor) {
  std::string_view name, key;
  while (serialized_tensor.next()) {
    if (serialized_tensor.field() == 1) name = serialized_tensor.text();
    if (serialized_tensor.field() == 3) key = serialized_tensor.text();
  }
  return name == "VARIABLE_VALUE" ? key : std::string_view{};
}

Object read_saved_object(WireReader r) {
  Object o;
  while (r.next()) {
    if (r.field() == 1) o.children.insert(read_reference(r.message()));
    if (r.field() == 7) o.variable = read_text_field(r.message(), 6);
  }
  return o;
}

Object read_trackable(WireReader r) {
  Object o;
  while (r.next()) {
    if (r.field() == 1) o.children.insert(read_reference(r.message()));
    if (r.field() != 2) continue;
    if (const std::string_view key = read_checkpoint_key(r.message()); !key.empty()) o.variable = key;
  }
  return o;
}

std::vector<Object> read_objects(Bytes graph, Object (*read)(WireReader)) {
  std::vector<Object> objects;
  for (WireReader r(graph); r.next();)
    if (r.field() == 1) objects.push_back(read(r.message()));
  return objects;
}

using BoundInputs = std::unordered_map<std::string_view, std::vector<std::size_t>>;

// By the names of the concrete functions.
BoundInputs read_bound_inputs(Bytes saved_object_graph) {
  BoundInputs all;
  for (WireReader r(saved_object_graph); r.next();) {
    if (r.field() != 2) continue;
    std::string_view name;
    std::vector<std::size_t> objects;
    for (WireReader entry = r.message(); entry.next();) {
      if (entry.field() == 1) name = entry.text();
      if (entry.field() != 2) continue;
      for (WireReader f = entry.message(); f.next();)
        if (f.field() == 2)
          f.each_varint([&](std::uint64_t id) { objects.push_back(static_cast<std::size_t>(id)); });
    }
    all.emplace(name, std::move(objects));
  }
  return all;
}

std::string called(const NodeDef& n, const Owner& owner) {
  const Bytes* f = n.attr("f");
  if (f == nullptr) return {};
  const Attr attr = decode_attr(*f, {owner});
  const auto* func = std::get_if<Func>(&attr);
  return func == nullptr ? std::string() : func->name;
}

// Keys by the saved object.
std::vector<std::string_view> walk(const std::vector<Object>& saved, const std::vector<Object>& tracked) {
  std::vector<std::string_view> keys(saved.size());
  if (saved.empty() || tracked.empty()) return keys;
  std::vector<bool> seen(saved.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> work{{0, 0}};
  seen[0] = true;
  while (!work.empty()) {
    const auto [s, t] = work.back();
    work.pop_back();
    keys[s] = tracked[t].variable;
    for (const auto& [name, child] : saved[s].children) {
      const auto found = tracked[t].children.find(name);
      if (found == tracked[t].children.end() || child >= saved.size() || found->second >= tracked.size() ||
          seen[child])
        continue;
      seen[child] = true;
      work.emplace_back(child, found->second);
    }
  }
  return keys;
}

}  // namespace

Captures read_captures(const GraphDef& g, Bytes saved_object_graph) {
  Captures captures;
  if (saved_object_graph.empty()) return captures;
  const BoundInputs functions = read_bound_inputs(saved_object_graph);
  for (const NodeDef& n : g.body.nodes) {
    if (n.op != "StatefulPartitionedCall" && n.op != "PartitionedCall") continue;
    const auto function = functions.find(called(n, g.owner));
    if (function == functions.end()) continue;
    std::size_t count = n.inputs.size();
    while (count > 0 && n.inputs[count - 1].starts_with('^')) --count;
    const std::vector<std::size_t>& bound = function->second;  // the last arguments
    if (bound.size() > count) continue;
    for (std::size_t i = 0; i < bound.size(); ++i)
      captures.emplace(n.inputs[count - bound.size() + i], bound[i]);
  }
  return captures;
}

VariableKeys read_variable_keys(Bytes saved_object_graph, Bytes trackable_object_graph,
                                const Captures& captures) {
  const std::vector<Object> saved = read_objects(saved_object_graph, read_saved_object);
  const std::vector<Object> tracked = read_objects(trackable_object_graph, read_trackable);
  const std::vector<std::string_view> keys = walk(saved, tracked);
  VariableKeys out;
  out.by_object.assign(keys.begin(), keys.end());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].variable.empty() || keys[i].empty()) continue;
    const auto [at, fresh] = out.by_name.emplace(saved[i].variable, keys[i]);
    if (!fresh && at->second != keys[i]) at->second.clear();
  }
  for (const auto& [node, object] : captures)
    if (object < keys.size() && !keys[object].empty()) out.by_node.emplace(node, keys[object]);
  return out;
}

}  // namespace t2o::tf
