#include "rewriters/all.h"
#include "rewriters/onnx/norm_pattern.h"

// What remains of layer normalizations that no operator computes, such as those over channels that come
// first. TensorFlow multiplies x and its mean by gamma / deviation, which is as large as x if gamma differs
// along the axes of the mean. Instead, the difference that the variance needs anyway is divided by the
// deviation.
namespace t2o::rewriters {
namespace {

struct CenterNorm : NormPattern {
  Value* replace(const Match& m, Rewrite& r) const {
    Value* data = m[x];
    const Shape& shape = data->shape();
    const bool is_centered = m[difference] != nullptr;
    if (is_centered || !shape.ranked() || m.root()->shape() != shape) return nullptr;
    if (m[gamma] && m[scale]->shape() != shape) return nullptr;
    const auto axes = axes_of_mean(m[mean], shape.rank());
    if (!axes || axes != axes_of_mean(m[variance], shape.rank())) return nullptr;
    Value* centered = r.make("Sub", {data, m[mean]});
    Value* y = r.make("Div", {centered, m[deviation]});
    if (m[gamma] && uniform_number(m[gamma]) != 1) y = r.make("Mul", {y, m[gamma]});
    return m[beta] ? r.make("Add", {y, m[beta]}) : y;
  }
};

}  // namespace

// The longest form first: the shorter ones are parts of it.
Rewriter center_norm() {
  std::vector<Rewriter> forms;
  const CenterNorm n;
  for (const Pat& root : {n.shifted(), n.scaled(), n.shifted_only()})
    forms.push_back(
        rewriter("center_norm", root, [n](const Match& m, Rewrite& r) { return n.replace(m, r); }));
  return in_turn("center_norm", std::move(forms), {"ReduceMean", "ReduceSum"});
}

}  // namespace t2o::rewriters
