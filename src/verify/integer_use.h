#pragma once
#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace t2o::verify {

// What a TensorFlow graph does with an integer input, as far as the graph tells: which values show something?
struct IntegerUse {
  std::optional<std::int64_t> below;  // a place in a table of this many rows, or in a OneHot of this depth
  bool is_number = false;             // all that is done with it is arithmetic: any value will do
  bool stays_integer = false;         // ... of integers: no float loses the digits of a large one
};
IntegerUse use_of(const Value& input);

}  // namespace t2o::verify
