#pragma once
#include "op_mappers/registry.h"

// The Uniform* ops: a level q means the number (q - zero) * scale, with one scale and zero for all or for
// each place along an axis. Halves go up.
namespace t2o::op_mappers {

std::int64_t axis_of(MapperContext&, const std::string& whose);  // -1: one scale for all
// A parameter so that it lies along the axis of a tensor of this rank.
Value* along(Emitter&, Value* v, std::int64_t axis, int rank);

// x * factor (f64), as a 32-bit integer in f64; whole numbers of f64 as levels of the result.
Value* rescaled(Emitter&, Value* x, Value* factor);
Value* saturated(MapperContext&, Value* levels, const std::string& whose = "output_");

// A row's own range, with zero in it, in 256 levels: the latter less the level of zero, and its scale.
struct CenteredRows {
  Value *levels, *scale;  // [rows, n] i32, [rows, 1] f32
};
CenteredRows centered_rows(MapperContext&, Value* x);

void register_uniform_quant_conv(OpRegistry&);

}  // namespace t2o::op_mappers
