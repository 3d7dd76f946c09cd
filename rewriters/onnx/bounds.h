#pragma once
#include <unordered_map>

#include "ir/graph.h"

namespace t2o::rewriters {

// The largest magnitude among weights in f32; infinity if it is unknown or too large.
double largest(const Value* weights);

// Bounds the magnitude of a value's elements, from constants, integers, and operators with bounded results. Gives up
// before sums might leave the range of f32.
class Bounds {
 public:
  // A bound of the magnitude of all elements, none of which is NaN. Infinity if there is no certain bound.
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
