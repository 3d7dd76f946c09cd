#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/fold.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

// y[rows, columns] = sum over `inner` of x[rows, inner] * w[...], where w has the letters of inner and
// columns in any order.
struct Dense {
  Value* x = nullptr;
  const Value* w = nullptr;
  std::string x_letters, w_letters, rows, inner, columns;
};

bool are_different(std::string letters) {
  std::ranges::sort(letters);
  return std::ranges::adjacent_find(letters) == letters.end() && letters.find('.') == letters.npos;
}

std::optional<Dense> read(const ir::Node& n) {
  const auto letters = einsum_letters(n);
  if (!letters || !n.input(0)->constant() == !n.input(1)->constant()) return std::nullopt;
  Dense d{n.input(0), n.input(1), letters->a, letters->b, {}, {}, {}};
  const std::string& y = letters->y;
  if (d.x->constant()) {
    d.x = n.input(1), d.w = n.input(0);
    std::swap(d.x_letters, d.w_letters);
  }
  const auto shared = static_cast<std::size_t>(
      std::mismatch(y.begin(), y.end(), d.x_letters.begin(), d.x_letters.end()).first - y.begin());
  d.rows = y.substr(0, shared), d.columns = y.substr(shared), d.inner = d.x_letters.substr(shared);
  const std::string all = d.rows + d.inner + d.columns;
  if (d.rows.empty() || d.inner.empty() || d.columns.empty() || !are_different(all) ||
      !are_different(d.w_letters))
    return std::nullopt;
  const std::string own = d.inner + d.columns;
  if (d.w_letters.size() != own.size() || !std::is_permutation(own.begin(), own.end(), d.w_letters.begin()))
    return std::nullopt;
  return d;
}

class EinsumFusion {
 public:
  EinsumFusion(ir::Graph& g, const onnx::Target& target)
      : g_(g), target_(target), types_(kernel_types("MatMul", target)) {}

  int run() {
    int changes = 0;
    for (ir::Node& n : g_.nodes())
      if (const auto d = read(n); d && types_.has(n.output()->dtype()) && fits(*d)) {
        write(n, *d);
        ++changes;
      }
    return changes;
  }

 private:
  static bool fits(const Dense& d) {
    return d.x->shape().ranked() && d.x->shape().rank() == static_cast<int>(d.x_letters.size()) &&
           d.w->shape().rank() == static_cast<int>(d.w_letters.size()) && d.w->constant()->elements() != 0;
  }

  void write(ir::Node& n, const Dense& d) {
    Emitter e(n, target_);
    Ints perm, wide(d.rows.size(), 0), matrix{1, 1};
    for (const char l : d.inner + d.columns) perm.push_back(static_cast<std::int64_t>(d.w_letters.find(l)));
    const TensorPtr w = onnx::transposed(d.w->constant(), perm);
    for (std::size_t i = 0; i < perm.size(); ++i) matrix[i < d.inner.size() ? 0 : 1] *= w->dims()[i];
    Ints narrow = wide;
    narrow.push_back(matrix[0]);
    wide.insert(wide.end(), w->dims().begin() + std::ssize(d.inner), w->dims().end());
    Value* x = d.inner.size() > 1 ? e.reshape(d.x, narrow) : d.x;
    Value* flat = e.constant(w->with_dims(matrix), d.w->name());
    e.graph().derive(flat, d.w, {ir::Alteration::transpose(perm), ir::Alteration::reshape(flat->shape())});
    Value* y = e.matmul(x, flat);
    if (d.columns.size() > 1) y = e.reshape(y, wide);
    replace_value(g_, n.output(), y);
  }

  ir::Graph& g_;
  const onnx::Target& target_;
  onnx::DTypeSet types_;
};

}  // namespace

Rewriter fuse_einsum(const onnx::Target& target) {
  return {"fuse_einsum", [target](ir::Graph& g) { return EinsumFusion(g, target).run(); }, {"Einsum"}};
}

}  // namespace t2o::rewriters
