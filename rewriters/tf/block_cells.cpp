#include "rewriters/tf/cells.h"

namespace t2o::rewriters {
namespace {

const ir::Node* block(StepMath& math, const Columns& c, std::string_view op, std::size_t output) {
  const ir::Node* n = math.made_by(c, {op});
  return n && c.value->index() == output && c.begin == 0 ? n : nullptr;
}

float float_attr(const ir::Node& n, std::string_view name, float fallback) {
  const auto* a = n.attr_if<float>(name);
  return a ? *a : fallback;
}

}  // namespace

// One gate of [x, h] @ weight + bias, whose gates stand side by side.
std::optional<Gate> CellFinder::block_gate(const char* act, Columns x, const Columns& h, Value* weight,
                                           Value* bias, std::int64_t gate) {
  Gate g;
  g.act = {act};
  const Range columns{gate * h.count, h.count};
  std::vector<Product> all;
  if (!math_->products({x, h}, weight, columns, all) || !math_->is_vector(bias)) return {};
  for (const Product& p : all) (p.operand == h ? g.recurrent : g.inputs).push_back(p);
  if (g.recurrent.size() != 1 || g.inputs.empty()) return {};
  g.biases.push_back({{bias, columns.begin, columns.count}, 1});
  return g;
}

// x, c, h, weight and bias [i c f o], peepholes; gives i, c', f, o, ci, co, h'. The forget bias is an
// attribute.
std::optional<Cell> CellFinder::lstm_block(std::size_t c) {
  const State& cs = (*states_)[c];
  const ir::Node* n = block(*math_, cs.next, "LSTMBlockCell", 1);
  if (!n || float_attr(*n, "cell_clip", 3) > 0) return {};
  if (math_->resolve(math_->all(n->input(1))) != cs.previous) return {};
  const Columns h = math_->resolve(math_->all(n->input(2)));
  for (std::size_t i = 0; i < states_->size(); ++i) {
    if ((*states_)[i].previous != h || block(*math_, (*states_)[i].next, "LSTMBlockCell", 6) != n) continue;
    Cell cell;
    cell.kind = CellKind::lstm;
    cell.activations = {{"Sigmoid"}, {"Tanh"}, {"Tanh"}};
    cell.h = i;
    cell.c = c;
    const bool has_peephole = n->attr_or<std::int64_t>("use_peephole", 0) != 0;
    for (const std::int64_t at : {0, 3, 2, 1}) {
      auto g =
          block_gate(at == 1 ? "Tanh" : "Sigmoid", math_->all(n->input(0)), h, n->input(3), n->input(7), at);
      if (!g) return {};
      if (has_peephole && at != 1) {
        Value* w = n->input(at == 0 ? 4 : at == 2 ? 5 : 6);
        if (!math_->is_vector(w)) return {};
        g->peephole = Columns{w, 0, h.count};
      }
      cell.gates.push_back(*std::move(g));
    }
    cell.gates[2].constant_bias = float_attr(*n, "forget_bias", 1);
    return cell;
  }
  return {};
}

// x, h, weights of [r u] and c, their biases; gives r, u, c, h'
std::optional<Cell> CellFinder::gru_block(std::size_t h) {
  const State& state = (*states_)[h];
  const ir::Node* n = block(*math_, state.next, "GRUBlockCell", 3);
  if (!n || math_->resolve(math_->all(n->input(1))) != state.previous) return {};
  const Columns x = math_->all(n->input(0));
  const auto r = block_gate("Sigmoid", x, state.previous, n->input(2), n->input(4), 0);
  const auto z = block_gate("Sigmoid", x, state.previous, n->input(2), n->input(4), 1);
  const auto candidate = block_gate("Tanh", x, state.previous, n->input(3), n->input(5), 0);
  if (!r || !z || !candidate) return {};
  Cell cell;
  cell.kind = CellKind::gru;
  cell.gates = {*z, *r, *candidate};
  cell.activations = {{"Sigmoid"}, {"Tanh"}};
  cell.h = h;
  return cell;
}

}  // namespace t2o::rewriters
