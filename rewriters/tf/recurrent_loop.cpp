#include "rewriters/tf/recurrent_loop.h"

#include <algorithm>

namespace t2o::rewriters {
namespace {

class Analysis {
 public:
  Analysis(ir::Node& n, Loop loop, std::string& why)
      : found_{&n, std::move(loop), {}, {}, {}, {}, {}}, math_(found_.loop), why_(&why) {}

  std::optional<RecurrentLoop> run() {
    if (!collect_states() || !find_cells() || !check_finals() || !order_cells() || !read_lists() ||
        !check_limits())
      return {};
    return std::move(found_);
  }

 private:
  bool no(std::string why) {
    *why_ = std::move(why);
    return false;
  }

  bool collect_states() {
    const Loop& loop = found_.loop;
    for (std::size_t i = 0; i < loop.size(); ++i) {
      if (loop.is_constant_argument(i)) continue;
      const DType type = loop.body().inputs()[i]->dtype();
      if (is_complex(type)) return no("its numbers are complex, which ONNX has no layer for");
      if (type == DType::variant) {
        lists_.push_back(i);
      } else if (loop.is_counter(i)) {
        if (!loop.is_final_unused(i)) return no("the number of its steps is read");
      } else {
        add_states(i);
      }
    }
    return true;
  }

  void add_states(std::size_t variable) {
    const Loop& loop = found_.loop;
    for (const Columns& part : math_.parts(loop.result(variable))) {
      State s{variable, {loop.body().inputs()[variable], part.begin, part.count}, math_.resolve(part), {}};
      if (const auto masked = unmask(loop, math_, s.next); masked && masked->inactive == s.previous) {
        s.next = masked->active;
        s.mask = masked->mask;
      }
      found_.states.push_back(std::move(s));
    }
  }

  bool find_cells() {
    found_.cells = CellFinder(found_.loop, math_, found_.states).find();
    if (found_.cells.empty()) return no("no LSTM, GRU or simple cell was found in it");
    found_.mask = found_.states[found_.cells[0].h].mask;
    const auto differs = [&](std::size_t state) { return !(found_.states[state].mask == found_.mask); };
    for (const Cell& c : found_.cells)
      if (differs(c.h) || (c.kind == CellKind::lstm && differs(c.c)))
        return no("its states are masked in different ways");
    for (const Cell& c : found_.cells)
      if (const std::int64_t units = found_.states[c.h].previous.count;
          units < 1 || units > RecurrentLayer::kMostUnits)
        return no("it has " + std::to_string(units) + " units");
    return true;
  }

  std::optional<std::size_t> cell_of(std::size_t state) const {
    for (std::size_t i = 0; i < found_.cells.size(); ++i) {
      const Cell& c = found_.cells[i];
      if (c.h == state || (c.kind == CellKind::lstm && c.c == state)) return i;
    }
    return {};
  }

  // A state that is no cell's may only repeat a cell's output, or be of no interest.
  bool check_finals() {
    for (std::size_t i = 0; i < found_.states.size(); ++i) {
      if (cell_of(i) || found_.loop.is_final_unused(found_.states[i].variable)) continue;
      return no("variable '" + found_.loop.body().inputs()[found_.states[i].variable]->name() +
                "' is no state of a recurrent cell");
    }
    return true;
  }

  // The addends of a sum of whole items and of outputs.
  bool add_parts(const Columns& c, std::vector<Columns>& parts, int depth = 0) {
    const auto source = found_.source(c);
    if (source) {
      parts.push_back(c);
      return !source->rows || (c.begin == 0 && found_.loop.item_shape(c.value)[-1] == c.count);
    }
    if (depth == kMostAddends || !math_.made_by(c, {"Add", "AddV2"})) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const Columns part = math_.resolve(math_.operand(c, i));
      if (part.count != c.count || !add_parts(part, parts, depth + 1)) return false;
    }
    return parts.size() <= kMostAddends;
  }

