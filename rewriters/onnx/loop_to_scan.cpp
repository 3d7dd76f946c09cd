#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/steps.h"

// A Loop of a known number of steps, which reads one row per step of tensors with as many rows, becomes a
// Scan: no counters, no Gathers, and the results of the steps need no copy. The states of a Scan keep their
// shape. A Loop of no steps stays as it is: it has nothing to gain.
namespace t2o::rewriters {
namespace {

class ToScan {
 public:
  ToScan(const Steps& loop, const onnx::Target& target)
      : loop_(loop), target_(target), g_(*loop.node().graph()), body_(loop.body()) {}

  bool run() {
    if (!has_fixed_steps() || !find_rows() || !find_states()) return false;
    replace();
    return true;
  }

 private:
  bool has_fixed_steps() {
    const ir::Node& n = loop_.node();
    const auto count = n.input(0) ? number_of(n.input(0)) : std::nullopt;
    const TensorPtr first = n.input(1) ? n.input(1)->constant() : nullptr;
    if (!count || *count < 1 || (n.input(1) && (!first || first->bytes()[0] == std::byte{0}))) return false;
    steps_ = static_cast<Dim>(*count);
    const Value* going = body_.inputs()[1];
    const ir::Node* on = body_.outputs()[0]->producer();
    return going->uses().size() == 1 && is_op(on, "Identity") && on->input(0) == going &&
           on->graph() == &body_ && on->output()->uses().empty();
  }

  bool find_rows() {
    for (ir::Node& n : body_.nodes()) {
      const Value* rows = loop_.rows_of(n);
      if (!rows || rows->shape()[0] != steps_ || n.output()->is_graph_output()) continue;
      rows_.push_back(&n);
    }
    const Value* round = body_.inputs()[0];
    return !rows_.empty() &&
           std::ranges::all_of(round->uses(), [&](const ir::Use& u) { return is_row(u.node); });
  }

  bool is_row(const ir::Node* n) const { return contains(rows_, n); }

  // A counter that nothing asks for but rows.
  bool is_only_counter(std::size_t i) const {
    const Value* v = loop_.before(i);
    return loop_.is_counter(i) && !loop_.node().output(i)->is_used() && loop_.after(i)->uses().empty() &&
           std::ranges::all_of(v->uses(), [&](const ir::Use& u) {
             return is_row(u.node) || u.node == loop_.after(i)->producer();
           });
  }

  bool keeps_shape(std::size_t i) const {
    const Shape &first = loop_.initial(i)->shape(), &in = loop_.before(i)->shape(),
                &out = loop_.after(i)->shape();
    if (!first.ranked() || first != out || first != in) return false;
    return std::ranges::all_of(first.dims(), [](Dim d) { return equal_dims(d, d); });
  }

  // Of a state that no step reads: the other state whose last value it is with axes of size 1, as a list of
  // one element leaves it; else -1.
  int same_as(std::size_t i) const {
    const ir::Node* n = loop_.after(i)->producer();
    if (loop_.before(i)->is_used() || !is_op(n, "Unsqueeze") || !axes_of(*n)) return -1;
    for (std::size_t k = 0; k < loop_.states(); ++k)
      if (k != i && loop_.after(k) == n->input(0) && keeps_shape(k) && same_as(k) < 0)
        return static_cast<int>(k);
    return -1;
  }

  bool find_states() {
    for (std::size_t i = 0; i < loop_.states(); ++i) {
      if (is_only_counter(i)) continue;
      if (same_as(i) < 0 && !keeps_shape(i)) return false;
      (same_as(i) < 0 ? states_ : unsqueezed_).push_back(i);
    }
    return true;
  }

  void replace();
  void change_body(const Values& outputs);

  const Steps& loop_;
  const onnx::Target& target_;
  ir::Graph &g_, &body_;
  Dim steps_ = 0;
  std::vector<ir::Node*> rows_;
  std::vector<std::size_t> states_, unsqueezed_;
};

void ToScan::replace() {
  ir::Node& n = loop_.node();
  const GraphPtr body = *n.attr_if<GraphPtr>("body");
  ir::NodeSpec spec{.op = "Scan",
                    .attrs = {{"body", body}, {"num_scan_inputs", static_cast<std::int64_t>(rows_.size())}},
                    .origin = n.shared_origin(),
                    .name = n.name()};
  Values inner, outer;
  for (const std::size_t i : states_) {
    spec.inputs.push_back(loop_.initial(i));
    inner.push_back(loop_.after(i));
    outer.push_back(n.output(i));
  }
  for (std::size_t k = loop_.states(); k < n.outputs().size(); ++k) {
    inner.push_back(body_.outputs()[k + 1]);
    outer.push_back(n.output(k));
  }
  Emitter e(n, target_);
  for (const ir::Node* row : rows_) spec.inputs.push_back(loop_.seen_from(e, row->input(0)));
  for (const Value* v : outer) spec.outputs.push_back({{}, v->dtype(), v->shape()});
  const Values made = g_.add(std::move(spec), &n).outputs();
  for (const std::size_t i : unsqueezed_) {
    const auto same = std::ranges::find(states_, static_cast<std::size_t>(same_as(i)));
    Value* last = nth(made, same - states_.begin());
    Value* y = e.unsqueeze(last, *axes_of(*loop_.after(i)->producer()));
    if (n.output(i)->is_used()) replace_value(g_, n.output(i), y);
  }
  change_body(inner);
  for (std::size_t i = 0; i < outer.size(); ++i) replace_value(g_, outer[i], made[i]);
  g_.remove_attr(n, "body");
  g_.erase(n);
}

// (round, condition, states) -> (condition, states, results) becomes (states, rows) -> (states, results).
void ToScan::change_body(const Values& outputs) {
  Values gone{body_.inputs()[0], body_.inputs()[1]};
  for (std::size_t i = 0; i < loop_.states(); ++i)
    if (!contains(states_, i)) gone.push_back(loop_.before(i));
  for (ir::Node* row : rows_) {
    Value* v = row->output();
    body_.replace_all_uses(v, body_.add_input(body_.name() + "/row", v->dtype(), v->shape()));
  }
  body_.set_outputs(outputs);
  body_.erase_dead();
  for (Value* v : gone) body_.remove_input(v);
}

}  // namespace

Rewriter loop_to_scan(const onnx::Target& target) { return for_each_loop<ToScan>("loop_to_scan", target); }

}  // namespace t2o::rewriters
