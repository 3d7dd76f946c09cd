#include "rewriters/tf/cells.h"

#include <algorithm>
#include <array>

namespace t2o::rewriters {
namespace {

using Pair = std::pair<Columns, Columns>;

constexpr std::array<bool, 2> kOrders = {false, true};
Pair in_order(const Pair& p, bool swapped) { return swapped ? Pair{p.second, p.first} : p; }

}  // namespace

std::vector<Cell> CellFinder::find() {
  std::vector<Cell> cells;
  std::vector<bool> taken(states_->size());
  const auto take = [&](std::optional<Cell> cell) {
    if (!cell || taken[cell->h] || !collect_inputs(*cell)) return;
    taken[cell->h] = true;
    if (cell->kind == CellKind::lstm) taken[cell->c] = true;
    cells.push_back(std::move(*cell));
  };
  for (std::size_t i = 0; i < states_->size(); ++i) take(lstm_block(i));
  for (std::size_t i = 0; i < states_->size(); ++i)
    if (!taken[i]) take(gru_block(i));
  for (std::size_t i = 0; i < states_->size(); ++i)
    if (!taken[i]) take(lstm(i));
  for (std::size_t i = 0; i < states_->size(); ++i)
    if (!taken[i]) take(gru(i));
  for (std::size_t i = 0; i < states_->size(); ++i)
    if (!taken[i]) take(rnn(i));
  return cells;
}

std::optional<Pair> CellFinder::factors(const Columns& c) {
  if (!math_->made_by(c, {"Mul"})) return {};
  return Pair{math_->resolve(math_->operand(c, 0)), math_->resolve(math_->operand(c, 1))};
}

std::optional<Pair> CellFinder::addends(const Columns& c) {
  if (!math_->made_by(c, {"Add", "AddV2"})) return {};
  return Pair{math_->resolve(math_->operand(c, 0)), math_->resolve(math_->operand(c, 1))};
}

// 1 - of
bool CellFinder::is_complement(const Columns& c, const Columns& of) {
  if (!math_->made_by(c, {"Sub"})) return false;
  Value* one = loop_->outside(c.value->producer()->input(0));
  return one && known_scalar(one) == 1.0 && math_->resolve(math_->operand(c, 1)) == of;
}

// Each product is by the state before, or by something else, which is the input.
bool CellFinder::sort_out(const Linear& l, const State& h, const Columns* cell, Gate& g) {
  for (const Product& p : l.products) (p.operand == h.previous ? g.recurrent : g.inputs).push_back(p);
  g.biases = l.biases;
  for (const Diagonal& d : l.diagonals) {
    if (!cell || d.operand != *cell || g.peephole || d.sign < 0) return false;
    g.peephole = d.vector;
  }
  const std::int64_t width = h.previous.count;
  const auto fits = [&](const Bias& b) { return b.vector.count == width || b.vector.count == 1; };
  const auto is_whole = [&](const Product& p) { return p.columns.count == width; };
  return std::ranges::all_of(g.biases, fits) && std::ranges::all_of(l.products, is_whole) &&
         (!g.peephole || g.peephole->count == width);
}

std::optional<Gate> CellFinder::gate(const Columns& c, const State& h, const Columns* cell) {
  Gate g;
  Columns argument;
  g.act = math_->activation(c, argument);
  const Linear l = math_->linear(argument);
  if (!l.others.empty() || !sort_out(l, h, cell, g) || g.recurrent.empty() || g.inputs.empty()) return {};
  return g;
}

// ---- LSTM: c' = f * c + i * g, h' = o * act(c')

std::optional<Cell> CellFinder::lstm(std::size_t c) {
  const State& state = (*states_)[c];
  const auto sum = addends(state.next);
  if (!sum) return {};
  for (const bool swap_sum : kOrders) {
    const Pair s = in_order(*sum, swap_sum);
    const auto kept = factors(s.first), added = factors(s.second);
    if (!kept || !added) continue;
    for (const bool swap_kept : kOrders) {
      const Pair k = in_order(*kept, swap_kept);
      if (k.second != state.previous) continue;
      for (std::size_t h = 0; h < states_->size(); ++h)
        if (h != c)
          if (auto cell = lstm_of(c, h, k.first, added->first, added->second)) return cell;
    }
  }
  return {};
}

std::optional<Cell> CellFinder::lstm_of(std::size_t c, std::size_t h, const Columns& forget, const Columns& a,
                                        const Columns& b) {
  const State &cs = (*states_)[c], &hs = (*states_)[h];
  if (cs.previous.count != hs.previous.count || hs.previous.count <= 0) return {};
  const auto out = factors(hs.next);
  if (!out) return {};
  for (const bool swapped : kOrders) {
    const Pair o = in_order(*out, swapped);
    Columns inner;
    const Activation h_act = math_->activation(o.second, inner);
    if (math_->resolve(inner) != cs.next) continue;
    auto og = gate(o.first, hs, &cs.next), fg = gate(forget, hs, &cs.previous);
    auto ig = gate(a, hs, &cs.previous), gg = gate(b, hs, &cs.previous);
    if (!og || !fg || !ig || !gg) continue;
    if (!(ig->act == fg->act) || gg->peephole) std::swap(ig, gg);  // a product of two: either order
    if (!(ig->act == fg->act) || !(og->act == fg->act) || gg->peephole) continue;
    Cell cell;
    cell.kind = CellKind::lstm;
    cell.activations = {fg->act, gg->act, h_act};
    cell.h = h;
    cell.c = c;
    cell.gates = {*ig, *og, *fg, *gg};
    return cell;
  }
  return {};
}

// ---- GRU: h' = z * h + (1 - z) * candidate

std::optional<Cell> CellFinder::gru(std::size_t h) {
  const State& state = (*states_)[h];
  const auto sum = addends(state.next);
  if (!sum || state.previous.count <= 0) return {};
  for (const bool swap_sum : kOrders) {
    const Pair s = in_order(*sum, swap_sum);
    const auto kept = factors(s.first), added = factors(s.second);
    if (!kept || !added) continue;
    for (const bool swap_kept : kOrders) {
      const Pair k = in_order(*kept, swap_kept);
      if (k.second != state.previous) continue;
      for (const bool swap_added : kOrders) {
        const Pair a = in_order(*added, swap_added);
        std::optional<Cell> cell;
        if (is_complement(a.first, k.first)) cell = gru_of(h, k.first, false, a.second);
        if (!cell && is_complement(k.first, a.first)) cell = gru_of(h, a.first, true, a.second);
        if (cell) return cell;
      }
    }
  }
  return {};
}

void negate(Gate& g) {  // 1 - sigmoid(x) = sigmoid(-x)
  for (auto* products : {&g.inputs, &g.recurrent})
    for (Product& p : *products) p.sign = -p.sign;
  for (Bias& b : g.biases) b.sign = -b.sign;
}

std::optional<Cell> CellFinder::gru_of(std::size_t h, const Columns& update, bool inverted,
                                       const Columns& candidate) {
  const State& state = (*states_)[h];
  auto z = gate(update, state);
  if (!z || (inverted && z->act.name != "Sigmoid")) return {};
  if (inverted) negate(*z);
  Cell cell;
  cell.kind = CellKind::gru;
  cell.h = h;
  Gate r;
  auto hh = candidate_gate(candidate, state, r, cell.linear_before_reset);
  if (!hh || !(r.act == z->act)) return {};
  cell.gates = {*z, r, *hh};
  cell.activations = {z->act, hh->act};
  return cell;
}

// act(x W + (r * h) R + b), or with linear_before_reset: act(x W + b + r * (h R + rb))
std::optional<Gate> CellFinder::candidate_gate(const Columns& c, const State& h, Gate& reset,
                                               bool& linear_before_reset) {
  Gate g;
  Columns argument;
  g.act = math_->activation(c, argument);
  Linear l = math_->linear(argument);
  linear_before_reset = l.others.size() == 1;
  if (l.others.size() > 1 || !sort_out(l, h, nullptr, g) || !g.recurrent.empty()) return {};
  if (linear_before_reset) {
    const auto product = factors(l.others[0]);
    if (!product) return {};
    for (const bool swapped : kOrders) {
      const Pair p = in_order(*product, swapped);
      Gate inner;
      const Linear recurrent = math_->linear(p.second);
      if (!recurrent.others.empty() || !sort_out(recurrent, h, nullptr, inner) || !inner.inputs.empty())
        continue;
      const auto r = gate(p.first, h);
      if (!r || inner.recurrent.empty()) continue;
      reset = *r;
      g.recurrent = inner.recurrent;
      g.recurrent_biases = inner.biases;
      return g.inputs.empty() ? std::nullopt : std::optional(g);
    }
    return {};
  }
  std::vector<Product> inputs;
  for (const Product& p : g.inputs) {
    const auto product = factors(p.operand);
    std::optional<Gate> r;
    if (product && product->second == h.previous) r = gate(product->first, h);
    if (product && !r && product->first == h.previous) r = gate(product->second, h);
    if (!r) {
      inputs.push_back(p);
      continue;
    }
    if (!g.recurrent.empty()) return {};
    reset = *r;
    g.recurrent.push_back(p);
  }
  g.inputs = inputs;
  return g.recurrent.empty() || g.inputs.empty() ? std::nullopt : std::optional(g);
}

// ---- h' = act(x W + h R + b)

std::optional<Cell> CellFinder::rnn(std::size_t h) {
  const State& state = (*states_)[h];
  if (state.previous.count <= 0) return {};
  auto g = gate(state.next, state);
  if (!g) return {};
  Cell cell;
  cell.gates = {*g};
  cell.activations = {g->act};
  cell.h = h;
  return cell;
}

// Every gate sees the same inputs.
bool CellFinder::collect_inputs(Cell& cell) {
  for (const Gate& g : cell.gates)
    for (const Product& p : g.inputs)
      if (!contains(cell.inputs, p.operand)) cell.inputs.push_back(p.operand);
  return std::ranges::all_of(cell.gates, [&](const Gate& g) {
    return std::ranges::all_of(cell.inputs, [&](const Columns& in) {
      return std::ranges::any_of(g.inputs, [&](const Product& p) { return p.operand == in; });
    });
  });
}

}  // namespace t2o::rewriters
