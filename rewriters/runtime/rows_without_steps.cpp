#include <algorithm>

#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// The last state of a row of the batch that takes no step is its first one.
namespace t2o::rewriters {
namespace {

constexpr std::size_t kLengths = 4, kStates = 5;  // inputs: sequence_lens, initial_h and initial_c

bool has_steps_everywhere(const Value* lengths) {
  if (!lengths->constant()) return false;
  const Ints all = lengths->constant()->to_ints();
  return std::ranges::all_of(all, [](std::int64_t n) { return n > 0; });
}

// Nothing but the choice between the two reads it.
bool is_chosen(const Value* last, const Value* before) {
  return !last->is_graph_output() && std::ranges::all_of(last->uses(), [&](const ir::Use& u) {
    return u.node->op() == "Where" && u.input == 1 && u.node->input(2) == before;
  });
}

int guard(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  Value* lengths = n.input(kLengths);
  if (!lengths || has_steps_everywhere(lengths)) return 0;
  const auto before = [&](std::size_t output) {
    return output == 0 ? nullptr : n.input(kStates + output - 1);
  };
  const auto is_kept = [&](std::size_t output) {
    return n.output(output) && n.output(output)->is_used() && before(output) &&
           uniform_number(before(output)) != 0.0 && !is_chosen(n.output(output), before(output));
  };
  if (!is_kept(1) && (n.op() != "LSTM" || !is_kept(2))) return 0;
  Emitter e(n, target);
  Values all = e.emit_n(n.op(), n.inputs(), n.attrs(), n.outputs().size());
  Value* steps = e.unsqueeze(e.greater(lengths, e.scalar_like(lengths, 0)), {0, 2});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!n.output(i)) continue;
    replace_value(g, n.output(i), is_kept(i) ? e.where(steps, all[i], before(i)) : all[i]);
  }
  g.erase(n);
  return 1;
}

}  // namespace

Rewriter rows_without_steps(const onnx::Target& target) {
  return change_each("rows_without_steps", {"LSTM", "GRU", "RNN"}, target, guard);
}

}  // namespace t2o::rewriters
