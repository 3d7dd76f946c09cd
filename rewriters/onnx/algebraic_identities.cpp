#include <algorithm>
#include <cmath>
#include <string_view>

#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

constexpr double kUnseen = 1e-6;  // as libraries add to keep a compiler from an optimization

// x * 1 or x + 0, of as many of them as x has elements.
Value* times_ones(const ir::Node& n) {
  if (n.op() != "Mul" && n.op() != "Add") return nullptr;
  const Shape& y = n.output()->shape();
  if (!is_float(n.output()->dtype()) || !y.ranked() || std::ranges::count(y.dims(), kUnknownDim) != 0)
    return nullptr;
  for (const std::size_t i : {0U, 1U})
    if (!n.input(i)->constant() && n.input(i)->shape() == y &&
        uniform_number(n.input(1 - i)) == (n.op() == "Mul" ? 1 : 0))
      return n.input(i);
  return nullptr;
}

// The operand that the node only hands on; null when it does something. Adding 0 makes -0 a 0, which nobody
// tells from it.
Value* handed_on(const ir::Node& n) {
  const std::string_view op = n.op();
  if (op == "Identity" || (op == "Concat" && n.input_count() == 1))
    return n.input(0)->constant() ? nullptr : n.input(0);
  if (op == "Not" && n.input(0)->producer() && n.input(0)->producer()->op() == "Not")
    return n.input(0)->producer()->input(0);
  if (n.outputs().size() != 1 || n.input_count() != 2) return nullptr;
  const bool commutes = op == "Mul" || op == "Add";
  const bool neutral_is_one = contains({"Mul", "Div", "Pow"}, op);
  if (!commutes && !neutral_is_one && op != "Sub") return nullptr;
  const double neutral = neutral_is_one ? 1 : 0;
  Value* x = is_number(n.input(1), neutral)               ? n.input(0)
             : commutes && is_number(n.input(0), neutral) ? n.input(1)
                                                          : nullptr;
  const bool same = x && !x->constant() && x->dtype() == n.output()->dtype() && x->shape().ranked() &&
                    x->shape() == n.output()->shape();
  return same ? x : times_ones(n);
}

bool is_true(const Value* v) {
  const TensorPtr& t = v->constant();
  return t && t->dtype() == DType::boolean && t->elements() == 1 && t->float_at(0) != 0;
}

// Softmax(x + c): it does not see a shift, of which x keeps its digits.
bool unshift(ir::Graph& g, ir::Node& n) {
  const ir::Node* sum = n.op() == "Softmax" ? n.input(0)->producer() : nullptr;
  if (!is_op(sum, "Add") || !only_reader(sum->output())) return false;
  for (const std::size_t i : {0U, 1U}) {
    const auto shift = number_of(sum->input(1 - i));
    const Value* x = sum->input(i);
    if (!shift || std::abs(*shift) > kUnseen || x->constant() || !x->shape().ranked() ||
        x->shape() != sum->output()->shape())
      continue;
    g.set_input(n, 0, sum->input(i));
    return true;
  }
  return false;
}

// All true, in the shape of x.
bool is_true_everywhere(const Value* v, const Value* x) {
  const ir::Node* n = v->producer();
  if (!is_op(n, "Expand") || !is_true(n->input(0))) return false;
  const ir::Node* dims = n->input(1)->producer();
  while (is_op(dims, "Cast")) dims = dims->input(0)->producer();
  if (is_op(dims, "Shape") && dims->attrs().empty() && dims->input(0) == x) return true;
  const Shape& s = v->shape();
  return s.ranked() && s == x->shape() && std::ranges::count(s.dims(), kUnknownDim) == 0;
}

// Where(true everywhere and m, x, y), where all of x is meant: the shape is that of x anyway.
bool drop_true(ir::Graph& g, ir::Node& n) {
  const ir::Node* both = n.op() == "Where" ? n.input(0)->producer() : nullptr;
  if (!is_op(both, "And")) return false;
  for (const std::size_t i : {0U, 1U})
    for (const std::size_t data : {1U, 2U})
      if (is_true_everywhere(both->input(i), n.input(data))) {
        g.set_input(n, 0, both->input(1 - i));
        return true;
      }
  return false;
}

// Where(not c, x, y) = Where(c, y, x)
bool unnegate(ir::Graph& g, ir::Node& n) {
  const ir::Node* no = n.op() == "Where" ? n.input(0)->producer() : nullptr;
  if (!is_op(no, "Not")) return false;
  Value *x = n.input(1), *y = n.input(2);
  g.set_input(n, 0, no->input(0));
  g.set_input(n, 1, y);
  g.set_input(n, 2, x);
  return true;
}

