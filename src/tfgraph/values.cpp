#include "tfgraph/values.h"

#include <algorithm>
#include <set>

namespace t2o::tfgraph {
namespace {

constexpr std::int64_t kMostElements = 64;

bool is_pure(const std::string& op) {
  constexpr std::string_view kOps[] = {"StridedSlice",    "Shape", "Cast",      "GatherV2", "Sub",
                                       "AddV2",           "Add",   "Transpose", "Squeeze",  "ExpandDims",
                                       "TensorListLength"};
  return contains(kOps, op);
}

bool is_same_constant(const Tensor& a, const Tensor& b) {
  return a.elements() <= kMostElements && b.elements() <= kMostElements && same_content(a, b);
}

}  // namespace

bool is_op(const Value* v, std::string_view op) { return v && v->producer() && v->producer()->op() == op; }

bool is_number(const Value* v, std::int64_t n) {
  return v && v->constant() && is_int(v->dtype()) && v->constant()->elements() == 1 &&
         v->constant()->int_at(0) == n;
}

std::int64_t int_attr(const ir::Node& n, std::string_view name, std::int64_t fallback) {
  return n.attr_or(name, fallback);
}

bool has_same_attrs(const ir::Node& a, const ir::Node& b) {
  return a.attrs().size() == b.attrs().size() &&
         std::ranges::all_of(a.attrs(), [&](const ir::NamedAttr& attr) {
           const Attr* other = b.attr(attr.name);
           return other && *other == attr.value;
         });
}

bool is_identity(const ir::Node& n) {
  const std::string& op = n.op();
  return contains({"Identity", "StopGradient", "PreventGradient", "Snapshot"}, op);
}

Value* through_identities(Value* v) {
  while (v && v->producer()) {
    const ir::Node& n = *v->producer();
    if (is_identity(n))
      v = n.input(0);
    else if (n.op() == "IdentityN")
      v = n.input(v->index());
    else
      break;
  }
  return v;
}

const Value* through_identities(const Value* v) { return through_identities(const_cast<Value*>(v)); }

bool computed_alike(const Value* a, const Value* b, int steps) {
  using Pair = std::pair<const Value*, const Value*>;
  std::set<Pair> seen;
  std::vector<Pair> work = {{a, b}};
  while (!work.empty()) {
    const Value *x = through_identities(work.back().first), *y = through_identities(work.back().second);
    work.pop_back();
    if (x == y || !seen.emplace(x, y).second) continue;
    if (!x || !y || static_cast<int>(seen.size()) > steps) return false;
    if (x->constant() && y->constant()) {
      if (!is_same_constant(*x->constant(), *y->constant())) return false;
      continue;
    }
    const ir::Node *n = x->producer(), *m = y->producer();
    if (!n || !m || n->op() != m->op() || !is_pure(n->op()) || x->index() != y->index() ||
        n->input_count() != m->input_count() || !has_same_attrs(*n, *m))
      return false;
    for (std::size_t i = 0; i < n->input_count(); ++i) work.emplace_back(n->input(i), m->input(i));
  }
  return true;
}

}  // namespace t2o::tfgraph
