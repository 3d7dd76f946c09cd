#pragma once
#include <cstdint>
#include <optional>

#include "tflite/op.h"

namespace t2o::tflite {

// The codes of one tensor: number = scale * step, with a step from lowest to highest.
struct Steps {
  float scale = 1;
  std::int64_t lowest = 0, highest = 0;
};

// LiteRT adds 8-bit codes as integers: their scales, divided by the scale of the result, become factors of 21 bits. A sum between two codes
// may be rounded another way with the scales of the file: up to eight of all 65,536 pairs of codes are then one code off. The scales here
// differ in the last digits and round all pairs as LiteRT does, with as much room as possible for the runtime's own float errors.
struct SumScales {
  float y, result;
};
// x keeps its scale. Nothing: those of the file do as well, or LiteRT adds in another way.
std::optional<SumScales> sum_scales(const Steps& x, const Steps& y, const Steps& result);

// ADD and SUB of 8-bit codes, if one of the two is read here alone; its DequantizeLinear and the QuantizeLinear of the result get the scales.
// Nothing: another kind of sum.
std::optional<Values> sum_of_codes(Op&, bool is_difference, schema::ActivationFunctionType);

}  // namespace t2o::tflite
