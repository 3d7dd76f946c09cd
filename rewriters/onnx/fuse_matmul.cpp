#include <algorithm>
#include <array>

#include "onnx/emitter.h"
#include "onnx/fold.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

using ir::Alteration;

// The dims but the last, when they are the same in both, provably: sizes or symbols, at most one of them
// unknown.
bool same_leading_dims(const Shape& a, const Ints& b) {
  if (!a.ranked() || a.rank() != static_cast<int>(b.size())) return false;
  for (int i = 0; i + 1 < a.rank(); ++i)
    if (a[i] == kUnknownDim || a[i] != nth(b, i)) return false;
  return true;
}

bool is_flattened(const Value* rows, const Value* x) {  // [-1, the last dim of x]
  const Shape &r = rows->shape(), &s = x->shape();
  return r.ranked() && s.ranked() && r.rank() == 2 && s.rank() > 2 && is_known(r[1]) &&
         r[1] == s[s.rank() - 1];
}

class MatMulFusion {
 public:
  MatMulFusion(ir::Graph& g, const onnx::Target& target) : g_(g), target_(target) {}

  int run(bool only_unflatten) {
    int changes = 0;
    for (ir::Node* n = g_.first(); n; n = n->next()) {
      if (n->op() != "MatMul") continue;
      changes += unflatten(*n);
      if (!only_unflatten) changes += permute_weights(*n) + make_gemm(*n);
    }
    return changes;
  }

 private:
  // Reshape(MatMul(Reshape(x, [-1, k]), w) + b, [..., n]) = MatMul(x, w) + b, where w is a matrix and b, if
  // it is there, a row
  int unflatten(ir::Node& n) {
    const ir::Node* before = n.input(0)->producer();
    if (!is_op(before, "Reshape")) return 0;
    Value* x = before->input(0);
    const Shape& w = n.input(1)->shape();
    if (!is_flattened(n.input(0), x) || !w.ranked() || w.rank() != 2 || !is_known(w[1])) return 0;
    ir::Node* sum = only_reader(n.output());
    ir::Node* last = is_op(sum, "Add") && is_row(*sum->input(sum->input(0) == n.output() ? 1 : 0)) ? sum : &n;
    ir::Node* after = only_reader(last->output());
    if (!is_op(after, "Reshape") || after->input(0) != last->output()) return 0;
    Ints dims = after->output()->shape().ranked() ? after->output()->shape().dims() : Ints{};
    if (dims.empty() || !same_leading_dims(x->shape(), dims)) return 0;
    if (dims.back() == kUnknownDim) dims.back() = w[1];  // what is left of all elements
    if (dims.back() != w[1]) return 0;
    const Shape y(std::move(dims));
    g_.set_input(n, 0, x);
    g_.set_input(*after, 0, x);  // so that nothing reads the old product any more
    for (Value* v : {n.output(), last->output()}) g_.set_type(v, v->dtype(), y);
    if (last != &n) g_.alter(n.output(), ir::Alteration::reshape(y));
    take_over(g_, after->output(), last->output());
    g_.erase(*after);
    return 1;
  }

  static bool is_row(const Value& v) {  // [n], or [1, n]
    const Shape& s = v.shape();
    return s.ranked() && (s.rank() <= 1 || (s.rank() == 2 && s[0] == 1));
  }

  // A matrix behind a flattened channels-last image: its rows are put into the order of the channels-first
  // one.
  int permute_weights(ir::Node& n) {
    const ir::Node* flat = n.input(0)->producer();
    Value* w = n.input(1);
    if (!flat || (flat->op() != "Reshape" && flat->op() != "Flatten") || !w->constant() ||
        w->uses().size() != 1 || w->shape().rank() != 2)
      return 0;
    if (flat->output()->uses().size() != 1 || flat->output()->is_graph_output()) return 0;
    ir::Node* t = flat->input(0)->producer();
    const auto* perm = perm_of(t);
    const Shape &image = flat->input(0)->shape(), &rows = flat->output()->shape();
    if (!perm || (*perm)[0] != 0 || rows.rank() != 2 || rows[1] != w->shape()[0]) return 0;
    Ints dims;
    for (int i = 1; i < image.rank(); ++i) dims.push_back(image[i]);
    if (!std::ranges::all_of(dims, is_known) || element_count(dims) != rows[1]) return 0;
    dims.push_back(w->shape()[1]);
    Ints back(dims.size());  // the permutation of the weights' axes is that which undoes perm
    for (std::size_t i = 1; i < perm->size(); ++i)
      back[static_cast<std::size_t>((*perm)[i]) - 1] = static_cast<std::int64_t>(i) - 1;
    back.back() = static_cast<std::int64_t>(dims.size()) - 1;
    const Shape matrix = w->shape();
    g_.set_constant(w, onnx::transposed(w->constant()->with_dims(dims), back)->with_dims(matrix.dims()));
    for (Alteration::Step& s : std::array{Alteration::reshape(Shape(dims)), Alteration::transpose(back),
                                          Alteration::reshape(matrix)})
      g_.alter(w, std::move(s));
    reorder_rows(*flat->output(), image, *perm);
    g_.set_input(*flat->output()->producer(), 0, t->input(0));
    return 1;
  }

  // The rows that a channels-last image was flattened to are now those of the image that `perm` makes it of.
  void reorder_rows(Value& rows, const Shape& image, const Ints& perm) {
    Ints to_first(perm.size()), dims = image.dims(), flat = rows.shape().dims();
    for (std::size_t i = 0; i < perm.size(); ++i) nth(to_first, perm[i]) = static_cast<std::int64_t>(i);
    dims[0] = flat[0] = -1;
    g_.alter(&rows, Alteration::reshape(Shape(dims)));
    g_.alter(&rows, Alteration::transpose(to_first));
    g_.alter(&rows, Alteration::reshape(Shape(flat)));
  }

  // MatMul(a, b) + c = Gemm(a, b, c), of matrices of floats and a row c
  int make_gemm(ir::Node& n) {
    ir::Node* sum = only_reader(n.output());
    if (!is_op(sum, "Add") || sum->input(0) == sum->input(1) || !is_float(n.output()->dtype())) return 0;
    Value* row = sum->input(sum->input(0) == n.output() ? 1 : 0);
    const Shape &a = n.input(0)->shape(), &b = n.input(1)->shape(), &c = row->shape();
    if (!a.ranked() || !b.ranked() || a.rank() != 2 || b.rank() != 2 || !is_row(*row) || !is_known(b[1]))
      return 0;
    if (c.elements() != b[1] && c.elements() != 1) return 0;
    if (!kernel_types("Gemm", target_).has(n.output()->dtype())) return 0;
    Emitter e(g_, target_, n.shared_origin(), sum);
    Value* y = e.emit("Gemm", {n.input(0), n.input(1), row});
    take_over(g_, sum->output(), y);
    g_.erase(*sum);
    return 1;
  }

  ir::Graph& g_;
  const onnx::Target& target_;
};

}  // namespace

Rewriter fuse_matmul(const onnx::Target& target) {
  return {"fuse_matmul", [target](ir::Graph& g) { return MatMulFusion(g, target).run(false); }, {"MatMul"}};
}

Rewriter unflatten_matmul(const onnx::Target& target) {
  return {
      "unflatten_matmul", [target](ir::Graph& g) { return MatMulFusion(g, target).run(true); }, {"MatMul"}};
}

}  // namespace t2o::rewriters
