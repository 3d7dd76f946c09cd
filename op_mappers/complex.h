#pragma once
#include "op_mappers/registry.h"

// Complex numbers. A complex value of TensorFlow is a tensor of pairs (re, im) along a last axis of size 2 in
// ONNX. Mappers work on the two parts. They emit pairs only for readers that need them: a graph output, ONNX DFT.
namespace t2o::op_mappers {

struct Complex {
  Value *re, *im;
};

std::optional<Complex> known_parts(Emitter&,
                                   Value* pairs);  // the parts that `pairs` was made from, if it was
Complex parts(Emitter&, Value* pairs);
Value* pairs(Emitter&, Complex);  // the parts have one shape

Value* absolute(Emitter&, Complex);  // infinite if one part is, even if the other is NaN

bool surely_zero(const Value* part);  // all elements are known to be 0, as the imaginary part of real numbers

// Applies the mapper for real numbers to the real parts and to the imaginary parts. Right for an op that moves
// elements or is linear.
Mapper by_parts(Mapper real);

// z = f(in(0)) or z = f(in(0), in(1)), on the parts.
Mapper of_one(Complex (*f)(MapperContext&, Complex));
Mapper of_two(Complex (*f)(MapperContext&, Complex, Complex));

}  // namespace t2o::op_mappers
