#pragma once
#include <unordered_map>

#include "ir/graph.h"

namespace t2o::rewriters {

// The largest magnitude among weights in f32; infinity where there is none, or it is beyond what may be computed with.
double largest(const Value* weights);

// How large the numbers of a value may become: found from constants, from integers, and from operators whose results
// are bounded, up to where sums might leave the range of f32.
class Bounds {
 public:
  // No element is beyond it or is NaN; infinity where that is not certain.
  double of(const Value* v) { return find(v, 0); }
  bool is_finite(const Value* v);

 private:
  double find(const Value*, int depth);
  double of_node(const ir::Node&, std::size_t output, int depth);
  double of_layer(const ir::Node&, std::size_t output, int depth);
  double of_norm(const ir::Node&, int depth);
  double of_product(const ir::Node&, int depth);
  double sum_of(const ir::Node&, int depth);

  std::unordered_map<const Value*, double> known_;
};

}  // namespace t2o::rewriters
