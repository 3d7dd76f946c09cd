#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"

namespace t2o::tf {

struct Extent {
  std::int64_t start = 0, length = -1;  // -1: the whole axis
  bool operator==(const Extent&) const = default;
};
using Extents = std::vector<Extent>;  // one an axis

Extents resolve(const Extents&, const Ints& dims);  // whole axes get their length
Ints lengths(const Extents&);
bool lies_inside(const Extents&, const Ints& dims);

struct SliceData {
  Extents extents;  // resolved
  StoragePtr data;
};

// Whether the slices lie inside the shape, do not overlap, and leave nothing out.
bool tile_exactly(const Ints& dims, const std::vector<SliceData>&);

// The whole of slices that tile it, and a slice of a whole; made on demand.
StoragePtr joined_storage(DType, const Ints& dims, std::vector<SliceData>);
StoragePtr cut_storage(const TensorPtr& whole, const Extents&);

// The key under which a bundle keeps one slice of a partitioned variable: the name and the extents, not
// resolved, in the order-preserving encoding that TensorFlow calls OrderedCode.
std::string tensor_slice_key(std::string_view name, const Extents&);

}  // namespace t2o::tf
