#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/fold.h"
#include "onnx/schema.h"
#include "rewriters/all.h"

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
  std::sort(letters.begin(), letters.end());
  return std::adjacent_find(letters.begin(), letters.end()) == letters.end() &&
         letters.find('.') == letters.npos;
}

std::optional<Dense> read(const ir::Node& n) {
  const auto* equation = n.attr_if<std::string>("equation");
  if (n.op() != "Einsum" || !equation || n.input_count() != 2 ||
      !n.input(0)->constant() == !n.input(1)->constant())
    return std::nullopt;
  std::string text = *equation;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == text.npos || arrow == text.npos) return std::nullopt;
  Dense d{n.input(0), n.input(1), text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), {},
          {},         {}};
  const std::string y = text.substr(arrow + 2);
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
  EinsumFusion(ir::Graph& g, const onnx::Target& target) : g_(g), target_(target) {
    types_ = onnx::op_info("MatMul", target.opset, target.ml_opset, target.for_ort())->params[0].kernels;
  }

  int run() {
    int changes = 0;
    for (ir::Node& n : g_.nodes())
      if (const auto d = read(n); d && types_.has(n.output()->dtype()) && fits(*d)) {
        write(n, *d);
        ++changes;
      }
    if (changes != 0) g_.erase_dead();
    return changes;
  }

 private:
  static bool fits(const Dense& d) {
    return d.x->shape().ranked() && d.x->shape().rank() == static_cast<int>(d.x_letters.size()) &&
           d.w->shape().rank() == static_cast<int>(d.w_letters.size()) && d.w->constant()->elements() != 0;
  }

  void write(ir::Node& n, const Dense& d) {
    Emitter e(g_, target_, n.shared_origin(), &n);
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
    Value* y = e.emit("MatMul", {x, flat});
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
