#include "onnx/emitter.h"
#include "onnx/image_layout.h"
#include "onnx/layout_functions.h"
#include "rewriters/all.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o::rewriters {
namespace {

// Scales of pixels alone: a Resize that repeats along other axes has no channels.
bool has_channels(const ir::Node& n) {
  if (n.op() != "Resize" || n.attr("axes") || !n.input(2) || !n.input(2)->constant()) return true;
  const Tensor& scales = *n.input(2)->constant();
  return scales.elements() < 2 || (scales.float_at(0) == 1 && scales.float_at(1) == 1);
}

std::optional<std::string> function_for(const ir::Node& n) {
  if (n.outputs().size() != 1 || !n.input(0)) return std::nullopt;
  const Shape &x = n.input(0)->shape(), &y = n.output()->shape();
  if (!x.ranked() || !y.ranked() || x.rank() != y.rank() || !has_channels(n)) return std::nullopt;
  return onnx::channels_last_function(n.op(), x.rank());
}

Value* call(Emitter& e, ir::Node& n, const std::string& function) {
  const Ints last = onnx::channels_last_perm(n.output()->shape().rank());
  Values in = n.inputs();
  in[0] = e.transpose(in[0], last);
  ir::NodeSpec spec;
  spec.op = function;
  spec.inputs = std::move(in);
  spec.attrs = n.attrs();
  spec.outputs = {{"", n.output()->dtype(), Form(last).shape(n.output()->shape())}};
  spec.origin = n.shared_origin();
  spec.name_later = n.origin().label().empty();
  if (!spec.name_later) spec.name = n.origin().label() + "/" + n.op();
  return e.graph().add(std::move(spec), &n).output();
}

// The function's result has the name, unless the graph gives it channels first to its caller.
void replace_by(ir::Graph& g, Value* old, Value* channels_last, Value* channels_first) {
  if (old->is_graph_output()) {
    take_over(g, old, channels_first);
    return;
  }
  g.replace_all_uses(old, channels_first);
  const std::string name = old->name();
  if (name.empty()) return;
  g.derive(channels_last, old,
           {ir::Alteration::transpose(onnx::channels_last_perm(channels_last->shape().rank()))});
  g.rename(old, name + "/channels_first");
  g.rename(channels_last, name);
}

}  // namespace

Rewriter channels_last(const onnx::Target& target) {
  return for_each_node("channels_last", {}, [target](ir::Graph& g, ir::Node& n) {
    const auto function = function_for(n);
    if (!function) return false;
    Emitter e(n, target);
    Value* y = call(e, n, *function);
    Value* first = e.transpose(y, onnx::channels_first_perm(y->shape().rank()));
    replace_by(g, n.output(), y, first);
    return true;
  });
}

}  // namespace t2o::rewriters
