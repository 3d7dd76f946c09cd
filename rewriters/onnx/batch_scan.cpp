#include "rewriters/onnx/batch_scan.h"

#include <algorithm>
#include <unordered_map>

#include "onnx/emitter.h"
#include "onnx/meaning.h"
#include "onnx/op_traits.h"
#include "rewriters/onnx/facts.h"

// A Scan without states works on each row of its inputs by itself. If each operator of the body has a form
// for a batch, they work on all rows at once, as in the Gathers that tf.map_fn makes:
//   Scan(x, i) {Gather(row of x, row of i)}  ->  GatherND(x, i) with batch_dims 1
namespace t2o::rewriters {
namespace {

using onnx::Trait;

class BatchedScan {
 public:
  BatchedScan(ir::Graph& g, const onnx::Target& target, ir::Node& scan)
      : g_(g), target_(target), scan_(scan) {}

  bool run() {
    const auto* body = scan_.attr_if<GraphPtr>("body");
    if (!body || scan_.attrs().size() != 2) return false;  // no axes, no directions
    body_ = body->get();
    const auto rows = scan_.attr_or<std::int64_t>("num_scan_inputs", 0);
    if (static_cast<std::size_t>(rows) != scan_.input_count() ||
        body_->inputs().size() != scan_.input_count() || body_->outputs().size() != scan_.outputs().size())
      return false;
    for (const ir::Node& n : body_->nodes())
      if (!batched(n, nullptr)) return false;
    if (!std::ranges::all_of(body_->outputs(), [&](const Value* v) { return is_row(v); })) return false;
    replace();
    return true;
  }

 private:
  bool is_row(const Value* v) const { return v->graph() == body_ && !v->constant() && v->shape().ranked(); }
  bool is_shared(const Value* v) const {
    return (v->graph() != body_ || v->constant()) && v->shape().ranked();
  }

  void replace() {
    Emitter e(scan_, target_);
    for (std::size_t i = 0; i < scan_.input_count(); ++i) all_[body_->inputs()[i]] = scan_.input(i);
    for (const ir::Node& n : body_->nodes()) all_[n.output()] = batched(n, &e);
    for (std::size_t i = 0; i < scan_.outputs().size(); ++i)
      replace_value(g_, scan_.output(i), all_.at(body_->outputs()[i]));
  }

  // What the node makes of all rows. Without an Emitter nothing is made: null says that it has no form for a
  // batch.
  Value* batched(const ir::Node& n, Emitter* e);
  Value* broadcast(const ir::Node& n, Emitter* e);
  Value* product(const ir::Node& n, Emitter* e);
  Value* gather(const ir::Node& n, Emitter* e);
  Value* along_axes(const ir::Node& n, Emitter* e);
  Value* along_axis(const ir::Node& n, Emitter* e);

  Value* in(Emitter& e, Value* v) {
    if (is_row(v)) return all_.at(v);
    return v->graph() == body_ ? e.constant(v->constant()) : v;
  }
  Values ins(Emitter& e, const ir::Node& n) {
    Values all;
    for (Value* v : n.inputs()) all.push_back(in(e, v));
    return all;
  }

