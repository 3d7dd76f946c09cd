#pragma once
#include <memory>

#include "ir/graph.h"
#include "rewriters/onnx/per_channel.h"

// In binarized and ternarized networks a layer adds small whole numbers, or whole numbers times one constant. Such sums are
// exact, and many of them are 0, or lie on another threshold that a Sign or a comparison behind them has. A factor that moves
// into the weights makes the products round, and what was 0 falls on one side. A rewriter that moves a factor asks here first.
// What was said of a value stays true while the rewriters of this folder change the graph: keep one object for a whole run.
namespace t2o::rewriters {

class ExactSums {
 public:
  ExactSums();
  ~ExactSums();
  ExactSums(const ExactSums&) = delete;
  ExactSums& operator=(const ExactSums&) = delete;

  // The node is a Conv, ConvTranspose, Gemm or MatMul. True: its sums are exact, a threshold sees them, and they are not
  // exact any more once a factor of its data or of its result is in its weights instead.
  bool need(const ir::Node& layer, const Doubles& factors);
  // The same for arithmetic without weights that leads from x to y: the numbers of x lie on a grid, a threshold sees y, and
  // the factors round.
  bool need(const Value* x, const Value* y, const Doubles& factors);

  void forget();  // before another run

 private:
  class Facts;
  std::unique_ptr<Facts> facts_;
};

// Products with such a number are exact: it is 0 or a power of two, of either sign.
bool is_power_of_two(double);

}  // namespace t2o::rewriters
