#include "tf/labels.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include "tfgraph/paths.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kLongest = 200;  // of a prefix: labels of deep nests do not need all levels

std::size_t hash_of(std::string_view label) { return std::hash<std::string_view>()(label); }

std::string_view last_level(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::string nested(const std::string& prefix, std::string_view level) {
  return prefix.size() > kLongest || level.empty() ? prefix : prefix + std::string(level) + "/";
}

// Nodes that make neither nodes nor values of the graph.
bool is_nameless(OpKind k) {
  return k == OpKind::no_data || k == OpKind::call || k == OpKind::function || k == OpKind::read_variable ||
         passes_through(k);
}

constexpr std::string_view kRead = "ReadVariableOp";
constexpr int kMostSteps = 8;  // from a node that reads a weight to the weight

bool is_hand_over(const Body& body, std::uint32_t n) {
  return body.ops[n]->kind == OpKind::pass_through && !body.inputs_of(n).empty() &&
         body.inputs_of(n)[0].node >= 0;
}

struct Weight {
  std::string_view name;
  tfgraph::Named named;
};

// The weights of a frozen graph, each with the name that says most of it: its own, or that of a node that
// reads it. TensorFlow calls a weight that a function takes "unknown_3".
std::unordered_map<std::uint32_t, Weight> frozen_weights(const Body& body) {
  std::unordered_map<std::uint32_t, Weight> weights;
  for (const std::uint32_t reader : body.plan) {
    const OpKind kind = body.ops[reader]->kind;
    if (kind != OpKind::constant && kind != OpKind::pass_through) continue;
    const std::string_view name = body.node(reader).name;
    if (name.find(kRead) == std::string_view::npos) continue;
    std::uint32_t n = reader;
    for (int steps = 0; steps < kMostSteps && is_hand_over(body, n); ++steps)
      n = static_cast<std::uint32_t>(body.inputs_of(n)[0].node);
    const bool is_nameless = body.node(n).name.starts_with("unknown");
    if (body.ops[n]->kind == OpKind::constant && (n == reader || is_nameless))
      weights.try_emplace(n,
                          Weight{name, n == reader ? tfgraph::Named::by_itself : tfgraph::Named::by_reader});
  }
  return weights;
}

}  // namespace

std::string_view BodyLabels::of(std::string_view name, std::string& room) const {
  const bool is_made_up = has_made_up && !tfgraph::made_up_beginning(name).empty();
  std::string_view path = is_made_up ? (room = tfgraph::without_made_up(name)) : name;
  const bool repeats = !scope.empty() && path.size() > scope.size() + 1 && path.starts_with(scope) &&
                       path[scope.size()] == '/';
  if (repeats) path.remove_prefix(scope.size() + 1);
  if (prefix.empty()) return path;
  std::string label;
  label.reserve(prefix.size() + path.size());
  label += prefix;
  label += path;
  return room = std::move(label);
}

std::string BodyLabels::of(std::string_view name) const {
  std::string room;
  const std::string_view label = of(name, room);
  return label.data() == room.data() && label.size() == room.size() ? room : std::string(label);
}

std::string BodyLabels::of(const Body& body, std::uint32_t n) const {
  if (!others.empty())
    if (const auto other = others.find(n); other != others.end()) return other->second;
  return of(body.node(n).name);
}

BodyLabels BodyLabels::of_call(std::string_view node) const {
  const bool is_plain = !tfgraph::is_made_up(last_level(node));
  const auto called = [&](const std::string& path) {
    return is_plain ? path : path.substr(0, path.size() - std::min(path.size(), last_level(path).size() + 1));
  };
  BodyLabels inner;
  inner.prefix = prefix.size() > kLongest ? prefix : called(of(node));
  if (!inner.prefix.empty() && !inner.prefix.ends_with('/')) inner.prefix += '/';
  inner.kept = nested(kept, node);
  inner.scope = called(tfgraph::without_made_up(node));
  return inner;
}

BodyLabels BodyLabels::of_branch(const Body& body, std::uint32_t n, const std::string& role) const {
  BodyLabels inner;
  inner.prefix = prefix.size() > kLongest ? prefix : of(body, n) + "/" + role + "/";
  inner.kept = nested(kept, std::string(body.node(n).name) + "/" + role);
  inner.scope = tfgraph::without_made_up(body.node(n).name);
  return inner;
}

