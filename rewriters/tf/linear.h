#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace t2o::rewriters {

// An integer as a sum: a number and multiples of elements that are only known when the model runs.
struct ElementSum {
  std::map<std::pair<const Value*, std::int64_t>, std::int64_t> terms;  // (value, flat index) -> factor
  std::int64_t number = 0;
  bool operator==(const ElementSum&) const = default;
};
ElementSum difference(ElementSum, const ElementSum&);

struct LinearTensor {
  Ints dims;
  std::vector<ElementSum> elements;
};

// The elements of a small integer tensor in TensorFlow's dialect, through Pack, StridedSlice, sums and differences. Two values
// that are computed differently but always equal have equal elements here more often than not.
std::optional<LinearTensor> linear(const Value*, int depth = 32);

}  // namespace t2o::rewriters
