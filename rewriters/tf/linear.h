#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace t2o::rewriters {

// An integer as a sum of a number and multiples of elements that are known only at run time.
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

// The elements of a small integer tensor in TensorFlow's dialect, followed through Pack, StridedSlice, sums and differences. Two
// values that are always equal, but computed differently, mostly have equal elements here.
std::optional<LinearTensor> linear(const Value*, int depth = 32);

}  // namespace t2o::rewriters
