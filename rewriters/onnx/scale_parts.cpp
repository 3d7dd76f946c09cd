#include <algorithm>
#include <cmath>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/per_channel.h"

// Arithmetic with a number for each channel, behind a Concat of what convolutions give, is moved in front of
// it, where it goes into their weights and biases.
namespace t2o::rewriters {
namespace {

// A convolution that can take it in: fuse_conv's to do.
bool is_own_convolution(const Value* v) {
  const ir::Node* n = v->producer();
  if (!is_op(n, "Conv") || !only_reader(v) || !n->input(1)->constant() || n->input(1)->uses().size() != 1)
    return false;
  return can_scale(n->input(1)->dtype()) && (!n->input(2) || n->input(2)->constant()) &&
         v->shape().ranked() && is_known(v->shape()[1]);
}

// The operand of y (op) constant, or constant (op) y, where the constant has one number for each channel.
std::optional<Doubles> numbers(const ir::Node& n, const Value* y) {
  const bool fits = n.op() == "Mul" || n.op() == "Add" || (n.op() == "Sub" && n.input(0) == y);
  if (!fits || n.input(0) == n.input(1) || n.output()->shape() != y->shape()) return std::nullopt;
  auto c = per_channel(n.input(n.input(0) == y ? 1 : 0), y->shape().rank(), 1, y->shape()[1]);
  const bool moderate = c && std::ranges::all_of(*c, [](double v) { return std::abs(v) <= 1e15; });
  return moderate ? c : std::nullopt;
}

// The same arithmetic on each part, with its own numbers.
Values on_parts(const onnx::Target& target, ir::Node& reader, const Values& parts, const Doubles& all) {
  Emitter e(reader, target);
  Values out;
  auto from = all.begin();
  for (Value* part : parts) {
    Ints dims = repeated(1, part->shape().rank() - 1);
    dims[0] = part->shape()[1];
    const auto end = from + dims[0];
    Value* own = e.reshape(e.constant(channel_tensor(part->dtype(), Doubles(from, end))), dims);
    out.push_back(e.emit(reader.op(), {part, own}));
    from = end;
  }
  return out;
}

// One of the convolutions does not take the factors in.
bool stays(const ir::Node& reader, const ir::Node& concat, const Doubles& all, ExactSums& sums) {
  return reader.op() == "Mul" && std::ranges::any_of(concat.inputs(), [&](const Value* part) {
           return sums.need(*part->producer(), all);
         });
}

bool move(ir::Graph& g, const onnx::Target& target, ir::Node& concat, ExactSums& sums) {
  const bool joins_channels = concat.op() == "Concat" && concat.attr_or<std::int64_t>("axis", 0) == 1;
  const Shape& s = concat.output()->shape();
  if (!joins_channels || !s.ranked() || s.rank() < 3 || !is_known(s[1])) return false;
  if (!std::ranges::all_of(concat.inputs(), is_own_convolution)) return false;
  Values parts = concat.inputs();
  Value* y = concat.output();
  while (ir::Node* reader = only_reader(y)) {
    const auto all = reader->input_count() == 2 ? numbers(*reader, y) : std::nullopt;
    if (!all || stays(*reader, concat, *all, sums)) break;
    parts = on_parts(target, *reader, parts, *all);
    y = reader->output();
  }
  if (y == concat.output()) return false;
  Emitter e(g, target, concat.shared_origin(), y->producer());
  Value* joined = e.concat(std::move(parts), 1);
  g.set_type(joined, joined->dtype(), y->shape());
  return take_over(g, y, joined);
}

}  // namespace

Rewriter scale_parts(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    ExactSums sums;
    for (ir::Node* n = g.first(); n; n = n->next())
      if (move(g, target, *n, sums)) ++changes;
    return changes;
  };
  return {"scale_parts", run, {"Conv"}};
}

}  // namespace t2o::rewriters
