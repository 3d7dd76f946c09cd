#pragma once
#include "op_mappers/registry.h"

// Operators over quantized tensors. A tensor t of plain integers stands for the numbers (t - zero) * step. Its range gives
// both: step = (max - min) / (highest - lowest), zero = lowest - round(min / step).
namespace t2o::op_mappers {

struct QuantizedRange {
  Value *min, *max;  // f32
};

struct QuantizedScale {
  Value *step, *zero;  // f64, because levels may have 32 bits; zero is a whole number
};

double lowest_level(DType plain);
double highest_level(DType plain);

QuantizedScale scale_of(Emitter&, DType plain, QuantizedRange);
// The same with TensorFlow's zero, which it computes in single precision. In some ranges, such as -1 to 1, this zero lies
// between two levels.
QuantizedScale scale_of_reading(Emitter&, DType plain, QuantizedRange);
QuantizedRange range_at(MapperContext&, std::size_t input);  // from the inputs `input` and `input` + 1, as scalars

Value* dequantized(Emitter&, Value* levels, QuantizedScale);  // f32
Value* quantized(Emitter&, Value* numbers, DType plain,
                 QuantizedScale);  // saturated; halves go to the even level
QuantizedRange product_range(Emitter&, DType a, QuantizedRange, DType b, QuantizedRange);  // of a * b in i32

void register_quantized_products(OpRegistry&);  // MatMul, Conv
void register_quantized_images(OpRegistry&);    // normalizations, ResizeBilinear

}  // namespace t2o::op_mappers
