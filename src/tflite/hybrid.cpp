#include "tflite/hybrid.h"

#include <algorithm>
#include <unordered_set>

#include "tfgraph/internal_ops.h"
#include "tflite/lowering_scope.h"

namespace t2o::tflite {
namespace {

// x is computed of floats that have other values in each round.
bool is_fed_back(const Op& op, Value* x) {
  const Values& changing = op.lowering().fed_back(op.scope().graph);
  if (changing.empty()) return false;
  Values open{x};
  std::unordered_set<const Value*> seen;
  while (!open.empty()) {
    Value* v = open.back();
    open.pop_back();
    if (!v || v->dtype() != DType::f32 || !seen.insert(v).second) continue;
    if (std::ranges::find(changing, v) != changing.end()) return true;
    if (v->producer())
      open.insert(open.end(), v->producer()->inputs().begin(), v->producer()->inputs().end());
  }
  return false;
}

bool has_8_bit_weights(const Op& op) {
  const auto q = op.quantization(1);
  return q && is_byte(op.input_type(1)) && !op.output_quantization();
}

// A file states 1 for a size that is open.
bool is_one_row(const Op& op) {
  const auto sizes = op.sizes(0), weights = op.sizes(1);
  return op.lowering().has_sizes_of_file() && sizes && weights && element_count(*sizes) == weights->back();
}

}  // namespace

Value* rounded_if_fed_back(Op& op, Value* x) {
  if (x->dtype() != DType::f32 || !has_8_bit_weights(op) || !is_fed_back(op, x)) return x;
  return op.make_own(std::string(tfgraph::kRoundToBytes), {x},
                     is_one_row(op) ? Attrs{} : Attrs{{"by_rows", std::int64_t{1}}});
}

}  // namespace t2o::tflite
