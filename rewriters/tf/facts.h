#pragma once
#include "tfgraph/facts.h"

// The facts that rewriters read, by their own names.
namespace t2o::rewriters {

using tfgraph::computed_alike;
using tfgraph::Extent;
using tfgraph::extent_of;
using tfgraph::extent_value;
using tfgraph::has_same_attrs;
using tfgraph::int_attr;
using tfgraph::is_ones;
using tfgraph::is_op;
using tfgraph::is_zero;
using tfgraph::known_ints;
using tfgraph::known_last_dim;
using tfgraph::known_rank;
using tfgraph::known_scalar;
using tfgraph::last_axis_slice;
using tfgraph::Range;
using tfgraph::through_identities;

}  // namespace t2o::rewriters