struct Labels::Entry {
  std::uint32_t node;
  std::string_view name;
  std::optional<tfgraph::Named> weight;
  std::size_t hash = 0;  // of the label
  bool is_taken = false;

  std::string label(const std::string& path) const {
    return weight ? tfgraph::of_weight(path, *weight) : path;
  }
};

struct Labels::Group {  // the nodes of one call: a function that is called, or one that the exporter inlined
  std::string_view beginning;
  std::vector<Entry> entries;
};

void Labels::settle(BodyLabels& labels, const Body& body, bool has_calls) {
  const auto weights = body.signature ? std::unordered_map<std::uint32_t, Weight>() : frozen_weights(body);
  const bool has_made_up = std::ranges::any_of(
      body.plan, [&](std::uint32_t n) { return !tfgraph::made_up_beginning(body.node(n).name).empty(); });
  const bool is_plain = !has_calls && weights.empty() && !has_made_up;
  if (is_plain) {
    labels.are_names = labels.prefix.empty() && labels.scope.empty();
    return;
  }
  labels.has_made_up = has_made_up;
  std::deque<Group> groups(1);  // first the nodes that no inlined call holds
  std::unordered_map<std::string_view, Group*> by_beginning{{"", &groups.front()}};
  for (const std::uint32_t n : body.plan) {
    if (is_nameless(body.ops[n]->kind)) continue;
    Entry e{n, body.node(n).name, std::nullopt};
    if (const auto weight = weights.find(n); weight != weights.end()) {
      e.name = weight->second.name;
      e.weight = weight->second.named;
    }
    const auto beginning = has_made_up ? tfgraph::made_up_beginning(e.name) : std::string_view();
    const auto [at, fresh] = by_beginning.try_emplace(beginning, nullptr);
    if (fresh) at->second = &groups.emplace_back(Group{beginning, {}});
    at->second->entries.push_back(e);
  }
  // A call inside of another one gives way.
  std::ranges::stable_sort(groups, {}, [](const Group& g) { return g.beginning; });
  for (Group& g : groups) settle(labels, g);
}

// Where another call has most of the labels, all nodes of this one keep the call's name. Where it has a few,
// only the scopes of these keep it, and nodes outside of any scope get a number.
void Labels::settle(BodyLabels& labels, Group& g) {
  std::size_t collisions = 0;
  std::unordered_set<std::string_view> scopes;
  std::string room;
  for (Entry& e : g.entries) {
    const std::string_view label = labels.of(e.name, room);
    e.hash = e.weight ? hash_of(tfgraph::of_weight(label, *e.weight)) : hash_of(label);
    e.is_taken = taken_.contains(e.hash);
    if (!e.is_taken) continue;
    ++collisions;
    const std::size_t slash = e.name.rfind('/');
    if (slash != std::string_view::npos && slash > g.beginning.size()) scopes.insert(e.name.substr(0, slash));
  }
  const auto is_in_scope = [&](std::string_view path) {
    for (std::size_t slash = scopes.empty() ? path.npos : path.rfind('/'); slash != path.npos;
         slash = path.rfind('/', slash - 1)) {
      if (scopes.contains(path.substr(0, slash))) return true;
      if (slash == 0) break;
    }
    return false;
  };
  const bool is_repeated = collisions != 0 && 2 * collisions >= g.entries.size();
  const bool is_all = is_repeated && g.beginning.empty();
  if (is_all) labels.prefix = labels.kept;
  for (Entry& e : g.entries) {
    if (!is_repeated && !is_in_scope(e.name)) continue;
    std::string label = e.label(is_all ? labels.of(e.name) : labels.kept + std::string(e.name));
    e.hash = hash_of(label);
    e.is_taken = taken_.contains(e.hash);
    if (!is_all) labels.others[e.node] = std::move(label);
  }
  for (Entry& e : g.entries)
    if (!e.is_taken) e.is_taken = !taken_.insert(e.hash);
  for (const Entry& e : g.entries) {
    if (!e.is_taken && !e.weight) continue;
    std::string& label = labels.others[e.node];
    if (label.empty()) label = e.label(labels.of(e.name));
    if (e.is_taken) label = unique(label);
  }
}

std::string Labels::unique(const std::string& label) {
  for (int& number = last_number_[label];;)
    if (std::string candidate = label + "_" + std::to_string(++number); taken_.insert(hash_of(candidate)))
      return candidate;
}

}  // namespace t2o::tf
