#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// A Cast to a type that holds every value, and the Cast back, change nothing. A runtime may drop them too,
// but forget a body that reads the result: if the first Cast reads an input of the model, an input is missing
// then.
namespace t2o::rewriters {
namespace {

// Whether `to` holds x without loss. A float of a narrower type holds integers of few bits.
bool holds(const Value* x, DType to) {
  const DType from = x->dtype();
  const bool is_wide = is_float(to) && bit_width(to) >= 16;
  if (is_float(from) && is_float(to)) return bit_width(from) >= 16 && bit_width(to) > bit_width(from);
  const onnx::Numbers all = is_wide ? onnx::range_of(from) : onnx::numbers_of(x);
  return (is_wide || is_int(to)) && all.whole && all.within(0x1p53) && onnx::convert(all, to) == all;
}

// What was cast there, by way of several types maybe, and back; null where numbers may be lost on the way.
Value* original(const ir::Node& back) {
  const DType type = back.output()->dtype();
  DTypes between;
  for (const ir::Node* n = &back; is_op(n, "Cast"); n = n->input(0)->producer()) {
    Value* x = n->input(0);
    if (x->dtype() != type) {
      between.push_back(x->dtype());
    } else if (!between.empty()) {
      return std::ranges::all_of(between, [&](DType t) { return holds(x, t); }) ? x : nullptr;
    }
  }
  return nullptr;
}

bool cancel(ir::Graph& g, ir::Node& n) {
  Value* x = original(n);
  return x && n.output()->is_used() && take_over(g, n.output(), x);
}

}  // namespace

Rewriter cancel_casts() { return for_each_node("cancel_casts", {"Cast"}, cancel); }

}  // namespace t2o::rewriters
