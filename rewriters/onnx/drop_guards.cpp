#include <algorithm>
#include <map>
#include <string_view>

#include "onnx/op_traits.h"
#include "rewriters/all.h"
#include "rewriters/onnx/bounds.h"
#include "rewriters/onnx/facts.h"

// Mappers guard against rare values: NaN in a maximum or an ArgMax, and the mean of an empty image. This
// rewriter drops a guard where the value cannot occur. A tensor whose elements are bounded, as in a network
// over words, has no NaN. An empty image never comes out of a convolution or a pool, because ONNX Runtime
// refuses to run them on one.
namespace t2o::rewriters {
namespace {

using onnx::Trait;

Pat number(double n) {
  return constant().where([n](const Value* v) { return is_number(v, n); });
}

// ---- sizes

class Sizes {
 public:
  // Whether ONNX Runtime stops before `v` when one of these axes has size 0. No axis is negative.
  bool is_refused_when_empty(const Value* v, Ints axes, int depth = 0) {
    const Shape& s = v->shape();
    if (!s.ranked() || depth > 256) return false;
    axes.erase(std::remove_if(axes.begin(), axes.end(),
                              [&](std::int64_t a) { return a < s.rank() && s[static_cast<int>(a)] > 0; }),
               axes.end());
    if (axes.empty()) return true;
    const ir::Node* n = v->producer();
    if (!n || n->graph() != v->graph()) return false;
    const auto [it, is_new] = known_.try_emplace({v, axes}, false);
    if (!is_new) return it->second;
    const bool found = of_node(*n, axes, depth + 1);
    return known_[{v, axes}] = found;
  }

 private:
  bool of_node(const ir::Node& n, const Ints& axes, int depth) {
    const std::string_view op = n.op();
    const bool spatial = std::ranges::all_of(axes, [](std::int64_t a) { return a >= 2; });
    if (op == "Conv") return spatial;
    if (op == "MaxPool" || op == "AveragePool") return spatial && has_all_pixels(n);
    if (onnx::has(op, Trait::elementwise) || op == "BatchNormalization" || op == "InstanceNormalization")
      return is_refused_when_empty(n.input(0), axes, depth);
    if (op == "Transpose") return of_transpose(n, axes, depth);
    const int rank = n.output()->shape().rank();
    const auto has_size = [&](const Value* in) {
      if (in->constant()) return in->constant()->elements() > 0;
      return in->shape().ranked() && in->shape().rank() == rank && is_refused_when_empty(in, axes, depth);
    };
    return (onnx::has(op, Trait::broadcasts) || op == "Concat") && std::ranges::all_of(n.inputs(), has_size);
  }

  // The padding covers the window, so the result of an image with pixels has pixels. Without padding, a pool
  // of a small image may have none.
  static bool has_all_pixels(const ir::Node& pool) {
    const auto* kernel = pool.attr_if<Ints>("kernel_shape");
    const auto* pads = pool.attr_if<Ints>("pads");
    const auto* automatic = pool.attr_if<std::string>("auto_pad");
    if (automatic && automatic->starts_with("SAME")) return true;
    if (!kernel || !pads || pads->size() != 2 * kernel->size() || pool.attr("dilations")) return false;
    for (std::size_t i = 0; i < kernel->size(); ++i)
      if ((*pads)[i] + (*pads)[i + kernel->size()] < (*kernel)[i] - 1) return false;
    return true;
  }

  bool of_transpose(const ir::Node& n, Ints axes, int depth) {
    const auto* perm = n.attr_if<Ints>("perm");
    if (!perm) return false;
    for (std::int64_t& a : axes) a = nth(*perm, a);
    std::ranges::sort(axes);
    return is_refused_when_empty(n.input(0), axes, depth);
  }

  std::map<std::pair<const Value*, Ints>, bool> known_;
};

// mean / min(size, 1) -> mean
Rewriter of_sizes() {
  const Pat x = any();
  const Pat mean = op("ReduceMean", x, constant()) | op("ReduceMean", x);
  const Pat y = op("Div", mean, op("Cast", op("Min", op("Size", x), number(1))));
  return rewriter("drop_guards", y, [=](const Match& m, Rewrite& r) -> Value* {
    const ir::Node& reduce = *m[mean]->producer();
    const Shape& s = m[x]->shape();
    auto axes = axes_of(reduce);
    if (!axes || axes->empty() || !s.ranked()) return nullptr;
    for (std::int64_t& a : *axes) a += a < 0 ? s.rank() : 0;
    std::ranges::sort(*axes);
    if (!Sizes().is_refused_when_empty(m[x], *axes)) return nullptr;
    return r.make("ReduceMean", reduce.inputs(), reduce.attrs());
  });
}

// ---- numbers

// max(x) + sum(clip(x, 0, 0)) -> max(x). The sum is 0, or NaN if x has a NaN.
Rewriter of_extrema() {
  const Pat x = any();
  const Pat zeros = op("Clip", x, number(0), number(0));
  const Pat most = op("ReduceMax|ReduceMin", x, constant()) | op("ReduceMax|ReduceMin", x);
  const Pat y = op("Add", most, op("ReduceSum", zeros, constant()) | op("ReduceSum", zeros));
  return rewriter("drop_guards", y, [=](const Match& m, Rewrite& r) -> Value* {
    const ir::Node& reduce = *m[most]->producer();
    if (!Bounds().is_finite(m[x]) || m[most]->shape() != m.root()->shape()) return nullptr;
    return r.make(reduce.op(), reduce.inputs(), reduce.attrs());
  });
}

// argmax(where(isnan(x), constant, x)) -> argmax(x)
Rewriter of_indices() {
  const Pat x = any();
  const Pat y = op("ArgMax|ArgMin", op("Where", op("IsNaN", x), constant(), x));
  return rewriter("drop_guards", y, [=](const Match& m, Rewrite& r) -> Value* {
    if (!Bounds().is_finite(m[x])) return nullptr;
    const ir::Node& n = *m.root()->producer();
    return r.make(n.op(), {m[x]}, n.attrs());
  });
}

}  // namespace

Rewriter drop_guards(const onnx::Target& target) {
  std::vector<Rewriter> forms{of_extrema(), of_indices()};
  if (target.for_ort()) forms.push_back(of_sizes());
  return in_turn("drop_guards", std::move(forms),
                 {"ReduceMean", "ReduceMax", "ReduceMin", "ArgMax", "ArgMin"});
}

}  // namespace t2o::rewriters
