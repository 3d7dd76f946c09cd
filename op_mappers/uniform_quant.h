#pragma once
#include "op_mappers/registry.h"

// The Uniform* ops. A level q stands for the number (q - zero) * scale. There is one scale and zero for the tensor, or one
// for each index of an axis. Halves are rounded up.
namespace t2o::op_mappers {

std::int64_t axis_of(MapperContext&, const std::string& whose);  // -1: one scale for all
// Reshapes a parameter so that it broadcasts along the axis of a tensor of this rank.
Value* along(Emitter&, Value* v, std::int64_t axis, int rank);
Value* along_of(MapperContext&, std::size_t parameter, std::int64_t axis, Value* tensor);  // its rank may be unknown

// x * factor (f64), rounded to a 32-bit integer in f64; and whole numbers in f64 as levels of the result.
Value* rescaled(Emitter&, Value* x, Value* factor);
Value* saturated(MapperContext&, Value* levels, const std::string& whose = "output_");

// Quantizes each row to 256 levels of its own range, which includes zero. Returns the levels minus the level of zero, and
// the scale.
struct CenteredRows {
  Value *levels, *scale;  // [rows, n] i32, [rows, 1] f32
};
CenteredRows centered_rows(MapperContext&, Value* x);

// The node's convolution, of numbers, in one Conv. For its kinds that Conv has: see uniform_quant_mode.cpp.
Value* convolved_numbers(MapperContext&, Value* x, Value* kernel);

void register_uniform_quant_conv(OpRegistry&);

}  // namespace t2o::op_mappers
