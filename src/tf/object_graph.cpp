#include "tf/object_graph.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "tf/wire.h"

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

}  // namespace

std::unordered_map<std::string, std::string> keys_by_variable_name(Bytes saved_object_graph,
                                                                   Bytes trackable_object_graph) {
  const std::vector<Object> saved = read_objects(saved_object_graph, read_saved_object);
  const std::vector<Object> tracked = read_objects(trackable_object_graph, read_trackable);
  std::unordered_map<std::string, std::string> keys;
  if (saved.empty() || tracked.empty()) return keys;
  std::vector<bool> seen(saved.size(), false);
  std::vector<std::pair<std::size_t, std::size_t>> work{{0, 0}};
  seen[0] = true;
  while (!work.empty()) {
    const auto [s, t] = work.back();
    work.pop_back();
    if (!saved[s].variable.empty() && !tracked[t].variable.empty()) {
      const auto [at, fresh] = keys.emplace(saved[s].variable, tracked[t].variable);
      if (!fresh && at->second != tracked[t].variable) at->second.clear();
    }
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

}  // namespace t2o::tf