  void find_sums() {
    for (const Cell& c : found_.cells)
      for (const Columns& in : c.inputs) {
        std::vector<Columns> parts;
        if (!found_.source(in) && add_parts(in, parts)) found_.sums.push_back({in, std::move(parts)});
      }
  }

  bool order_cells() {
    find_sums();
    std::vector<Cell> ordered;
    std::vector<bool> done(found_.cells.size());
    const auto ready = [&](const Cell& c) {
      return std::ranges::all_of(c.inputs, [&](const Columns& in) {
        const auto parts = found_.addends(in);
        return std::ranges::all_of(parts, [&](const Columns& part) {
          const auto s = found_.source(part);
          return s && (s->rows || done[s->cell]);
        });
      });
    };
    for (std::size_t round = 0; round < found_.cells.size(); ++round)
      for (std::size_t i = 0; i < found_.cells.size(); ++i)
        if (!done[i] && ready(found_.cells[i])) {
          ordered.push_back(found_.cells[i]);
          done[i] = true;
        }
    if (ordered.size() != found_.cells.size()) return no("a cell reads something other than a sequence");
    found_.cells = std::move(ordered);
    return true;
  }

  std::optional<std::size_t> cell_with_output(const Columns& c) const {
    for (std::size_t i = 0; i < found_.cells.size(); ++i)
      if (found_.states[found_.cells[i].h].next == c) return i;
    return {};
  }

  // A cell's output, or the sum of it and of what it or another cell reads, as a ResidualWrapper makes.
  bool read_output(const Columns& c, Written& w) {
    if (const auto cell = cell_with_output(c)) {
      w.cell = *cell;
      return true;
    }
    if (!math_.made_by(c, {"Add", "AddV2"})) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto cell = cell_with_output(math_.resolve(math_.operand(c, i)));
      const Columns x = math_.resolve(math_.operand(c, 1 - i));
      std::vector<Columns> parts;
      if (!cell || x.count != c.count || !add_parts(x, parts)) continue;
      w.cell = *cell;
      w.residual = std::move(parts);
      return true;
    }
    return false;
  }

  // What is written is a cell's output, masked in one of three ways.
  bool read_value(Value* v, Written& w) {
    const Columns c = math_.resolve(math_.all(v));
    const auto masked = unmask(found_.loop, math_, c);
    const Columns& output = masked ? masked->active : c;
    if (!read_output(output, w)) return no("what it writes is not the output of a recurrent cell");
    if (!masked) return !found_.mask.value || no("its outputs are not masked as its states are");
    if (!(masked->mask == found_.mask)) return no("its outputs are masked in another way than its states");
    const State& h = found_.states[found_.cells[w.cell].h];
    if (!w.residual.empty() && masked->inactive == h.previous) return no("its outputs are sums, and held");
    if (masked->inactive == h.previous) {
      w.past = Past::hold;
      return true;
    }
    Value* outside = found_.loop.outside(masked->inactive.value);
    if (is_zero(outside ? outside : masked->inactive.value)) {
      w.past = Past::zero;
      return true;
    }
    for (const State& s : found_.states)
      if (s.previous == masked->inactive && s.next == h.next && s.mask == found_.mask &&
          is_zero(found_.loop.initial(s.variable)) && w.residual.empty()) {
        w.past = is_zero(found_.loop.initial(h.variable)) ? Past::hold : Past::hold_zero;
        return true;
      }
    return no("rows that take no part in a step get outputs that are not understood");
  }

  bool read_lists() {
    for (const std::size_t i : lists_) {
      if (found_.loop.is_final_unused(i)) continue;
      const Value* set = found_.loop.result(i);
      if (!is_op(set, "TensorListSetItem"))
        return no("a list is used in another way than to collect outputs");
      const ir::Node& n = *set->producer();
      if (found_.loop.argument(through_identities(n.input(0))) != static_cast<int>(i))
        return no("a list is used in another way than to collect outputs");
      Written w{.variable = i, .cell = 0};
      Value* index = found_.loop.outside(n.input(1));
      w.last_only = index && known_ints(index) == Ints{0};
      if (!w.last_only && !found_.loop.is_step(n.input(1))) return no("a list is not written step by step");
      if (!read_value(n.input(2), w)) return false;
      found_.written.push_back(w);
    }
    return true;
  }

