#pragma once
#include <memory>

#include "ir/graph.h"
#include "rewriters/onnx/per_channel.h"

// In binarized and ternarized networks a layer adds small whole numbers, or whole numbers times one constant. Such sums are
// exact. Many of them are 0, or lie on another threshold of a Sign or a comparison after them. If a factor moves into the
// weights, the products are rounded, and a sum that was 0 falls on one side of the threshold. A rewriter that moves a factor asks
// this class first. Answers stay true while the rewriters of this folder change the graph: keep one object for a whole run.
namespace t2o::rewriters {

class ExactSums {
 public:
  ExactSums();
  ~ExactSums();
  ExactSums(const ExactSums&) = delete;
  ExactSums& operator=(const ExactSums&) = delete;

  // For a Conv, ConvTranspose, Gemm or MatMul. True if its sums are exact, a threshold reads them, and moving a factor of its
  // data or of its result into its weights would make them inexact.
  bool need(const ir::Node& layer, const Doubles& factors);
  // The same for arithmetic without weights from x to y. True if the elements of x lie on a grid, a threshold reads y, and
  // a product with the factors rounds.
  bool need(const Value* x, const Value* y, const Doubles& factors);

  void forget();  // before another run

 private:
  class Facts;
  std::unique_ptr<Facts> facts_;
};

// 0 or a power of two, of either sign. Products with such a number are exact.
bool is_power_of_two(double);

}  // namespace t2o::rewriters
