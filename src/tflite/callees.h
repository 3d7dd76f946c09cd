#pragma once
#include <cstdint>
#include <vector>

#include "tflite/schema_generated.h"

namespace t2o::tflite {

// The subgraphs of an operator as the file states them, and the first of its inputs that they take.
struct Callees {
  std::vector<std::int64_t> subgraphs = {};
  std::size_t first = 0;
};
Callees callees(schema::BuiltinOperator, const schema::Operator&);

}  // namespace t2o::tflite
