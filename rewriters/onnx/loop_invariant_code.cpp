
#include "onnx/emitter.h"
#include "onnx/op_traits.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/steps.h"

// Work that a loop over time does on the row of a step alone, such as the weighted inputs of a cell, is done
// on all rows at once in front of the loop:
//   Gather(x, step) * w + b  ->  Gather(x * w + b, step)
// If rows and states are joined first, their weights are parted for that.
namespace t2o::rewriters {
namespace {

class Hoist {
 public:
  Hoist(const Steps& loop, const onnx::Target& target) : loop_(loop), target_(target) {}

  int run() {
    std::vector<ir::Node*> work;
    for (ir::Node& n : loop_.body().nodes())
      if (loop_.rows_of(n) && reads_all_rows(n)) work.push_back(&n);
    int changes = 0;
    while (!work.empty()) {
      const ir::Node& row = *work.back();
      work.pop_back();
      std::vector<ir::Node*> readers;
      for (const ir::Use& u : row.output()->uses())
        if (u.node->graph() == &loop_.body()) readers.push_back(u.node);
      for (ir::Node* reader : readers)
        if (ir::Node* moved = hoisted(row, *reader)) {
          ++changes;
          work.push_back(moved);
        }
    }
    if (changes != 0) loop_.body().erase_dead();
    return changes;
  }

 private:
  Emitter outside(const ir::Node& of) const {
    return Emitter(*loop_.node().graph(), target_, of.shared_origin(), &loop_.node());
  }
  Emitter inside(ir::Node& at) const { return Emitter(loop_.body(), target_, at.shared_origin(), &at); }

  ir::Node* hoisted(const ir::Node& row, ir::Node& reader) {
    if (reader.outputs().size() != 1) return nullptr;
    if (reader.op() == "MatMul") return product(row, reader);
    if (only_reader(row.output()) != &reader) return nullptr;
    if (reader.op() == "Concat") return joined(row, reader);
    if (reader.op() == "Add") {
      if (ir::Node* shifted = shift_behind_sum(row, reader)) return shifted;
    }
    return element_wise(row, reader);
  }

  // Of a table, as of positions, a loop may read a few rows only.
  bool reads_all_rows(const ir::Node& row) const {
    const Value* table = row.input(0);
    const ir::Node& n = loop_.node();
    const auto steps = n.input(0) ? number_of(n.input(0)) : std::nullopt;
    return !table->constant() || (steps && *steps >= static_cast<double>(table->shape()[0]));
  }

  // The reader's value is the same row of `all`.
  ir::Node* replace(const ir::Node& row, ir::Node& reader, Value* all) {
    Emitter e = inside(reader);
    Value* y = e.gather(all, row.input(1), 0);
    loop_.body().set_type(y, y->dtype(), reader.output()->shape());
    take_over(loop_.body(), reader.output(), y);
    return y->producer();
  }

  bool are_weights(const Value* w) const {
    return loop_.is_outside(w) && w->shape().ranked() && w->shape().rank() == 2;
  }

  ir::Node* product(const ir::Node& row, ir::Node& reader) {
    const Shape& x = row.output()->shape();
    if (reader.input(0) != row.output() || !are_weights(reader.input(1)) || x.rank() < 1) return nullptr;
    Emitter e = outside(reader);
    Value* w = loop_.seen_from(e, reader.input(1));
    return replace(row, reader, e.matmul(loop_.seen_from(e, row.input(0)), w));
  }

  bool is_plain_operand(const Value* v, const Value* beside) const {
    return loop_.is_outside(v) && v->shape().ranked() && v->shape().rank() <= beside->shape().rank();
  }

  ir::Node* element_wise(const ir::Node& row, ir::Node& reader) {
    // A slope is broadcast to the row, not the row to all slopes.
    if (!onnx::has(reader.op(), onnx::Trait::broadcasts) || reader.op() == "PRelu" ||
        reader.input_count() != 2)
      return nullptr;
    const std::size_t at = reader.input(0) == row.output() ? 0 : 1;
    Value* other = reader.input(1 - at);
    if (other == row.output() || !is_plain_operand(other, row.output())) return nullptr;
    Emitter e = outside(reader);
    Values in(2, loop_.seen_from(e, row.input(0)));
    in[1 - at] = loop_.seen_from(e, other);
    return replace(row, reader, e.emit(reader.op(), in, reader.attrs()));
  }

  // (row + state) + b -> (row + b) + state
  ir::Node* shift_behind_sum(const ir::Node& row, ir::Node& sum) {
    ir::Node* next = only_reader(sum.output());
    if (!is_op(next, "Add") || next->graph() != &loop_.body()) return nullptr;
    const std::size_t at = next->input(0) == sum.output() ? 0 : 1;
    Value* shift = next->input(1 - at);
    Value* state = sum.input(sum.input(0) == row.output() ? 1 : 0);
    if (state == row.output() || loop_.is_outside(state) || !is_plain_operand(shift, row.output()) ||
        !sum.output()->shape().ranked() || sum.output()->shape() != next->output()->shape())
      return nullptr;
    Emitter out = outside(*next);
    Value* other = loop_.seen_from(out, shift);
    Value* all = out.add(loop_.seen_from(out, row.input(0)), other);
    Emitter e = inside(*next);
    Value* shifted = e.gather(all, row.input(1), 0);
    Value* y = e.add(shifted, state);
    loop_.body().set_type(y, y->dtype(), next->output()->shape());
    take_over(loop_.body(), next->output(), y);
    return shifted->producer();
  }

  // Concat(row, state) * w -> row * (upper rows of w) + state * (the lower ones)
  ir::Node* joined(const ir::Node& row, ir::Node& concat) {
    ir::Node* product = only_reader(concat.output());
    const Shape& x = row.output()->shape();
    if (!is_op(product, "MatMul") || product->input(0) != concat.output() || concat.input_count() != 2 ||
        concat.input(0) == concat.input(1) || !are_weights(product->input(1)) ||
        !product->input(1)->constant() || x.rank() < 2)
      return nullptr;
    const auto* axis = concat.attr_if<std::int64_t>("axis");
    const Dim width = x[x.rank() - 1], height = product->input(1)->shape()[0];
    if (!axis || (*axis != -1 && *axis != x.rank() - 1) || !is_known(width) || width >= height)
      return nullptr;
    const bool row_first = concat.input(0) == row.output();
    Value* state = concat.input(row_first ? 1 : 0);
    if (loop_.is_outside(state)) return nullptr;
    Emitter out = outside(*product);
    Value* w = loop_.seen_from(out, product->input(1));
    const Dim parts = row_first ? width : height - width;
    const Values of = out.split(w, {parts, height - parts}, 0);
    Value* all = out.matmul(loop_.seen_from(out, row.input(0)), of[row_first ? 0 : 1]);
    Emitter e = inside(*product);
    Value* mine = e.gather(all, row.input(1), 0);
    Value* theirs = e.matmul(state, of[row_first ? 1 : 0]);
    Value* y = e.add(mine, theirs);
    loop_.body().set_type(y, y->dtype(), product->output()->shape());
    take_over(loop_.body(), product->output(), y);
    return mine->producer();
  }

  const Steps& loop_;
  const onnx::Target& target_;
};

}  // namespace

Rewriter loop_invariant_code(const onnx::Target& target) {
  return for_each_loop<Hoist>("loop_invariant_code", target);
}

}  // namespace t2o::rewriters
