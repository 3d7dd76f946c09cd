#include <functional>
#include <string_view>
#include <unordered_map>

#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

constexpr std::size_t kMaxBytes =
    4096;  // larger ones are weights, costly to look at: equal where they are one storage

std::size_t hash_of(const Tensor& t) {
  std::size_t h = std::hash<const Storage*>()(t.storage().get());
  if (t.byte_size() <= kMaxBytes) {
    const Bytes b = t.bytes();
    h = std::hash<std::string_view>()({reinterpret_cast<const char*>(b.data()), b.size()});
  }
  for (const std::int64_t d : t.dims()) h = h * 31 + static_cast<std::size_t>(d);
  return h * 31 + static_cast<std::size_t>(t.dtype());
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.byte_size() <= kMaxBytes) return same_content(a, b);
  return a.storage() == b.storage() && a.dtype() == b.dtype() && a.dims() == b.dims();
}

int merge(ir::Graph& g) {
  std::unordered_multimap<std::size_t, Value*> seen;
  int changes = 0;
  for (Value* v : g.constants()) {
    const Tensor& t = *v->constant();
    if (!v->is_used() || v->is_graph_output() || t.dtype() == DType::string) continue;
    const std::size_t h = hash_of(t);
    const auto [from, to] = seen.equal_range(h);
    Value* first = nullptr;
    for (auto it = from; it != to && !first; ++it)
      if (same(*it->second->constant(), t)) first = it->second;
    if (!first) {
      seen.emplace(h, v);
      continue;
    }
    g.replace_all_uses(v, first);
    ++changes;
  }
  return changes;
}

}  // namespace

Rewriter common_constants() { return {"common_constants", merge}; }

}  // namespace t2o::rewriters
