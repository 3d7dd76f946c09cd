#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "ir/complex.h"

namespace t2o::verify {

struct Tolerance {
  double relative = 1e-3, absolute = 1e-3;
  bool by_scale = false;  // absolute is of the largest number expected where that is below 1: a softmax over many classes is small
  double largest_scale = 1;  // ... and where it is above, up to this: sums of rounded numbers are as wrong as the largest of them
  double rounding = 0;       // what is absolutely allowed at least, where the rounding of what cancels is known
  double spread = 0;         // what is allowed besides: the reference's own kernels differ by as much
};

// How far the elements of a quantized tensor are off, in codes (codes.h).
struct CodeCount {
  std::int64_t elements = 0, same = 0, one = 0;
  std::int64_t near = 0;  // within the tolerance
  double largest = 0;
  bool as_near_as_own = false;  // they agree only since the reference's own kernels are no nearer to each other
};

struct Comparison {
  bool same_dtype = true, same_shape = true;
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;           // elements beyond the tolerance
  std::int64_t first = -1;               // index of the first of them
  std::int64_t worst = -1;               // index of the largest error
  double max_error = 0, mean_error = 0;  // absolute; over the elements that are finite in both
  double max_relative = 0;
  std::optional<CodeCount> codes = {};  // of a quantized tensor
  std::string problem;  // in words; empty when the tensors agree
  bool ok() const { return problem.empty(); }
};

// |got - expected| <= absolute + relative * |expected|; by_scale, of numbers that are all small, with as much less for
// absolute. NaN agrees with NaN only, an infinity only with its
// like; integers, bools and strings count by the same rule, with strings equal or not. A complex tensor
// agrees with its real and imaginary parts as a last dimension of 2, which is how ONNX has it.
Comparison compare(const Tensor& expected, const Tensor& got, Tolerance tolerance = {});

// Of what agrees: does the output depend on the inputs at all, as far as one can see?
enum class Evidence : std::uint8_t { some, constant, all_nan, all_infinite, tiny, empty };
std::string text(Evidence);            // "constant", "NaN everywhere"
Evidence evidence_of(const Tensor&);  // constant: of two elements or more, all the same

using t2o::complex_as_pairs;
std::string element_text(const Tensor& tensor, std::int64_t index);
std::string index_text(const Ints& dims, std::int64_t index);  // "[0, 3, 1]"
std::string shape_text(const Ints& dims);                      // "[2, 3]"

}  // namespace t2o::verify
