#pragma once
#include "op_mappers/registry.h"

// Complex numbers. A value that is complex in TensorFlow is a tensor of pairs (re, im) along a last axis of
// size 2 in ONNX. Mappers work on the two parts; pairs are only made where somebody needs them: an output of
// the graph, ONNX DFT.
namespace t2o::op_mappers {

struct Complex {
  Value *re, *im;
};

std::optional<Complex> known_parts(Emitter&,
                                   Value* pairs);  // of a value that was put together from its parts
Complex parts(Emitter&, Value* pairs);
Value* pairs(Emitter&, Complex);  // the parts have one shape

Value* absolute(Emitter&, Complex);  // infinite where a part is, whatever the other

bool surely_zero(const Value* part);  // as the imaginary part of real numbers

// For what moves elements, or is linear: the real mapper once for the real parts and once for the imaginary
// ones.
Mapper by_parts(Mapper real);

// z = f(in(0)), f(in(0), in(1)) on parts.
Mapper of_one(Complex (*f)(MapperContext&, Complex));
Mapper of_two(Complex (*f)(MapperContext&, Complex, Complex));

}  // namespace t2o::op_mappers
