#pragma once
#include "tf/body.h"

namespace t2o::tf {

// The shape of the k-th tensor that a node takes out of a dataset or a queue, as that one says.
Shape component_shape(const Body&, std::size_t node, const Attrs&, std::size_t k);

}  // namespace t2o::tf
