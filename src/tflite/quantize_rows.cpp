#include "tflite/op.h"

// From numbers to codes and back.
namespace t2o::tflite {
namespace {

// The output's scale makes its codes.
Values quantize(Op& op) { return {op.in(0)}; }

// Half floats are weights of smaller files.
Values dequantize(Op& op) {
  Value* x = op.weights(0);
  if (x->dtype() == op.output_type()) return {x};
  return {op.make("Cast", {x}, {{"DstT", op.output_type()}})};
}

// The storage of a sparse constant gives all of its elements.
Values densify(Op& op) { return {op.moves_codes() ? op.codes(0) : op.in(0)}; }

constexpr Row kRows[] = {
    {B::DENSIFY, nullptr, nullptr, densify, Codes::moved},
    {B::DEQUANTIZE, nullptr, nullptr, dequantize},
    {B::QUANTIZE, nullptr, nullptr, quantize},
};

}  // namespace

std::span<const Row> quantize_rows() { return kRows; }

}  // namespace t2o::tflite
