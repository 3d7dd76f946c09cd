#include <functional>
#include <string_view>
#include <unordered_map>

#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

constexpr std::size_t kMaxBytes = 1024;  // larger ones are weights: as good as never equal, and costly to look at

std::size_t hash_of(const Tensor& t) {
  const Bytes b = t.bytes();
  std::size_t h = std::hash<std::string_view>()({reinterpret_cast<const char*>(b.data()), b.size()});
  for (const std::int64_t d : t.dims()) h = h * 31 + static_cast<std::size_t>(d);
  return h * 31 + static_cast<std::size_t>(t.dtype());
}

int merge(ir::Graph& g) {
  std::unordered_multimap<std::size_t, Value*> seen;
  int changes = 0;
  for (Value* v : g.constants()) {
    const Tensor& t = *v->constant();
    if (!v->is_used() || v->is_graph_output() || t.dtype() == DType::string || t.byte_size() > kMaxBytes) continue;
    const std::size_t h = hash_of(t);
    const auto [from, to] = seen.equal_range(h);
    Value* same = nullptr;
    for (auto it = from; it != to && !same; ++it)
      if (same_content(*it->second->constant(), t)) same = it->second;
    if (!same) {
      seen.emplace(h, v);
      continue;
    }
    g.replace_all_uses(v, same);
    ++changes;
  }
  if (changes != 0) g.erase_dead();
  return changes;
}

}  // namespace

Rewriter merge_constants() { return {"merge_constants", merge}; }

}  // namespace t2o::rewriters