  ir::Graph& g_;
  const onnx::Target& target_;
  ir::Node& scan_;
  ir::Graph* body_ = nullptr;
  std::unordered_map<const Value*, Value*> all_;  // of all rows
};

Value* BatchedScan::batched(const ir::Node& n, Emitter* e) {
  const std::string_view op = n.op();
  const auto is_ranked = [](const Value* v) { return v && v->shape().ranked(); };
  // What reads no row has the same result for each of them, without an axis of the rows.
  if (std::ranges::none_of(n.inputs(), [&](const Value* v) { return v && is_row(v); })) return nullptr;
  if (n.outputs().size() != 1 || n.input_count() == 0 || !std::ranges::all_of(n.inputs(), is_ranked) ||
      !is_row(n.output()))
    return nullptr;
  if (op == "Gather") return gather(n, e);
  if (op == "MatMul") return product(n, e);
  if (onnx::has(op, Trait::broadcasts) && op != "PRelu") return broadcast(n, e);
  if (onnx::has(op, Trait::reduces) || op == "Unsqueeze" || op == "Squeeze") return along_axes(n, e);
  if (contains({"Transpose", "Concat", "Softmax", "LogSoftmax"}, op)) return along_axis(n, e);
  if (!onnx::has(op, Trait::elementwise) || !is_row(n.input(0)) || n.attr("axis")) return nullptr;
  for (std::size_t i = 1; i < n.input_count(); ++i)
    if (!is_shared(n.input(i))) return nullptr;
  return e ? e->emit(n.op(), ins(*e, n), n.attrs()) : n.output();
}

// Rows that have fewer axes get axes of size 1 behind the first.
Value* BatchedScan::broadcast(const ir::Node& n, Emitter* e) {
  if (!e) return n.output();
  const int rank = n.output()->shape().rank();
  Values all;
  for (Value* v : n.inputs()) {
    Value* x = in(*e, v);
    const int missing = is_row(v) ? rank - v->shape().rank() : 0;
    all.push_back(missing > 0 ? e->unsqueeze(x, ints_from(1, 1 + missing)) : x);
  }
  return e->emit(n.op(), all, n.attrs());
}

Value* BatchedScan::product(const ir::Node& n, Emitter* e) {
  const Value *a = n.input(0), *b = n.input(1);
  const bool fits = is_row(a) && is_row(b) ? a->shape().rank() == b->shape().rank() && a->shape().rank() >= 2
                    : is_row(a)            ? a->shape().rank() >= 2 && b->shape().rank() == 2
                                           : b->shape().rank() >= 2 && a->shape().rank() == 2;
  if (!fits) return nullptr;
  return e ? e->emit("MatMul", ins(*e, n)) : n.output();
}

Value* BatchedScan::gather(const ir::Node& n, Emitter* e) {
  Value *x = n.input(0), *at = n.input(1);
  if (x->shape().rank() == 0) return nullptr;
  const int axis = from_front(n.attr_or<std::int64_t>("axis", 0), x->shape().rank());
  if (is_row(x) && !is_row(at)) return e ? e->gather(in(*e, x), in(*e, at), axis + 1) : n.output();
  if (axis != 0) return nullptr;
  if (!is_row(x)) return e ? e->gather(in(*e, x), in(*e, at), 0) : n.output();
  if (target_.opset < 12) return nullptr;  // GatherND without batch_dims
  if (!e) return n.output();
  Value* index = e->unsqueeze(e->cast(in(*e, at), DType::i64), {at->shape().rank() + 1});
  return e->emit("GatherND", {in(*e, x), index}, {{"batch_dims", 1}});
}

Value* BatchedScan::along_axes(const ir::Node& n, Emitter* e) {
  const auto axes = axes_of(n);
  if (!is_row(n.input(0)) || !axes || axes->empty() || (n.input_count() > 1 && !n.input(1)->constant()))
    return nullptr;
  if (!e) return n.output();
  const int rank = (n.op() == "Unsqueeze" ? n.output() : n.input(0))->shape().rank();
  Ints shifted;
  for (const std::int64_t a : *axes) shifted.push_back(from_front(a, rank) + 1);
  Value* x = in(*e, n.input(0));
  if (n.op() == "Unsqueeze") return e->unsqueeze(x, shifted);
  if (n.op() == "Squeeze") return e->squeeze(x, shifted);
  Value* y = e->reduce(n.op(), x, shifted, n.attr_or<std::int64_t>("keepdims", 1) != 0);
  onnx::copy_meanings(e->graph(), n, y);
  return y;
}

Value* BatchedScan::along_axis(const ir::Node& n, Emitter* e) {
  if (!std::ranges::all_of(n.inputs(), [&](const Value* v) { return is_row(v); })) return nullptr;
  const bool is_softmax = n.op() == "Softmax" || n.op() == "LogSoftmax";
  if (is_softmax && target_.opset < 13) return nullptr;  // works on all axes from this one on
  const Ints* perm = perm_of(&n);
  if (n.op() == "Transpose" && !perm) return nullptr;
  if (!e) return n.output();
  const Values all = ins(*e, n);
  const int rank = n.output()->shape().rank();
  if (perm) {
    Ints shifted{0};
    for (const std::int64_t p : *perm) shifted.push_back(p + 1);
    return e->transpose(all[0], shifted);
  }
  const int axis = from_front(n.attr_or<std::int64_t>("axis", -1), rank) + 1;
  return n.op() == "Concat" ? e->concat(all, axis) : e->softmax(all[0], axis, n.op() == "LogSoftmax");
}

}  // namespace

bool batch_scan(ir::Graph& g, const onnx::Target& target, ir::Node& scan) {
  return BatchedScan(g, target, scan).run();
}

}  // namespace t2o::rewriters
