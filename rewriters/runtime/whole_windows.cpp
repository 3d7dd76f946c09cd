#include <algorithm>

#include "onnx/facts.h"
#include "onnx/meaning.h"
#include "rewriters/runtime/rows.h"

// There are floor((in - extent) / stride) + 1 windows: none if the image is smaller than one, where ONNX
// Runtime's division toward zero finds one. y[: in - extent + 1] is all of y, or nothing.
namespace t2o::rewriters {
namespace {

// At least as large as this, as far as paddings tell: an image has one pixel.
std::int64_t least_size(const Value* v, int axis) {
  const std::int64_t known = v->shape().ranked() ? v->shape()[axis] : kUnknownDim;
  if (is_known(known)) return known;
  const ir::Node* pad = v->producer();
  if (!pad || pad->op() != "Pad" || !pad->input(1)->constant()) return 1;
  const Ints pads = pad->input(1)->constant()->to_ints();
  const auto at = static_cast<std::size_t>(axis), rank = pads.size() / 2;
  return at < rank && !pad->input(3) ? pads[at] + 1 + pads[at + rank] : 1;
}

// How much an image of each axis lacks at least to have no window; empty if each image surely has one.
Ints missing(const ir::Node& pool) {
  const auto* kernel = pool.attr_if<Ints>("kernel_shape");
  const auto* strides = pool.attr_if<Ints>("strides");
  if (!kernel || !strides) return {};
  const std::size_t n = kernel->size();
  const Ints pads = pool.attr_or("pads", Ints(2 * n, 0)), dilations = pool.attr_or("dilations", Ints(n, 1));
  bool partial = false;
  Ints beyond;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t extent = ((*kernel)[i] - 1) * dilations[i] + 1 - pads[i] - pads[i + n];
    const std::int64_t least = least_size(pool.input(0), static_cast<int>(i) + 2);
    partial = partial || ((*strides)[i] > 1 && least < extent);
    beyond.push_back(extent - 1);
  }
  return partial ? beyond : Ints();
}

// It costs a copy for each pool of an image that the model computes, so those go without.
int guard(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  if (!onnx::take_meaning(g, n, onnx::kWindows, onnx::kWhole)) return 0;
  Value* x = n.input(0);
  const Ints beyond = missing(n);
  if (beyond.empty() || !onnx::is_fed(x) || (!target.strict && !may_be_empty(target, x))) return 0;
  Emitter e(n, target);
  const int spatial = static_cast<int>(beyond.size());
  const Values all = e.emit_n(n.op(), n.inputs(), n.attrs(), n.outputs().size());
  Value* ends = e.sub(e.dims(x, 2, 2 + spatial), e.ints(beyond));
  Value* starts = e.ints(Ints(beyond.size(), 0));
  Value* axes = e.ints(ints_from(2, 2 + spatial));
  for (std::size_t i = 0; i < all.size(); ++i)
    replace_value(g, n.output(i), e.slice(all[i], starts, ends, axes));
  g.erase(n);
  return 1;
}

}  // namespace

Rewriter whole_windows(const onnx::Target& target) {
  return change_each("whole_windows", {"MaxPool", "AveragePool"}, target, guard);
}

}  // namespace t2o::rewriters
