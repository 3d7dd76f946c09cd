#pragma once
#include "op_mappers/registry.h"

// Operators over quantized tensors. A tensor of plain integers t means the numbers (t - zero) * step, which
// its range tells: step = (max - min) / (highest - lowest), zero = lowest - round(min / step).
namespace t2o::op_mappers {

struct QuantizedRange {
  Value *min, *max;  // f32
};

struct QuantizedScale {
  Value *step, *zero;  // f64, as counts of 32 bits need; zero: a whole number
};

double lowest_level(DType plain);
double highest_level(DType plain);

QuantizedScale scale_of(Emitter&, DType plain, QuantizedRange);
// The same as TensorFlow's reading finds it, whose level of zero comes of single precision: in a range as from -1 to 1 it lies
// between two levels.
QuantizedScale scale_of_reading(Emitter&, DType plain, QuantizedRange);
QuantizedRange range_at(MapperContext&, std::size_t input);  // of the inputs i and i + 1, as scalars

Value* dequantized(Emitter&, Value* levels, QuantizedScale);  // f32
Value* quantized(Emitter&, Value* numbers, DType plain,
                 QuantizedScale);  // saturated; halves go to the even level
QuantizedRange product_range(Emitter&, DType a, QuantizedRange, DType b, QuantizedRange);  // of a * b in i32

void register_quantized_products(OpRegistry&);  // MatMul, Conv
void register_quantized_images(OpRegistry&);    // normalizations, ResizeBilinear

}  // namespace t2o::op_mappers
