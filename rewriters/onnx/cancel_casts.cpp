
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// A Cast to a type that holds every value, and the Cast back, change nothing. A runtime may drop them too,
// but forget a body that reads the result: if the first Cast reads an input of the model, an input is missing
// then.
namespace t2o::rewriters {
namespace {

// The bits that a float has for a whole number; 0 of types of less than 16 bits.
int digits(DType t) {
  switch (t) {
    case DType::f64:
      return 53;
    case DType::f32:
      return 24;
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    default:
      return 0;
  }
}

// Whether `to` holds every value of `from`.
bool holds_all(DType from, DType to) {
  if (from == DType::boolean) return is_int(to) || digits(to) != 0;
  if (is_float(from)) return digits(from) != 0 && bit_width(to) > bit_width(from) && digits(to) != 0;
  if (!is_int(from)) return false;
  const auto sign = [](DType t) { return is_signed_int(t) ? 1 : 0; };
  const int bits = static_cast<int>(bit_width(from)) - sign(from);
  if (is_float(to)) return bits <= digits(to);
  return is_int(to) && sign(to) >= sign(from) && bits <= static_cast<int>(bit_width(to)) - sign(to);
}

// What was cast there, by way of several types maybe, and back; null where numbers may be lost on the way.
Value* original(const ir::Node& back) {
  const DType type = back.output()->dtype();
  const ir::Node* n = back.op() == "Cast" ? &back : nullptr;
  while (is_op(n, "Cast")) {
    Value* x = n->input(0);
    if (n != &back && x->dtype() == type) return x;
    if (!holds_all(type, x->dtype())) return nullptr;
    n = x->producer();
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
