#pragma once
#include "tflite/model.h"
#include "tflite/recurrent.h"

// An LSTM layer of codes. LiteRT computes it in integers: x, h and the weights have 8 bits, the cells and the sums of the gates 16.
// The export computes the same integers, in floats that hold them exactly, so its results are LiteRT's.
namespace t2o::tflite {

constexpr double kGateSteps = 4096;  // of a gate's sum, in 1

// What the layer's tensors have in the file. A product has the scale of both factors.
struct LstmCodes {
  double kernels[4] = {}, recurrent[4] = {};  // scales of products with x and with h
  double peepholes[3] = {};                   // ... of the cells' codes with the peepholes
  int cell_bits = 0;                          // in front of the point, of 15: the scale of the cells is 2^(cell_bits - 15)
  Quantization h = {};
  Quantization hidden = {};  // of what a step computes; files state it beside that of h, and it is the same
};

// `l.x` holds kGateSteps times the numbers. `l.h`, `l.c`, the states and the results are codes.
Ran run_in_integers(Op&, const Lstm& l, const LstmCodes&);

}  // namespace t2o::tflite
