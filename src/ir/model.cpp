#include "ir/model.h"

#include <algorithm>
#include <array>
#include <map>

#include "support/hash128.h"

namespace t2o::ir {
namespace {

struct Group {
  EqualConstants equal;
  std::size_t graph = 0;   // the first that has them
  bool is_merged = false;  // into an earlier group
};

std::array<std::uint64_t, 2> content_hash(const Value& v) {
  Hash128 hash;
  v.constant()->storage()->stream([&](Bytes b) { hash.add(b); });
  v.constant()->storage()->release();
  return hash.value();
}

void merge(Group& into, Group& from) {
  Values& values = into.equal.values;
  append(values, from.equal.values);
  into.equal.is_shared |= from.equal.is_shared || from.graph != into.graph;
  from.is_merged = true;
}

// Could an equal constant of another graph be among groups of one size?
bool is_worth_hashing(const std::vector<Group*>& groups) {
  return std::ranges::any_of(groups, [](const Group* g) { return !g->equal.is_shared; }) &&
         std::ranges::any_of(
             groups, [&](const Group* g) { return g->equal.is_shared || g->graph != groups[0]->graph; });
}

void merge_equal(const std::vector<Group*>& groups) {
  std::map<std::array<std::uint64_t, 2>, Group*> by_hash;
  for (Group* g : groups) {
    const auto [first, fresh] = by_hash.try_emplace(content_hash(*g->equal.values.front()), g);
    if (!fresh) merge(*first->second, *g);
  }
}

}  // namespace

std::vector<EqualConstants> equal_constants(const std::vector<Values>& by_graph, std::size_t smallest) {
  std::vector<Group> groups;
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_identity;
  for (std::size_t i = 0; i < by_graph.size(); ++i)
    for (Value* v : by_graph[i]) {
      const Storage* storage = v->constant()->storage().get();
      if (!storage || storage->size() < smallest) continue;
      const auto [at, fresh] = by_identity.try_emplace({storage->size(), storage->identity()}, groups.size());
      Group& group = fresh ? groups.emplace_back(Group{{}, i}) : groups[at->second];
      group.equal.values.push_back(v);
      group.equal.is_shared |= group.graph != i;
    }
  std::map<std::size_t, std::vector<Group*>> by_size;
  for (Group& g : groups) by_size[g.equal.values.front()->constant()->byte_size()].push_back(&g);
  for (const auto& [size, same_size] : by_size)
    if (is_worth_hashing(same_size)) merge_equal(same_size);
  std::vector<EqualConstants> all;
  for (Group& g : groups)
    if (!g.is_merged) all.push_back(std::move(g.equal));
  return all;
}

}  // namespace t2o::ir
