#include "rewriters/tf/time_reversal.h"

#include <algorithm>

#include "rewriters/tf/facts.h"

namespace t2o::rewriters {
namespace {

bool reverses(const ir::Node& n, int axis, const Value* lengths) {
  if (n.op() == "ReverseV2" && !lengths) {
    const auto axes = known_ints(n.input(1));
    if (!axes || axes->size() != 1) return false;
    const Shape& s = n.input(0)->shape();
    return (*axes)[0] == axis || (s.ranked() && (*axes)[0] == axis - s.rank());
  }
  return n.op() == "ReverseSequence" && lengths &&
         through_identities(n.input(1)) == through_identities(const_cast<Value*>(lengths)) &&
         int_attr(n, "seq_dim") == axis && int_attr(n, "batch_dim") == 1 - axis;
}

// Where the axis was before the Transpose.
std::optional<int> axis_before(const ir::Node& n, int axis) {
  const auto perm = known_ints(n.input(1));
  if (!perm || axis >= static_cast<int>(perm->size())) return {};
  return static_cast<int>(nth(*perm, axis));
}
int axis_behind(const ir::Node& n, int axis) {  // -1: unknown
  const auto perm = known_ints(n.input(1));
  if (!perm) return -1;
  const auto at = std::ranges::find(*perm, axis);
  return at == perm->end() ? -1 : static_cast<int>(at - perm->begin());
}

bool passes_on(const ir::Node& n) { return n.op() == "Identity" || n.op() == "StopGradient"; }

struct Reader {
  ir::Node* reversal;
  std::vector<const ir::Node*> path;  // from v on
};

// The reversals behind v; false when something else reads it.
bool collect_readers(const Value* v, int axis, Value* lengths, std::vector<const ir::Node*> path,
                     std::vector<Reader>& out) {
  if (v->is_graph_output() || path.size() > 4) return false;
  for (const ir::Use& u : v->uses()) {
    ir::Node& n = *u.node;
    if (u.input != 0) return false;
    if (reverses(n, axis, lengths)) {
      out.push_back({&n, path});
      continue;
    }
    if (n.op() == "Shape" && !n.output()->is_used()) continue;
    const int next = n.op() == "Transpose" ? axis_behind(n, axis) : passes_on(n) ? axis : -1;
    if (next < 0) return false;
    std::vector<const ir::Node*> longer = path;
    longer.push_back(&n);
    if (!collect_readers(n.output(), next, lengths, std::move(longer), out)) return false;
  }
  return true;
}

}  // namespace

std::optional<Unreversed> find_reversal(Value* v, int axis, Value* lengths) {
  Unreversed u{v, {}};
  for (int depth = 0; depth < 8; ++depth) {
    const ir::Node* n = u.source->producer();
    if (!n || n->input_count() == 0) return {};
    if (reverses(*n, axis, lengths)) {
      u.source = n->input(0);
      std::ranges::reverse(u.path);
      return u;
    }
    if (n->op() == "Transpose") {
      const auto before = axis_before(*n, axis);
      if (!before) return {};
      axis = *before;
    } else if (!passes_on(*n)) {
      return {};
    }
    u.path.push_back(n);
    u.source = n->input(0);
  }
  return {};
}

Value* undo_reversal(const Unreversed& u, Rewrite& w) {
  Value* v = u.source;
  for (const ir::Node* n : u.path)
    if (!passes_on(*n))
      v = w.make(n->op(), {v, n->input(1)}, n->attrs(), n->output()->dtype(), n->output()->shape());
  return v;
}

bool is_only_reversed(const Value* v, Value* lengths) {
  std::vector<Reader> readers;
  return collect_readers(v, 0, lengths, {}, readers);
}

void replace_reversals(Value* v, Value* y, Value* lengths) {
  std::vector<Reader> readers;
  collect_readers(v, 0, lengths, {}, readers);
  for (const Reader& r : readers) {
    Rewrite w(*r.reversal->graph(), *r.reversal);
    replace_value(*r.reversal->graph(), r.reversal->output(), undo_reversal({y, r.path}, w));
  }
}

}  // namespace t2o::rewriters