  // The loop runs over all rows of its inputs, and the lists it fills are as long.
  bool check_limits() {
    const auto limits = found_.loop.limits();
    if (!limits || limits->empty()) return no("its condition is not a comparison of the number of steps");
    Value* rows = nullptr;
    for (const Cell& c : found_.cells)
      for (const Columns& in : c.inputs)
        for (const Columns& part : found_.addends(in))
          if (const auto s = found_.source(part); s->rows && !rows) rows = s->rows;
    if (!rows) return no("its cells read no sequence");
    if (rows->shape().ranked() && rows->shape().rank() != 3)
      return no("its input is no sequence of [batch, features]");
    const Extent time = extent_of(rows, 0);
    const auto is_time = [&](Value* v) {
      const auto e = extent_value(v);
      return e && *e == time;
    };
    for (Value* limit : *limits)
      if (!is_time(limit) && !is_longest(through_identities(limit), is_time))
        return no("the number of its steps may be another than the length of its input");
    const auto is_as_long = [&](const Columns& part) {
      const auto s = found_.source(part);
      return !s->rows || extent_of(s->rows, 0) == time;
    };
    const auto differ = [&](const std::vector<Columns>& parts) {
      return !std::ranges::all_of(parts, is_as_long);
    };
    if (std::ranges::any_of(found_.sums, [&](const auto& s) { return differ(s.addends); }) ||
        std::ranges::any_of(found_.written, [&](const auto& w) { return differ(w.residual); }))
      return no("it adds sequences that may have different lengths");
    for (const Written& w : found_.written) {
      if (!w.residual.empty() && w.last_only) return no("its last output is a sum");
      const Value* list = through_identities(found_.loop.initial(w.variable));
      if (!is_op(list, "TensorListReserve")) return no("the list of its outputs is not reserved");
      Value* length = list->producer()->input(1);
      if (w.last_only ? known_ints(length) != Ints{1} : !is_time(length))
        return no("the list of its outputs may have another length than its input");
    }
    return true;
  }

  // min(time, max(1, max(lengths))): steps in which no row takes part are left out.
  template <class IsTime>
  bool is_longest(const Value* v, const IsTime& is_time) {
    if (!found_.mask.value || found_.mask.is_list || !is_op(v, "Minimum")) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      Value* other = through_identities(v->producer()->input(1 - i));
      if (!is_time(v->producer()->input(i))) continue;
      if (is_op(other, "Maximum"))
        for (std::size_t k = 0; k < 2; ++k)
          if (known_ints(other->producer()->input(k)) == Ints{1})
            return is_max_length(other->producer()->input(1 - k));
      return is_max_length(other);
    }
    return false;
  }

  bool is_max_length(Value* v) {
    v = through_identities(v);
    while (is_op(v, "Cast")) v = through_identities(v->producer()->input(0));
    return is_op(v, "Max") && through_identities(v->producer()->input(0)) == found_.mask.value;
  }

  static constexpr int kMostAddends = 16;

  RecurrentLoop found_;
  StepMath math_;
  std::string* why_;
  std::vector<std::size_t> lists_;
};

}  // namespace

std::optional<RecurrentLoop::Source> RecurrentLoop::source(const Columns& operand) const {
  if (Value* rows = loop.item_of(operand.value)) return Source{rows, 0};
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (states[cells[i].h].next == operand) return Source{nullptr, i};
  return {};
}

std::vector<Columns> RecurrentLoop::addends(const Columns& operand) const {
  for (const Sum& s : sums)
    if (s.whole == operand) return s.addends;
  return {operand};
}

std::optional<RecurrentLoop> find_recurrent_loop(ir::Node& n, std::string& why) {
  auto loop = Loop::view(n);
  if (!loop) {
    why = "its graphs do not fit together";
    return {};
  }
  return Analysis(n, *std::move(loop), why).run();
}

}  // namespace t2o::rewriters
