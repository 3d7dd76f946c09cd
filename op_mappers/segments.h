#pragma once
#include <string>

#include "op_mappers/context.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {

enum class Reduction : std::uint8_t { add, mul, max, min };

// How rows are brought to their segments: by ScatterElements with a reduction (add and mul since opset 16,
// max and min since 18), or, at any opset, by comparing each id with each segment, which takes memory of
// segments x data.
enum class By : std::uint8_t { scatter, compare };

// result[s, ...] = the reduction of `init` and all rows[i, ...] with ids[i] == s. ids: 1-D i64, in [0,
// count); count: [1] i64; init: a scalar, of rows' dtype. Not ScatterND: ONNX Runtime combines its duplicates
// on several threads without a lock.
Value* segment_reduce(Emitter&, By, Reduction, Value* rows, Value* ids, Value* count, Value* init);

// max or min as TensorFlow's kernels have it, one row after the other: of the rows behind a segment's last NaN, or that NaN.
Value* segment_extremum(Emitter&, By, Reduction, Value* rows, Value* ids, Value* count, Value* init);

// `init` for each element of the result; base with base[ids[i], ...] = rows[i, ...], or combined with what is
// there.
Value* segment_blank(Emitter&, Value* rows, Value* count, Value* init);
Value* scatter_rows(Emitter&, Value* base, Value* ids, Value* rows, const std::string& reduction = "");

Value* segment_sum(Emitter&, By, Value* rows, Value* ids, Value* count);  // from 0; halves are summed in f32
Value* segment_sizes(Emitter&, By, Value* ids, Value* count);  // how many rows each has: [count] i64

// The row of each of `count` values (a scalar), of rows that end where the next begins: splits = {0, ...,
// count}.
Value* row_ids(Emitter&, Value* splits, Value* count);

Value* with_tail(Emitter&, Value* v,
                 const Value* like);  // axes of 1 behind v's, as many as `like` has behind its first

}  // namespace t2o::op_mappers
