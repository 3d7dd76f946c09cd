#include <algorithm>
#include <unordered_set>

#include "onnx/emitter.h"
#include "onnx/op_traits.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime works on blocks of channels only in convolutions of images. So a depthwise convolution of
// sequences becomes one of images of height 1, with the convolutions before and after it and the elementwise
// operators between.
namespace t2o::rewriters {
namespace {

constexpr std::int64_t kFewChannels = 16;  // below, the two nodes more take what the kernel saves

bool is_conv(const ir::Node& n) {
  const Value* w = n.op() == "Conv" ? n.input(1) : nullptr;
  return w && w->constant() && w->shape().rank() == 3 && n.attr_if<Ints>("kernel_shape") &&
         !n.attr("auto_pad");
}

bool is_depthwise(const ir::Node& n) {
  if (!is_conv(n)) return false;
  const auto group = n.attr_or<std::int64_t>("group", 1);
  const Ints& w = n.input(1)->constant()->dims();
  return group >= kFewChannels && w[0] == group && w[1] == 1;
}

// It does the same to each number, or to each channel, however many axes there are behind it.
bool is_by_number(const ir::Node& n) {
  return (onnx::has(n.op(), onnx::Trait::elementwise) || n.op() == "BatchNormalization") &&
         n.outputs().size() == 1;
}

bool can_go(const ir::Node* n) {
  if (!n || n->outputs().size() != 1 || (!is_conv(*n) && !is_by_number(*n))) return false;
  const Shape &x = n->input(0)->shape(), &y = n->output()->shape();
  return n->output()->dtype() == DType::f32 && x.ranked() && x.rank() == 3 && y.ranked() && y.rank() == 3;
}

// The longest chain through n that begins with a convolution; nobody else reads what is inside.
std::vector<ir::Node*> chain_through(ir::Node& n) {
  std::vector<ir::Node*> chain{&n};
  for (ir::Node* before = n.input(0)->producer();
       can_go(before) && before->graph() == n.graph() && only_reader(before->output()) == chain.front();
       before = before->input(0)->producer())
    chain.insert(chain.begin(), before);
  chain.erase(chain.begin(), std::ranges::find_if(chain, [](const ir::Node* c) { return is_conv(*c); }));
  for (ir::Node* after = only_reader(n.output()); can_go(after) && after->input(0) == chain.back()->output();
       after = only_reader(after->output()))
    chain.push_back(after);
  return chain;
}

Shape with_height(const Shape& s) { return Shape(Ints{s[0], s[1], 1, s[2]}); }

Attrs attrs_with_height(const ir::Node& n) {
  Attrs attrs = n.attrs();
  if (n.op() != "Conv") return attrs;
  for (ir::NamedAttr& a : attrs) {
    const auto* v = std::get_if<Ints>(&a.value);
    if (v && a.name == "pads")
      a.value = Ints{0, v->at(0), 0, v->at(1)};
    else if (v)
      a.value = Ints{1, v->at(0)};  // kernel_shape, strides, dilations
  }
  return attrs;
}

Value* of_image(Value* x, const ir::Node& n, Rewrite& r) {
  Values in = n.inputs();
  in[0] = x;
  if (n.op() == "Conv") {
    const Ints& w = in[1]->constant()->dims();
    in[1] = r.constant(in[1]->constant()->with_dims({w[0], w[1], 1, w[2]}));
  }
  return r.make(n.op(), std::move(in), attrs_with_height(n), DType::f32, with_height(n.output()->shape()));
}

void make_images(ir::Graph& g, const onnx::Target& target, const std::vector<ir::Node*>& chain) {
  ir::Node &first = *chain.front(), &last = *chain.back();
  const Shape& s = first.input(0)->shape();
  Value* x = Emitter(g, target, first.shared_origin(), &first).unsqueeze(first.input(0), {2});
  g.set_type(x, DType::f32, with_height(s));
  for (ir::Node* n : chain) {
    Rewrite r(g, *n);
    x = of_image(x, *n, r);
  }
  Value* y = Emitter(g, target, last.shared_origin(), &last).squeeze(x, {2});
  g.set_type(y, DType::f32, last.output()->shape());
  replace_value(g, last.output(), y);
}

}  // namespace

Rewriter image_convs(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    std::unordered_set<const ir::Node*> done;
    for (ir::Node& n : g.nodes()) {
      if (!is_depthwise(n) || !can_go(&n) || done.contains(&n)) continue;
      const std::vector<ir::Node*> chain = chain_through(n);
      make_images(g, target, chain);
      done.insert(chain.begin(), chain.end());
      ++changes;
    }
    return changes;
  };
  return {"image_convs", run, {"Conv"}};
}

}  // namespace t2o::rewriters
