#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/tensor.h"

namespace t2o::verify {

// SplitMix64: the same numbers on every platform, which the standard's distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  double uniform();                                           // [0, 1)
  double normal();                                            // N(0, 1)
  std::int64_t integer(std::int64_t low, std::int64_t high);  // both included

 private:
  std::uint64_t state_;
};
std::uint64_t mix(std::uint64_t seed, std::string_view name);  // a seed of its own for each name

struct Range {
  double low, high;  // both included
};

// Floats are N(0, 1), signed integers -10 .. 10, unsigned ones 0 .. 20, strings short words; with a range:
// uniform in it. Throws for types without values (resource, variant).
TensorPtr random_tensor(DType dtype, const Ints& dims, Random& random, std::optional<Range> range = {});

// The number as one element of a tensor of this dtype: rounded, saturated.
TensorPtr tensor_of(DType dtype, const Ints& dims, const std::vector<double>& values);

}  // namespace t2o::verify