// A Clip of what was clipped to the same bounds, or to tighter ones. Bounds the wrong way round all become
// the upper one.
Value* clipped_already(const ir::Node& n) {
  const ir::Node* p = n.op() == "Clip" && n.input_count() > 1 ? n.input(0)->producer() : nullptr;
  if (!is_op(p, "Clip") || !is_float(n.output()->dtype())) return nullptr;
  const auto low = number_of(p->input(1)), high = number_of(p->input(2));
  if ((p->input(1) && !low) || (p->input(2) && !high) || (low && high && !(*low <= *high))) return nullptr;
  for (const std::size_t bound : {1, 2}) {
    if (!n.input(bound)) continue;
    const auto outer = number_of(n.input(bound)), inner = bound == 1 ? low : high;
    if (!outer || !inner || !(bound == 1 ? *outer <= *inner : *inner <= *outer)) return nullptr;
  }
  return p->output();
}

// Where v is joined further, along the same axis, and nothing else reads it.
const ir::Node* joined_by(const Value* v) {
  const ir::Node *p = v->producer(), *n = is_op(p, "Concat") ? only_reader(v) : nullptr;
  return is_op(n, "Concat") && n->attrs() == p->attrs() ? n : nullptr;
}

bool adds_nothing(const Value* part, const ir::Node& n) {
  const Shape& s = part->shape();
  const auto axis = n.attr_or<std::int64_t>("axis", 0);
  return s.ranked() && axis >= -s.rank() && axis < s.rank() && s[static_cast<int>(axis)] == 0;
}

// Concat(Concat(a, b), c) along one axis is one Concat: the last one gathers what all join, so that a long
// chain is walked once. Parts of size 0 are left out; several runtimes refuse them.
bool flatten(ir::Graph& g, ir::Node& n) {
  const auto is_part = [](const Value* v) { return joined_by(v) != nullptr; };
  const auto is_empty = [&](const Value* v) { return adds_nothing(v, n); };
  if (n.op() != "Concat" || joined_by(n.output()) || std::ranges::all_of(n.inputs(), is_empty) ||
      std::ranges::none_of(n.inputs(), [&](const Value* v) { return is_part(v) || is_empty(v); }))
    return false;
  Values inputs, open(n.inputs().rbegin(), n.inputs().rend());
  while (!open.empty()) {
    Value* v = open.back();
    open.pop_back();
    if (is_part(v))
      open.insert(open.end(), v->producer()->inputs().rbegin(), v->producer()->inputs().rend());
    else if (!is_empty(v))
      inputs.push_back(v);
  }
  if (inputs.empty()) return false;  // the parts' parts are
  if (inputs.size() == 1) return !inputs[0]->constant() && take_over(g, n.output(), inputs[0]);
  Value* all = g.add({"Concat",
                      std::move(inputs),
                      n.attrs(),
                      {{"", n.output()->dtype(), n.output()->shape()}},
                      n.shared_origin(),
                      {},
                      true},
                     &n)
                   .output();
  if (n.output()->known_elements()) g.set_known_elements(all, *n.output()->known_elements());
  return take_over(g, n.output(), all);
}

// A Slice of everything.
Value* sliced_whole(const ir::Node& n) {
  if (n.op() != "Slice" || n.input_count() < 3 || n.input(0)->constant()) return nullptr;
  const Shape& s = n.output()->shape();
  if (!s.ranked() || s != n.input(0)->shape() || std::ranges::count(s.dims(), kUnknownDim) != 0)
    return nullptr;
  if (!n.input(4)) return n.input(0);
  return uniform_number(n.input(4)) == 1 ? n.input(0) : nullptr;
}

int drop(ir::Graph& g) {
  int changes = 0;
  for (ir::Node& n : g.nodes()) {
    Value* neutral = n.op() == "Slice" ? sliced_whole(n) : handed_on(n);
    Value* x = neutral ? neutral : clipped_already(n);
    if (x ? take_over(g, n.output(), x) : drop_true(g, n) || unnegate(g, n) || unshift(g, n)) ++changes;
  }
  if (changes != 0) g.erase_dead();  // a Concat may have had a reader among the dead nodes
  for (ir::Node& n : g.nodes())
    if (flatten(g, n)) ++changes;
  return changes;
}

}  // namespace

Rewriter algebraic_identities() { return {"algebraic_identities", drop}; }

}  // namespace t2o::rewriters
