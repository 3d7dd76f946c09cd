#pragma once
#include <unordered_map>

#include "ir/graph.h"
#include "tflite/model.h"

// A quantized model as a float model: --dequantize.
namespace t2o::tflite {

constexpr double kSix = 6;  // the upper end of ReLU6

// All 8- or 16-bit codes of a constant as floats.
TensorPtr dequantized(const TensorPtr& codes, const Quantization&);

struct Range {
  double low, high;
};
Range range_of(const Quantization&, DType codes);  // of the numbers that the codes stand for

// Between which numbers the elements of a value of TensorFlow's operators lie. Each result of an operator is computed once.
class Bounds {
 public:
  Range of(const Value* v) { return find(v, 0); }
  void add(const Value* v, Range r) { known_.emplace(v, r); }  // what the value alone does not show

 private:
  Range find(const Value*, int depth);
  Range of_node(const ir::Node&, int depth);

  std::unordered_map<const Value*, Range> known_;
};

// A range that begins at 0 may be that of an activation; one that has been measured begins elsewhere.
inline bool may_hide_activation(const Range& of_codes) { return of_codes.low == 0; }

// Codes end at both ends of their range, so the converter leaves out an activation that ends there too: the file
// does not say which. The part of the range that the value needs for that; none: it stays as it is.
std::optional<Range> lost_activation(const Range& of_codes, const Range& of_value);

}  // namespace t2o::tflite
